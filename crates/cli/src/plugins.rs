//! Installed plugins: where they are, which command a word means, and the errors of programs that were run.

pub(crate) mod bin;
mod cluster;
pub(crate) mod command;
pub(crate) mod complete;
pub(crate) mod getter;
mod git_getter;
mod lua;
pub(crate) mod permissions;
pub(crate) mod post_renderer;
pub(crate) mod process;
mod supervise;
pub(crate) mod uploader;
#[cfg(feature = "wasm")]
mod wasm;

use std::path::PathBuf;

use pintle_plugin::{Plugin, PluginType, check_duplicates, load_all};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine};

use crate::command::find::first_word;
use crate::commands::ROOT;
use crate::env::{Environment, Home, Setting};
use crate::failure::{Failure, FailureKind};
use crate::path;
use crate::personality::Personality;
use crate::ui::Ui;

impl From<pintle_plugin::Error> for Failure {
    fn from(error: pintle_plugin::Error) -> Failure {
        let class = match error {
            pintle_plugin::Error::File(_) | pintle_plugin::Error::Git(_) => FailureKind::RunTime,
            _ => FailureKind::BadInput,
        };
        Failure::new(class, error.to_string())
    }
}

/// The folders of `HELM_PLUGINS`, which may be a list, and that of plugins that Helm does not know.
pub(crate) fn folders(environment: &Environment) -> Vec<PathBuf> {
    let setting = environment.setting(Setting::Plugins);
    let mut folders: Vec<PathBuf> = match setting.as_str() {
        "" => Vec::new(),
        setting => setting.split(if cfg!(windows) { ';' } else { ':' }).map(cleaned).collect(),
    };
    folders.push(own_folder(environment));
    folders
}

/// The folder of plugins that Helm does not know: for each in its own folders it would print a warning with every command.
pub(crate) fn own_folder(environment: &Environment) -> PathBuf {
    PathBuf::from(environment.home(Home::Data, "pintle/plugins"))
}

/// `HELM_PLUGINS` as the path of one folder, as Helm takes it when it installs, removes and updates.
pub(crate) fn folder(environment: &Environment) -> PathBuf {
    cleaned(&environment.setting(Setting::Plugins))
}

fn cleaned(folder: &str) -> PathBuf {
    if folder.is_empty() { PathBuf::new() } else { PathBuf::from(path::clean(folder)) }
}

/// Loads the plugins of some folders, with a warning for each that cannot be loaded. Of two plugins with the same name we keep
/// the first; Helm loads none at all.
///
/// # Errors
///
/// Under Helm's name, two plugins with the same name.
pub(crate) fn load(
    personality: Personality,
    folders: &[PathBuf],
    ui: &mut Ui,
) -> Result<Vec<Plugin>, Failure> {
    let mut all: Vec<Plugin> = Vec::new();
    for folder in folders {
        let mut log = Vec::new();
        let plugins = load_all(folder, &mut log);
        for line in &log {
            ui.log(line);
        }
        if personality == Personality::Helm {
            check_duplicates(&plugins)?;
            all.extend(plugins);
            continue;
        }
        for plugin in plugins {
            match all.iter().find(|other| other.metadata.name == plugin.metadata.name) {
                Some(other) => ui.warn(&format!(
                    "the plugin in `{}` is ignored, because that in `{}` has the name `{}` too",
                    plugin.dir.display(),
                    other.dir.display(),
                    plugin.metadata.name
                )),
                None => all.push(plugin),
            }
        }
    }
    Ok(all)
}

/// The plugins that are commands. Under Helm's name, the list ends at the first whose name is already taken, as in Helm.
pub(crate) fn commands(personality: Personality, environment: &Environment, ui: &mut Ui) -> Vec<Plugin> {
    if environment.variable("HELM_NO_PLUGINS").is_some_and(|value| value == "1") {
        return Vec::new();
    }
    let error = |message: &'static str, name: &'static str, value: String| LogLine {
        level: LogLevel::Error,
        message: message.into(),
        attributes: vec![(name, value)],
    };
    let plugins = match load(personality, &folders(environment), ui) {
        Ok(plugins) => plugins,
        Err(failure) => {
            ui.log(&error("failed to load plugins", "error", failure.text.clone()));
            return Vec::new();
        }
    };
    let mut found: Vec<Plugin> = Vec::new();
    for plugin in plugins.into_iter().filter(|plugin| plugin.metadata.cli.is_some()) {
        let name = plugin.metadata.command_name().to_owned();
        let taken = found.iter().any(|other| other.metadata.command_name() == name);
        if personality == Personality::Helm && (taken || HELM_COMMANDS.contains(&name.as_str())) {
            ui.log(&error("failed to load plugins: name conflicts", "name", name));
            break;
        }
        if !taken {
            found.push(plugin);
        }
    }
    found
}

/// Helm loads plugins that are commands before anything else, and warns about those that it cannot load. It does so for
/// every command; we do it only for `plugin`, to save time.
pub(crate) fn warn_as_helm(
    personality: Personality,
    words: &[String],
    environment: &Environment,
    ui: &mut Ui,
) {
    let word = first_word(words, &ROOT.all_flags()).map(|at| words[at].as_str());
    if personality == Personality::Helm && word == Some("plugin") {
        commands(personality, environment, ui);
    }
}

/// Helm's commands, whose names no plugin may have.
pub(crate) const HELM_COMMANDS: &[&str] = &[
    "completion",
    "create",
    "dependency",
    "docs",
    "env",
    "get",
    "history",
    "install",
    "lint",
    "list",
    "package",
    "plugin",
    "pull",
    "push",
    "registry",
    "repo",
    "rollback",
    "search",
    "show",
    "status",
    "template",
    "test",
    "uninstall",
    "upgrade",
    "verify",
    "version",
];

/// The names and summaries of plugins that are commands, without warnings about others.
pub(crate) fn summaries(personality: Personality, environment: &Environment) -> Vec<(String, String)> {
    if environment.variable("HELM_NO_PLUGINS").is_some_and(|value| value == "1") {
        return Vec::new();
    }
    let plugins = folders(environment).into_iter().flat_map(|folder| load_all(&folder, &mut Vec::new()));
    let mut summaries: Vec<(String, String)> = Vec::new();
    for plugin in plugins.filter(|plugin| plugin.metadata.cli.is_some()) {
        let name = plugin.metadata.command_name();
        let conflict = personality == Personality::Helm && HELM_COMMANDS.contains(&name);
        if !conflict && summaries.iter().all(|(other, _)| other != name) {
            summaries.push((name.to_owned(), plugin.metadata.short_help()));
        }
    }
    summaries
}

/// The first post-renderer of a name.
///
/// # Errors
///
/// When there is none.
pub(crate) fn post_renderer(
    personality: Personality,
    environment: &Environment,
    name: &str,
    ui: &mut Ui,
) -> Result<Option<Plugin>, Failure> {
    let plugins = load(personality, &folders(environment), ui)?;
    Ok(plugins.into_iter().find(|plugin| {
        plugin.metadata.plugin_type == PluginType::PostRenderer && plugin.metadata.name == name
    }))
}

/// The failure of a plugin that ended with an exit code, which becomes ours.
pub(crate) fn exited(name: &str, code: u8) -> Failure {
    Failure::new(FailureKind::Exit(code), format!("plugin {} exited with error", quote(name.as_bytes())))
        .with_pintle_text(format!("the plugin `{name}` failed with exit code {code}"))
}

/// The failure of a plugin in WebAssembly in a program that was built without it.
#[cfg(not(feature = "wasm"))]
pub(crate) fn without_wasm(plugin: &Plugin) -> Failure {
    let name = &plugin.metadata.name;
    Failure::run_time(format!(
        "the plugin `{name}` cannot run: this program was built without the runtime `extism/v1` (the Cargo feature `wasm`)"
    ))
    .hint("`cargo build --release --features wasm` builds it with that runtime")
}
