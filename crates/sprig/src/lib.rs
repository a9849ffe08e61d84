//! Helm's template functions: sprig and related functions, by family.
//!
//! Every function has the signature, the result and the error text of the Go function that Helm 4 gives to templates;
//! what Go does by panicking is an error here. Functions that need the engine or the cluster (`include`, `tpl`,
//! `required`, `fail`, `lookup`) are not here but with the render.
//!
//! Start with [`functions`].

mod base;
mod case;
mod certificates;
mod convert;
mod crypto;
mod dates;
mod decimal;
mod defaults;
mod dicts;
mod encoded_size;
mod encoding;
mod equal;
mod lists;
mod math;
mod merge;
mod network;
mod password;
mod paths;
mod pretty;
mod random;
mod regex;
mod repeatable;
mod semver;
mod split;
mod strings;
mod text;
mod toml;
mod types;
mod unicode;
mod url;
mod words;

use pintle_gotmpl::Function;

pub use certificates::server::{ServerCertificate, server_certificate};
pub use dates::time;
pub use network::{Resolver, host_by_name, system_resolver};

/// All functions of the library, in no particular order.
pub fn functions() -> impl IntoIterator<Item = Function> {
    [
        base::functions(),
        case::functions(),
        certificates::functions(),
        convert::functions(),
        crypto::functions(),
        dates::functions(),
        defaults::functions(),
        dicts::functions(),
        encoding::functions(),
        lists::functions(),
        math::functions(),
        merge::functions(),
        network::functions(),
        paths::functions(),
        random::functions(),
        regex::functions(),
        semver::functions(),
        split::functions(),
        strings::functions(),
        toml::functions(),
        types::functions(),
        url::functions(),
        words::functions(),
    ]
    .into_iter()
    .flatten()
}

/// A value as go-yaml 3 writes it without options, with a line feed at the end.
pub fn yaml_version_3(value: &pintle_gotmpl::Value) -> Vec<u8> {
    pintle_yaml::write_version_3(&pretty::Pretty(value))
}

/// The random and clock functions for reproducible renders: they depend on their arguments only, and are cheap. To be
/// added over [`functions`].
pub fn repeatable_functions() -> impl IntoIterator<Item = Function> {
    repeatable::functions()
}
