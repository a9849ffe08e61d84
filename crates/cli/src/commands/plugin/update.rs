//! `plugin update`: updates plugins.

use pintle_plugin::{Plugin, Repository, load_dir};
use pintle_tree::LogLine;

use super::uninstall::{for_each, names};
use super::{GitProgram, installed, run_hook, trace};
use crate::chart_reference::absolute;
use crate::command::{ArgCompletion, Command};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins;
use crate::plugins::permissions::{self, PERMISSIONS};

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
    flags: &[OWN, PERMISSIONS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] =
    &[Flag::text(names::VERSION, "update to this tag, branch, commit or range of versions")
        .completes(FlagCompletion::Nothing)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let names = names(invocation, "update")?;
    let path = invocation.environment.setting(Setting::Plugins);
    trace(invocation, "loading installed plugins", vec![("path", path)]);
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
    let version = invocation.flags.text(names::VERSION).to_owned();
    trace(invocation, "updating", vec![("source", repository.remote.clone())]);
    repository.update_plugin(&version)?;
    let dir = match invocation.personality {
        Personality::Helm => path,
        Personality::Pintle => plugin.dir.clone(),
    };
    trace(invocation, "loading plugin", vec![("path", dir.display().to_string())]);
    let updated = load_dir(std::path::Path::new(&absolute(&dir.to_string_lossy())))?;
    if permissions::granted(&updated, invocation.environment).is_err() {
        permissions::ask(invocation, &updated)?;
    }
    run_hook(invocation, &updated, "update")
}
