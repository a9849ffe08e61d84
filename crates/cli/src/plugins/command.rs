//! Plugins as commands: which one a command line means, and how it runs.

use std::sync::Arc;
use std::time::Duration;

use pintle::lua::PluginArguments;
use pintle_plugin::{Plugin, Runtime};
use pintle_tree::{LogLevel, LogLine};

use super::cluster::PluginCluster;
use super::lua::{LuaRun, ProcessStreams};
use super::process::{Variables, log_command, run};
use super::{HELM_COMMANDS, commands};
use crate::command::find::{first_word, unknown};
use crate::command::{Command, CommandPath};
use crate::commands::ROOT;
use crate::commands::plugin::built_in::is_built_in;
use crate::env::{Environment, Setting};
use crate::failure::Failure;
use crate::flag::groups::GLOBAL;
use crate::flag::names;
use crate::flag::parse::{Unknown, parse};
use crate::flag::parsed::Parsed;
use crate::personality::Personality;
use crate::ui::Ui;

/// Global flags with values that are not passed to plugins. Helm's list: `--kube-insecure-skip-tls-verify` is a switch, but
/// consumes the next word too.
const EATEN: [&str; 14] = [
    "--kube-context",
    "--namespace",
    "-n",
    "--kubeconfig",
    "--kube-apiserver",
    "--kube-token",
    "--kube-as-user",
    "--kube-as-group",
    "--kube-ca-file",
    "--registry-config",
    "--repository-cache",
    "--repository-config",
    "--kube-insecure-skip-tls-verify",
    "--kube-tls-server-name",
];

/// The plugin that a command line runs, with the other words.
pub(crate) struct PluginCommand {
    pub(crate) plugin: Plugin,
    pub(crate) words: Vec<String>,
}

/// Finds the plugin that a command line runs. Built-in commands take precedence, but under Helm's name plugins take precedence
/// over commands that Helm does not have. No plugin is loaded unless the command line may run one.
///
/// # Errors
///
/// A word that is neither a command nor a plugin.
pub(crate) fn find(
    personality: Personality,
    words: &[String],
    environment: &Environment,
    ui: &mut Ui,
) -> Result<Option<PluginCommand>, Failure> {
    let Some(at) = first_word(words, &ROOT.all_flags()) else { return Ok(None) };
    let word = words[at].as_str();
    let built_in = ROOT.subcommands.iter().find(|command| command.is_called(word));
    if built_in.is_some_and(|command| is_final(personality, command, word)) {
        return Ok(None);
    }
    let plugins = commands(personality, environment, ui);
    let found = plugins.iter().position(|plugin| plugin.metadata.command_name() == word);
    // The last plugin comes after all commands, and so after their aliases.
    let is_alias = built_in.is_some_and(|command| HELM_COMMANDS.contains(&command.name));
    let found = found.filter(|at| !is_alias || at + 1 < plugins.len());
    if built_in.is_none() && personality == Personality::Helm && is_debug(words, environment) {
        log_completion_files(&plugins[..found.unwrap_or(plugins.len())], ui);
    }
    match found.map(|at| &plugins[at]) {
        Some(plugin) if built_in.is_some() && is_built_in(plugin) => Ok(None),
        Some(plugin) => {
            let words = [&words[..at], &words[at + 1..]].concat();
            Ok(Some(PluginCommand { plugin: plugin.clone(), words }))
        }
        None if built_in.is_some() => Ok(None),
        None => {
            let names: Vec<String> =
                plugins.iter().map(|plugin| plugin.metadata.command_name().to_owned()).collect();
            Err(unknown(personality, word, &names))
        }
    }
}

/// Whether `--debug` is among the words before `--`, or in the environment: what Helm goes by before a plugin runs.
pub(crate) fn is_debug(words: &[String], environment: &Environment) -> bool {
    let words: Vec<String> = words.iter().take_while(|word| *word != "--").cloned().collect();
    let (flags, _) = parse(GLOBAL.iter().collect(), &words, Unknown::Skip);
    flags.switch(names::DEBUG).unwrap_or_else(|| environment.setting(Setting::Debug) == "true")
}

/// Logs missing completion files as Helm does: it looks for those of all plugins that it loads before the one to run.
fn log_completion_files(plugins: &[Plugin], ui: &mut Ui) {
    for plugin in plugins {
        let file = plugin.dir.join("completion.yaml");
        if !file.is_file() {
            let text = format!(
                "file ({}) not provided by plugin. No plugin auto-completion possible",
                file.display()
            );
            let message = "plugin completion file loading".into();
            ui.log(&LogLine { level: LogLevel::Debug, message, attributes: vec![("error", text)] });
        }
    }
}

/// Whether no plugin can take the place of a command. In Helm a plugin may have the name of an alias; commands are sorted,
/// and the first that matches runs.
fn is_final(personality: Personality, command: &Command, word: &str) -> bool {
    let is_helms = HELM_COMMANDS.contains(&command.name);
    personality == Personality::Pintle
        || (is_helms && word >= command.name)
        || command.hidden
        || command.name == "help"
}

impl PluginCommand {
    /// The plugin as a command, for help. It is leaked, because command tables are `'static`; this happens once per process.
    pub(crate) fn command_path(&self, personality: Personality) -> CommandPath {
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let metadata = &self.plugin.metadata;
        let usage = metadata.cli.as_ref().map_or("", |cli| cli.usage.as_str());
        let command = Command {
            name: leak(metadata.command_name()),
            operands_text: leak(usage.split_once(' ').map_or("", |(_, operands)| operands)),
            short: leak(&metadata.short_help()),
            long: leak(metadata.cli.as_ref().map_or("", |cli| cli.long_help.as_str())),
            run: Some(|_| Ok(())),
            ..Command::BLANK
        };
        let path = format!("{} {}", personality.program(), command.name);
        CommandPath { command: Box::leak(Box::new(command)), path }
    }

    /// Runs the plugin on the streams of this process.
    ///
    /// # Errors
    ///
    /// When it cannot be run, and its exit code.
    pub(crate) fn run(
        &self,
        personality: Personality,
        called_as: &str,
        environment: &Environment,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let (flags, arguments) = split_arguments(personality, &self.words)?;
        let metadata = &self.plugin.metadata;
        let ignores = metadata.cli.as_ref().is_some_and(|cli| cli.ignore_flags);
        let arguments = if ignores { Vec::new() } else { arguments };
        let debug = is_debug(&self.words, environment);
        ui.flush()?;
        match &metadata.runtime {
            Runtime::Subprocess(subprocess) => {
                let variables =
                    Variables::of_helm(personality, called_as, &flags, environment)?.for_plugin(&self.plugin);
                let prepared = variables
                    .prepare(&subprocess.platform_command, true, &arguments, environment)
                    .map_err(|failure| failure.during("failed to prepare plugin command"))?;
                let mut command = variables.command(&prepared, environment)?;
                if debug {
                    log_command(ui, "executing plugin command", &metadata.name, &command);
                }
                run(&metadata.name, &mut command)
            }
            Runtime::Lua(_) => {
                let variables =
                    Variables::for_script(called_as, &flags, environment).for_plugin(&self.plugin);
                let run = LuaRun {
                    plugin: &self.plugin,
                    arguments: PluginArguments { words: arguments, ..PluginArguments::default() },
                    variables: &variables,
                    cluster: Some(Arc::new(PluginCluster::new(&flags, environment))),
                    time: Duration::MAX,
                    debug,
                    is_last: true,
                };
                run.run(Arc::new(ProcessStreams), environment)
            }
            #[cfg(feature = "wasm")]
            Runtime::Extism(_) => {
                let variables =
                    Variables::for_script(called_as, &flags, environment).for_plugin(&self.plugin);
                let run = super::wasm::WasmRun {
                    plugin: &self.plugin,
                    message: super::wasm::object([("extraArgs", super::wasm::strings(&arguments))]),
                    variables: variables.for_expansion(environment).into_iter().collect(),
                    time: Duration::MAX,
                    debug,
                };
                run.run(Arc::new(ProcessStreams)).map(drop)
            }
            #[cfg(not(feature = "wasm"))]
            Runtime::Extism(_) => Err(super::without_wasm(&self.plugin)),
        }
    }
}

/// Splits the words of a plugin's command line into global flags and arguments of the plugin.
///
/// # Errors
///
/// Global flags that do not parse.
pub(crate) fn split_arguments(
    personality: Personality,
    words: &[String],
) -> Result<(Parsed, Vec<String>), Failure> {
    let (mut known, mut rest) = (Vec::new(), Vec::new());
    let mut remaining = words.iter();
    while let Some(word) = remaining.next() {
        if word == "--debug" {
            known.push(word.clone());
        } else if EATEN.contains(&word.as_str()) || (word.is_empty() && personality == Personality::Helm) {
            // Helm takes an empty word for one of these flags.
            known.push(word.clone());
            known.extend(remaining.next().cloned());
        } else if EATEN.iter().any(|flag| word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))) {
            known.push(word.clone());
        } else {
            rest.push(word.clone());
        }
    }
    let (_, outcome) = parse(GLOBAL.iter().collect(), &known, Unknown::Refuse);
    outcome.map_err(Failure::usage)?;
    // Helm parses all words before it looks for plugins, and then the extracted global flags again.
    let all: Vec<String> = words.iter().take_while(|word| *word != "--").cloned().chain(known).collect();
    let (flags, _) = parse(GLOBAL.iter().collect(), &all, Unknown::Skip);
    Ok((flags, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &[&str]) -> (Parsed, Vec<String>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        split_arguments(Personality::Helm, &words).unwrap()
    }

    #[test]
    fn global_flags_are_taken_away_as_helm_does() {
        let (flags, rest) =
            split(&["-n", "a", "x", "--kube-token=t", "--debug", "--color", "always", "-nb", "y"]);
        assert_eq!(rest, ["x", "--color", "always", "-nb", "y"]);
        assert_eq!((flags.text(names::NAMESPACE), flags.text(names::KUBE_TOKEN)), ("a", "t"));
        let (_, rest) = split(&["--kube-insecure-skip-tls-verify", "gone", "--", "-n"][..3]);
        assert_eq!(rest, ["--"]);
        assert!(split_arguments(Personality::Helm, &["-n".to_owned()]).is_err());
        assert_eq!(split(&["a", "", "b", "c"]).1, ["a", "c"]);
    }
}
