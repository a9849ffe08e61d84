//! What plugins in Lua may do: their manifests list permissions, and the user grants them when the plugin is installed.

use std::io::IsTerminal as _;

use pintle::lua::Permissions;
use pintle::provenance::sha256;
use pintle::{Clock as _, lua};
use pintle_plugin::{Plugin, Runtime};
use pintle_tree::quote::quote;

use crate::clock::SystemClock;
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::grants::{Grant, Grants};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::scripts::confirm;

/// The flags of commands that ask for permissions of plugins.
pub(crate) static PERMISSIONS: &[Flag] = &[
    Flag::switch(
        names::YES,
        "grant plugins in Lua all permissions that they request, and accept an update that may do more",
    )
    .short('y'),
    Flag::list(names::ACCEPT_PERMS, "grant plugins in Lua these permissions: network, filesystem, os")
        .completes(FlagCompletion::Words(&["network", "filesystem", "os"])),
];

/// The permissions that a plugin requests.
///
/// # Errors
///
/// Names that are no permissions.
pub(crate) fn requested(plugin: &Plugin) -> Result<Permissions, Failure> {
    let names = super::lua::config(plugin).map(|config| config.permissions.as_slice()).unwrap_or_default();
    names.iter().map(|name| name.parse()).collect::<lua::Result<Permissions>>().map_err(|error| {
        let name = &plugin.metadata.name;
        Failure::usage(format!("plugin `{name}`: runtimeConfig.permissions in plugin.yaml: {error}"))
    })
}

/// The permissions that the user has granted to a plugin.
///
/// # Errors
///
/// When there is no grant for those that it requests.
pub(crate) fn granted(plugin: &Plugin, environment: &Environment) -> Result<Permissions, Failure> {
    let requested = requested(plugin)?;
    if requested.is_empty() {
        return Ok(requested);
    }
    let key = key(plugin, &requested);
    let all = Grants::for_user(environment).all().map_err(Failure::run_time)?;
    match all.into_iter().find(|grant| grant.digest == key) {
        Some(grant) => Ok(requested.and(&grant.permissions)),
        None => {
            let name = &plugin.metadata.name;
            Err(Failure::run_time(format!(
                "the plugin `{name}` requests permissions that were not granted: {requested}"
            ))
            .hint(format!("`pintle plugin grant {name}` asks for them")))
        }
    }
}

/// Decides about the permissions of a plugin, by the flags or by asking the user, and stores the grant.
///
/// # Errors
///
/// When the user refuses, or cannot be asked.
pub(crate) fn ask(invocation: &mut Invocation<'_>, plugin: &Plugin) -> Result<(), Failure> {
    let requested = requested(plugin)?;
    if requested.is_empty() {
        return Ok(());
    }
    let name = &plugin.metadata.name;
    let flags = &invocation.flags;
    let accepted = Permissions::parse(&flags.list(names::ACCEPT_PERMS).join(","))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let permissions = if flags.on(names::YES) {
        requested.clone()
    } else if flags.given(names::ACCEPT_PERMS) {
        requested.and(&accepted)
    } else {
        invocation.ui.flush()?;
        if !can_ask() || !confirm(&question(name, &requested)) {
            return Err(Failure::run_time(format!(
                "the plugin `{name}` requests permissions that were not granted: {requested}"
            ))
            .hint(format!("--yes grants all of them, and --accept-perms {requested} those that are named")));
        }
        requested.clone()
    };
    let grant = Grant {
        digest: key(plugin, &requested),
        chart: format!("plugin {name}"),
        permissions,
        granted: SystemClock.now().to_string(),
    };
    Grants::for_user(invocation.environment).save(grant).map_err(Failure::run_time)
}

/// Decides about an update of a plugin that may do more than before: that runs in another way, has other hooks, or requests
/// other permissions. As Helm, the hooks of programs change without a question.
///
/// # Errors
///
/// When the user refuses, or cannot be asked.
pub(crate) fn ask_again(invocation: &mut Invocation<'_>, old: &Plugin, new: &Plugin) -> Result<(), Failure> {
    let name = &old.metadata.name;
    if let Some(change) = change(old, new, invocation.personality)
        && !invocation.flags.on(names::YES)
    {
        invocation.ui.flush()?;
        let question = format!(
            "The update of plugin {} changes what it may do: {change}.\nAllow? (y, yes, n, no) > ",
            quote(name.as_bytes())
        );
        if !can_ask() || !confirm(&question) {
            return Err(Failure::run_time(format!(
                "the update of the plugin `{name}` changes what it may do: {change}; it was not updated"
            ))
            .hint("--yes accepts the change"));
        }
    }
    if granted(new, invocation.environment).is_err() { ask(invocation, new) } else { Ok(()) }
}

/// What an update changes in the way a plugin runs.
fn change(old: &Plugin, new: &Plugin, personality: Personality) -> Option<String> {
    match (&old.metadata.runtime, &new.metadata.runtime) {
        (Runtime::Lua(_), Runtime::Lua(_)) => None,
        (Runtime::Subprocess(old), Runtime::Subprocess(new)) => {
            let asks = personality == Personality::Pintle && old.platform_hooks != new.platform_hooks;
            asks.then(|| "it has other hooks, which are programs".to_owned())
        }
        (Runtime::Extism(old), Runtime::Extism(new)) => (old != new)
            .then(|| "its module has other settings, such as the hosts that it may reach".to_owned()),
        (old, new) => Some(format!(
            "its runtime was `{}` and is `{}`{}",
            old.name(),
            new.name(),
            if matches!(new, Runtime::Subprocess(_)) { ", a program with all of your rights" } else { "" }
        )),
    }
}

fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Forgets what was granted to a plugin.
pub(crate) fn revoke(plugin: &Plugin, environment: &Environment) {
    let Ok(requested) = requested(plugin) else { return };
    if !requested.is_empty() {
        let key = key(plugin, &requested);
        // Errors are ignored: a leftover grant is valid for this folder and these permissions only.
        let _ = Grants::for_user(environment).revoke(|grant| grant.digest == key);
    }
}

/// The key of a grant: the name and folder of the plugin and the requested permissions, but not the scripts. Whoever can change
/// these can also replace plugins that are programs. An update that requests other permissions needs a new grant.
fn key(plugin: &Plugin, requested: &Permissions) -> String {
    let dir = std::path::absolute(&plugin.dir).unwrap_or_else(|_| plugin.dir.clone());
    let text = format!("plugin\0{}\0{}\0{requested}", plugin.metadata.name, dir.display());
    format!("sha256:{}", sha256(text.as_bytes()))
}

fn question(name: &str, requested: &Permissions) -> String {
    let mut text = format!("Plugin {} is requesting the following permissions:\n", quote(name.as_bytes()));
    for permission in requested.iter() {
        text.push_str(&format!("  - {permission}: {}\n", permission.description()));
    }
    text.push_str("Allow? (y, yes, n, no) > ");
    text
}
