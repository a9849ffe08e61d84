//! `plugin`: manages plugins.

pub(crate) mod built_in;
mod create;
mod grant;
mod install;
mod list;
mod package;
mod set;
mod uninstall;
mod update;
mod verify;

use std::cell::OnceCell;
use std::path::PathBuf;
use std::process::Command as Process;

use pintle_plugin::{Git, GitFailure, Locations, Plugin};
use pintle_tree::{LogLevel, LogLine};

use crate::command::Command;
use crate::env::{Environment, Home};
use crate::failure::{Failure, FailureKind};
use crate::git;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::{self, process};

/// `plugin`
pub(crate) static COMMAND: Command = Command {
    name: "plugin",
    short: "install, list and remove plugins",
    long: "\
Manage plugins: commands, getters for URLs, and post-renderers that are not part of {program}.

Plugins of Helm work, of both generations. Plugins in Lua need no program at all: `{program} plugin create` makes one.",
    subcommands: &[
        &create::COMMAND,
        &grant::COMMAND,
        &install::COMMAND,
        &list::COMMAND,
        &package::COMMAND,
        &uninstall::COMMAND,
        &update::COMMAND,
        &verify::COMMAND,
    ],
    ..Command::BLANK
};

/// The folders of plugins, clones and temporary files.
fn locations(environment: &Environment) -> Locations {
    Locations {
        data: PathBuf::from(environment.home(Home::Data, "plugins")),
        plugins: plugins::folder(environment),
        own: plugins::own_folder(environment),
        cache: PathBuf::from(environment.home(Home::Cache, "plugins")),
        temporary: environment.temporary_folder(),
    }
}

/// All plugins of `HELM_PLUGINS` as one folder, and those that Helm does not know.
fn installed(invocation: &mut Invocation<'_>) -> Result<Vec<Plugin>, Failure> {
    let folders = [plugins::folder(invocation.environment), plugins::own_folder(invocation.environment)];
    plugins::load(invocation.personality, &folders, invocation.ui)
}

/// Runs the hook of a plugin for an event. Helm gives hooks no variables of its own.
///
/// # Errors
///
/// When it cannot be run or fails.
fn run_hook(invocation: &mut Invocation<'_>, plugin: &Plugin, event: &str) -> Result<(), Failure> {
    let Some(subprocess) = plugin.metadata.subprocess() else { return Ok(()) };
    let Some(commands) = subprocess.platform_hooks.get(event).filter(|commands| !commands.is_empty()) else {
        return Ok(());
    };
    let environment = invocation.environment;
    let variables = match invocation.personality {
        Personality::Helm => process::Variables::none(),
        Personality::Pintle => process::Variables::of_helm(
            invocation.personality,
            invocation.called_as,
            &invocation.flags,
            environment,
        )?,
    };
    let variables = variables.for_plugin(plugin);
    let prepared = variables.prepare(commands, subprocess.expand_hook_args, &[], environment)?;
    let mut command = variables.command(&prepared, environment)?;
    invocation.ui.flush()?;
    debug(invocation, "executing plugin hook command", plugin, &command);
    let name = pintle_tree::quote::quote(plugin.metadata.name.as_bytes());
    let what = format!("the {event} hook of the plugin {name}");
    let status = process::run_for(&what, &mut command, process::timeout(environment)?)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(FailureKind::RunTime, format!("plugin {event} hook for {name} exited with error")))
}

/// Logs what is run, with `--debug`.
fn debug(invocation: &mut Invocation<'_>, message: &'static str, plugin: &Plugin, command: &Process) {
    if invocation.debug() {
        process::log_command(invocation.ui, message, &plugin.metadata.name, command);
    }
}

/// Logs a step with `--debug`, as Helm does.
fn trace(invocation: &mut Invocation<'_>, message: &'static str, attributes: Vec<(&'static str, String)>) {
    if invocation.debug() && invocation.personality == Personality::Helm {
        invocation.ui.log(&LogLine { level: LogLevel::Debug, message: message.into(), attributes });
    }
}

/// The git program, as plugins need it. It is looked for when it is needed first.
struct GitProgram<'e> {
    environment: &'e Environment,
    local: OnceCell<Result<git::Git<'e>, String>>,
    with_remotes: OnceCell<Result<git::Git<'e>, String>>,
}

impl<'e> GitProgram<'e> {
    fn new(environment: &'e Environment) -> GitProgram<'e> {
        GitProgram { environment, local: OnceCell::new(), with_remotes: OnceCell::new() }
    }
}

fn call(
    git: &Result<git::Git<'_>, String>,
    dir: Option<&std::path::Path>,
    args: &[&str],
) -> Result<String, GitFailure> {
    let text = |captured: &process::Captured| {
        let text = [captured.stdout.as_slice(), &captured.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    };
    let not_run = |reason: &String| GitFailure { reason: reason.clone(), output: String::new() };
    match git.as_ref().map_err(not_run)?.run(dir, args) {
        Ok(captured) => Ok(text(&captured)),
        Err(git::GitError::NotRun(reason)) => Err(not_run(&reason)),
        Err(git::GitError::Exit(captured)) => {
            let code = captured.status.code().map(|code| format!("exit status {code}"));
            let reason = code.unwrap_or_else(|| "signal: killed".to_owned());
            Err(GitFailure { reason, output: text(&captured) })
        }
    }
}

impl Git for GitProgram<'_> {
    fn run(&self, dir: Option<&std::path::Path>, args: &[&str]) -> Result<String, GitFailure> {
        call(self.local.get_or_init(|| git::Git::new(self.environment)), dir, args)
    }

    fn run_with_remotes(&self, dir: Option<&std::path::Path>, args: &[&str]) -> Result<String, GitFailure> {
        call(self.with_remotes.get_or_init(|| git::Git::with_remotes(self.environment)), dir, args)
    }

    fn is_installed(&self) -> bool {
        process::look_path("git", self.environment).is_ok()
    }
}
