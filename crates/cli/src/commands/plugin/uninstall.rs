//! `plugin uninstall`: removes plugins.

use std::path::{Path, PathBuf};

use pintle_plugin::{Plugin, archive_name};

use super::{installed, run_hook, trace};
use crate::command::{ArgCompletion, Command};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::{self, permissions};

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
    let directory = invocation.environment.setting(Setting::Plugins);
    trace(invocation, "loading installer plugins", vec![("dir", directory)]);
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

/// Runs an action on each named plugin. A failure does not stop the others.
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

/// Removes a folder, or the link to one.
pub(super) fn remove_dir(dir: &Path) -> Result<(), Failure> {
    let is_link = std::fs::symlink_metadata(dir).is_ok_and(|found| found.file_type().is_symlink());
    let outcome = if is_link { std::fs::remove_file(dir) } else { std::fs::remove_dir_all(dir) };
    match outcome {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::run_time(format!("unlinkat {}: {}", dir.display(), reason(&error))))
        }
        // A missing folder is no error, as for Go's `os.RemoveAll`.
        _ => Ok(()),
    }
}

/// Removes the folder of a plugin, or the link to it, and its archive with the signature.
pub(super) fn remove(invocation: &mut Invocation<'_>, plugin: &Plugin) -> Result<(), Failure> {
    remove_dir(&plugin.dir)?;
    permissions::revoke(plugin, invocation.environment);
    if plugin.metadata.version.is_empty() {
        return Ok(());
    }
    for folder in archive_folders(invocation, plugin) {
        let archive = folder.join(archive_name(&plugin.metadata));
        for (file, message) in [
            (archive.clone(), "removing versioned tarball"),
            (archive.with_extension("tgz.prov"), "removing versioned provenance"),
        ] {
            if file.exists() {
                trace(invocation, message, vec![("path", file.display().to_string())]);
                let _ = std::fs::remove_file(file);
            }
        }
    }
    Ok(())
}

/// Where the archive of a plugin may be. Helm looks in `HELM_PLUGINS` only, but keeps archives in its data folder.
fn archive_folders(invocation: &Invocation<'_>, plugin: &Plugin) -> Vec<PathBuf> {
    let environment = invocation.environment;
    if plugin.dir.starts_with(plugins::own_folder(environment)) {
        return vec![plugins::own_folder(environment)];
    }
    let mut folders = vec![plugins::folder(environment)];
    let kept = super::locations(environment).data;
    if invocation.personality == Personality::Pintle && !folders.contains(&kept) {
        folders.push(kept);
    }
    folders
}
