//! `plugin uninstall`: removes plugins.

use pintle_plugin::{Plugin, archive_name};

use super::{installed, run_hook};
use crate::command::{ArgCompletion, Command};
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::plugins;

/// `plugin uninstall PLUGIN...`
pub(super) static COMMAND: Command = Command {
    name: "uninstall",
    aliases: &["rm", "remove"],
    operands_text: "<plugin>...",
    short: "uninstall plugins",
    long: "Uninstall plugins: remove their directories and archives, and run their delete hooks.",
    completion: ArgCompletion::Plugins,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let names = names(invocation, "uninstall")?;
    let found = installed(invocation)?;
    for_each(invocation, &names, &found, ("uninstall", "Uninstalled"), |invocation, plugin| {
        remove(invocation, plugin)?;
        run_hook(invocation, plugin, "delete")
    })
}

/// The names on the command line.
pub(super) fn names(invocation: &Invocation<'_>, action: &str) -> Result<Vec<String>, Failure> {
    if invocation.flags.operands.is_empty() {
        return Err(Failure::usage(format!("please provide plugin name to {action}"))
            .hint(format!("usage: {}", invocation.command_path.usage_line())));
    }
    Ok(invocation.flags.operands.clone())
}

/// Does something to each plugin that is named. One that fails does not keep the others from it.
///
/// # Errors
///
/// All failures as one.
pub(super) fn for_each(
    invocation: &mut Invocation<'_>,
    names: &[String],
    found: &[Plugin],
    (action, done): (&str, &str),
    mut act: impl FnMut(&mut Invocation<'_>, &Plugin) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for name in names {
        match found.iter().find(|plugin| plugin.metadata.name == *name) {
            None => failures.push(format!("plugin: {name} not found")),
            Some(plugin) => match act(invocation, plugin) {
                Ok(()) => invocation.ui.print(&format!("{done} plugin: {name}\n"))?,
                Err(failure) => {
                    failures.push(format!("failed to {action} plugin {name}, got error ({})", failure.text))
                }
            },
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::run_time(failures.join("\n"))) }
}

/// Removes the folder of a plugin, or the link to it, and its archive with the signature.
pub(super) fn remove(invocation: &Invocation<'_>, plugin: &Plugin) -> Result<(), Failure> {
    let is_link = std::fs::symlink_metadata(&plugin.dir).is_ok_and(|found| found.file_type().is_symlink());
    let outcome =
        if is_link { std::fs::remove_file(&plugin.dir) } else { std::fs::remove_dir_all(&plugin.dir) };
    outcome.map_err(|error| {
        Failure::run_time(format!("unlinkat {}: {}", plugin.dir.display(), reason(&error)))
    })?;
    if plugin.metadata.version.is_empty() {
        return Ok(());
    }
    let archive = plugins::folder(invocation.environment).join(archive_name(&plugin.metadata));
    for file in [archive.clone(), archive.with_extension("tgz.prov")] {
        // There may be none.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}
