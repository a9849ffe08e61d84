//! `plugin update`: updates plugins.

use pintle_plugin::{Plugin, Repository, StagedUpdate, archive_name, check_manifest, load_dir};
use pintle_tree::LogLine;

use super::uninstall::{for_each, names};
use super::{GitProgram, installed, locations, run_hook, trace};
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
their update hooks. The repository is cloned again, and the plugin is replaced as a whole.

An update that may do more than before asks first: one that requests other permissions, runs in another way (a program
instead of a script), or has other hooks. Without a terminal it is refused and nothing changes, unless --yes is given.",
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
    let git = GitProgram::new(invocation.environment);
    let repository = match source(invocation, plugin, &git, location.clone()) {
        Ok(repository) => repository,
        Err(error) if error.to_string() == CANNOT_DETECT => {
            invocation.ui.log(&LogLine::warn(
                "cannot get information about plugin source",
                vec![("location", location.display().to_string()), ("error", error.to_string())],
            ));
            return Err(Failure::run_time("cannot get information about plugin source")
                .with_pintle_text("the plugin was not installed from a git repository"));
        }
        Err(error) => return Err(error.into()),
    };
    if std::fs::symlink_metadata(&plugin.dir).is_ok_and(|found| found.file_type().is_symlink()) {
        return Err(Failure::run_time(format!(
            "the plugin is a link to {}, which is a working tree of yours; update it there with git",
            location.display()
        )));
    }
    // Helm looks where it would install the repository, which need not be where the plugin is.
    let base = crate::path::base(&repository.remote).to_owned();
    let path = plugins::folder(invocation.environment).join(base);
    let is_helms = invocation.personality == Personality::Helm && !plugin.metadata.is_own();
    if is_helms && std::fs::metadata(&path).is_err() {
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
    let staged = repository.stage_update(&version)?;
    if staged.is_new {
        replace(invocation, plugin, staged)?;
    }
    let dir = if is_helms { path } else { plugin.dir.clone() };
    trace(invocation, "loading plugin", vec![("path", dir.display().to_string())]);
    let updated = load_dir(&absolute(&dir))?;
    if permissions::granted(&updated, invocation.environment).is_err() {
        permissions::ask(invocation, &updated)?;
    }
    run_hook(invocation, &updated, "update")
}

const CANNOT_DETECT: &str = "Cannot detect VCS";

/// The repository of a plugin. What was installed from an archive has none, whatever is in its folder.
fn source<'g>(
    invocation: &Invocation<'_>,
    plugin: &Plugin,
    git: &'g GitProgram<'_>,
    location: std::path::PathBuf,
) -> pintle_plugin::Result<Repository<'g>> {
    let locations = locations(invocation.environment);
    let archive = archive_name(&plugin.metadata);
    if [&locations.data, &locations.own].iter().any(|folder| folder.join(&archive).exists()) {
        return Err(pintle_plugin::Error::Git(CANNOT_DETECT.to_owned()));
    }
    Repository::existing(git, location)
}

/// Puts the new state of a plugin in its place, if the user agrees to what it may do more than before.
fn replace(invocation: &mut Invocation<'_>, plugin: &Plugin, staged: StagedUpdate) -> Result<(), Failure> {
    let loaded = check_manifest(&staged.dir()).and_then(|()| load_dir(&staged.dir()));
    match loaded {
        Ok(new) => {
            let new = Plugin { dir: plugin.dir.clone(), metadata: new.metadata };
            permissions::ask_again(invocation, plugin, &new)?;
        }
        // Helm replaces a plugin by one that it cannot load, which runs nothing.
        Err(_) if invocation.personality == Personality::Helm && !plugin.metadata.is_own() => {}
        Err(error) => return Err(error.into()),
    }
    let has_manifest = check_manifest(&staged.dir());
    staged.replace(&plugin.dir)?;
    Ok(has_manifest?)
}
