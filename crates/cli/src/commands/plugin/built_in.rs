//! Entries in the folder of plugins for commands that are built in. Programs such as helmfile look for the file plugin.yaml
//! of a plugin there, and not for the command.

use std::fs;

use pintle_plugin::Plugin;
use pintle_tree::quote::quote;

use crate::commands::diff::HELM_DIFF;
use crate::failure::{Failure, reason};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::plugins;

/// The program that the entry names, for the real Helm with the same folder of plugins.
const PROGRAM: &str = "pintle";

/// The commands that are plugins of Helm and built in here, with the version of the plugin that they follow.
const BUILT_IN: &[(&str, &str, &str)] = &[
    ("diff", HELM_DIFF, "Preview helm upgrade changes as a diff"),
    ("unittest", "1.1.2", "unit test helm charts"),
];

/// Writes the entry of a built-in command.
///
/// # Errors
///
/// A command that is not a built-in plugin, and another plugin of that name.
pub(super) fn install(invocation: &mut Invocation<'_>, name: &str) -> Result<(), Failure> {
    let Some((name, followed, usage)) = BUILT_IN.iter().find(|(known, _, _)| *known == name) else {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _, _)| *name).collect();
        return Err(Failure::usage(format!("no plugin {} is built in", quote(name.as_bytes())))
            .hint(format!("built in are {}", names.join(" and "))));
    };
    let asked = invocation.flags.text(names::VERSION);
    let version = if asked.is_empty() { followed } else { asked.trim_start_matches('v') };
    if pintle_semver::Version::parse(version).is_err() {
        return Err(Failure::usage(format!("--version is {}, which is no version", quote(asked.as_bytes()))));
    }
    let text = format!(
        "# `{name}` is built into pintle. This file makes it visible to programs that look for plugins.\n\
         name: {name}\n\
         version: {version}\n\
         usage: {usage}\n\
         description: {usage}\n\
         platformCommand:\n\
         - command: {PROGRAM}\n  args: [{name}]\n"
    );
    let installed = super::installed(invocation)?;
    if let Some(other) = installed.iter().find(|plugin| plugin.metadata.name == *name && !is_built_in(plugin))
    {
        return Err(Failure::run_time(format!("a plugin {name} is installed in {}", other.dir.display()))
            .hint(format!("`{PROGRAM} plugin uninstall {name}` removes it")));
    }
    let folder = plugins::folder(invocation.environment).join(format!("{PROGRAM}-{name}"));
    let failed = |error: std::io::Error| {
        Failure::run_time(format!("cannot write {}: {}", folder.display(), reason(&error)))
    };
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::write(folder.join("plugin.yaml"), text).map_err(failed)?;
    invocation.ui.print(&format!("Installed plugin: {name}\n"))
}

/// Whether a plugin is only the entry of a built-in command, so that the command itself is run.
pub(crate) fn is_built_in(plugin: &Plugin) -> bool {
    let name = plugin.metadata.name.as_str();
    BUILT_IN.iter().any(|(known, _, _)| *known == name)
        && plugin.metadata.subprocess().is_some_and(|subprocess| {
            matches!(&subprocess.platform_command[..], [only] if only.command == PROGRAM && only.args == [name])
        })
}
