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

use std::path::PathBuf;
use std::process::Command as Process;

use pintle_plugin::{Git, GitFailure, Locations, Plugin};
use pintle_tree::{LogLevel, LogLine};

use crate::command::Command;
use crate::env::{Environment, Home};
use crate::failure::{Failure, FailureKind, reason};
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
        cache: PathBuf::from(environment.home(Home::Cache, "plugins")),
        temporary: environment.temporary_folder(),
    }
}

/// All plugins of `HELM_PLUGINS` as one folder.
fn installed(invocation: &mut Invocation<'_>) -> Result<Vec<Plugin>, Failure> {
    let folder = plugins::folder(invocation.environment);
    plugins::load(invocation.personality, &[folder], invocation.ui)
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

/// The git program.
struct GitProgram<'e> {
    environment: &'e Environment,
}

impl Git for GitProgram<'_> {
    fn run(&self, dir: Option<&std::path::Path>, args: &[&str]) -> Result<String, GitFailure> {
        let failed = |reason: String| GitFailure { reason, output: String::new() };
        let program = process::look_path("git", self.environment).map_err(failed)?;
        let mut command = Process::new(program);
        command.args(args).env("GIT_TERMINAL_PROMPT", "0").stdin(std::process::Stdio::null());
        if let Some(dir) = dir {
            command.current_dir(dir).env("PWD", dir);
        }
        let output = command.output().map_err(|error| failed(reason(&error)))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        match output.status.code() {
            Some(0) => Ok(text),
            Some(code) => Err(GitFailure { reason: format!("exit status {code}"), output: text }),
            None => Err(GitFailure { reason: "signal: killed".to_owned(), output: text }),
        }
    }

    fn is_installed(&self) -> bool {
        process::look_path("git", self.environment).is_ok()
    }
}
