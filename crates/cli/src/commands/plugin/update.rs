//! `plugin update`: updates plugins.

use pintle_plugin::{Plugin, Repository, load_dir};
use pintle_tree::LogLine;

use super::uninstall::{for_each, names};
use super::{GitProgram, installed, run_hook};
use crate::chart_reference::absolute;
use crate::command::{ArgCompletion, Command};
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins;

/// `plugin update PLUGIN...`
pub(super) static COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    operands_text: "<plugin>...",
    short: "update plugins",
    long: "\
Update plugins that were installed from git repositories, to the newest commit of their branch or to --version, and run
their update hooks.",
    completion: ArgCompletion::Plugins,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::text("version", "update to this tag, branch, commit or range of versions")
    .completes(FlagCompletion::Nothing)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let names = names(invocation, "update")?;
    let found = installed(invocation)?;
    for_each(invocation, &names, &found, ("update", "Updated"), update)
}

fn update(invocation: &mut Invocation<'_>, plugin: &Plugin) -> Result<(), Failure> {
    let location = std::fs::canonicalize(&plugin.dir)
        .map_err(|error| Failure::run_time(format!("lstat {}: {}", plugin.dir.display(), reason(&error))))?;
    let git = GitProgram { environment: invocation.environment };
    let repository = match Repository::existing(&git, location.clone()) {
        Ok(repository) => repository,
        Err(error) if error.to_string() == "Cannot detect VCS" => {
            invocation.ui.log(&LogLine::warn(
                "cannot get information about plugin source",
                vec![("location", location.display().to_string()), ("error", error.to_string())],
            ));
            return Err(Failure::run_time("cannot get information about plugin source")
                .with_pintle_text("the plugin was not installed from a git repository"));
        }
        Err(error) => return Err(error.into()),
    };
    // Helm looks where it would install the repository, which need not be where the plugin is.
    let base = crate::path::base(&repository.remote).to_owned();
    let path = plugins::folder(invocation.environment).join(base);
    if invocation.personality == Personality::Helm && std::fs::metadata(&path).is_err() {
        invocation.ui.log(&LogLine::warn(
            "plugin does not exist",
            vec![
                ("path", path.display().to_string()),
                ("error", format!("stat {}: no such file or directory", path.display())),
            ],
        ));
        return Err(Failure::run_time("plugin does not exist"));
    }
    let version = invocation.flags.text("version").to_owned();
    repository.update_plugin(&version)?;
    let dir = match invocation.personality {
        Personality::Helm => path,
        Personality::Pintle => plugin.dir.clone(),
    };
    let updated = load_dir(std::path::Path::new(&absolute(&dir.to_string_lossy())))?;
    run_hook(invocation, &updated, "update")
}
