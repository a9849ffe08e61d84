//! The built-in modules: small, stateless, and charged to the script's meter.

mod cluster;
mod files;
mod hash;
mod log;
mod network;
mod regex;
mod semver;
mod streams;
mod system;
mod template;
mod text;
mod toml;

use crate::call::Body;
use crate::permission::Permission;

pub(crate) use log::print;
pub(crate) use streams::STREAMS;

/// A module.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    /// The permission that it requires.
    pub(crate) permission: Option<Permission>,
    pub(crate) functions: &'static [(&'static str, Body)],
}

impl Module {
    const fn open(name: &'static str, functions: &'static [(&'static str, Body)]) -> Self {
        Module { name, permission: None, functions }
    }

    const fn guarded(
        permission: Permission,
        name: &'static str,
        functions: &'static [(&'static str, Body)],
    ) -> Self {
        Module { name, permission: Some(permission), functions }
    }
}

/// All modules except `events`, which is part of the prelude.
pub(crate) const ALL: &[Module] = &[
    Module::open("yaml", text::YAML),
    Module::open("json", text::JSON),
    Module::open("toml", toml::FUNCTIONS),
    Module::open("semver", semver::FUNCTIONS),
    Module::open("base64", hash::BASE64),
    Module::open("hash", hash::HASH),
    Module::open("regex", regex::FUNCTIONS),
    Module::open("log", log::FUNCTIONS),
    Module::open("template", template::FUNCTIONS),
    Module::open("kubernetes", cluster::FUNCTIONS),
    Module::guarded(Permission::Network, "http", network::FUNCTIONS),
    Module::guarded(Permission::Filesystem, "fs", files::FUNCTIONS),
    Module::guarded(Permission::Os, "os", system::FUNCTIONS),
];
