//! Plugins as commands: which one a command line means, and how it runs.

use pintle_plugin::{Plugin, Runtime};

use super::process::{Variables, log_command, run};
use super::{HELM_COMMANDS, commands};
use crate::command::find::{first_word, unknown};
use crate::command::{Command, CommandPath};
use crate::commands::ROOT;
use crate::env::{Environment, Setting};
use crate::failure::Failure;
use crate::flag::groups::GLOBAL;
use crate::flag::parse::{Unknown, parse};
use crate::flag::parsed::Parsed;
use crate::personality::Personality;
use crate::ui::Ui;

/// Global flags with values that plugins do not get. Helm's list: one of them is a switch, and takes the next word all
/// the same.
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

/// A plugin that a command line means, with the other words of it.
pub(crate) struct PluginCommand {
    pub(crate) plugin: Plugin,
    pub(crate) words: Vec<String>,
}

/// The plugin that a command line means. Commands of this program come first, but under the name of Helm, plugins come
/// before those that Helm does not have. Nothing is read unless the command line may mean a plugin.
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
    if built_in.is_some_and(|command| is_final(personality, command)) {
        return Ok(None);
    }
    let plugins = commands(personality, environment, ui);
    match plugins.iter().find(|plugin| plugin.metadata.command_name() == word) {
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

/// Whether no plugin can take the place of a command.
fn is_final(personality: Personality, command: &Command) -> bool {
    personality == Personality::Pintle
        || HELM_COMMANDS.contains(&command.name)
        || command.hidden
        || command.name == "help"
}

impl PluginCommand {
    /// The plugin as a command, for help. Tables of commands live as long as the program; this one is made once.
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
        let variables =
            Variables::of_helm(personality, called_as, &flags, environment)?.for_plugin(&self.plugin);
        ui.flush()?;
        match &metadata.runtime {
            Runtime::Subprocess(subprocess) => {
                let prepared = variables
                    .prepare(&subprocess.platform_command, true, &arguments, environment)
                    .map_err(|failure| failure.during("failed to prepare plugin command"))?;
                let mut command = variables.command(&prepared, environment)?;
                let debug =
                    flags.switch("debug").unwrap_or_else(|| environment.setting(Setting::Debug) == "true");
                if debug {
                    log_command(ui, "executing plugin command", &metadata.name, &command);
                }
                run(&metadata.name, &mut command)
            }
            other => Err(super::unsupported(&metadata.name, other)),
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
    // Helm parses all words before it looks for plugins, and those that it takes away once more.
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
        assert_eq!((flags.text("namespace"), flags.text("kube-token")), ("a", "t"));
        let (_, rest) = split(&["--kube-insecure-skip-tls-verify", "gone", "--", "-n"][..3]);
        assert_eq!(rest, ["--"]);
        assert!(split_arguments(Personality::Helm, &["-n".to_owned()]).is_err());
        assert_eq!(split(&["a", "", "b", "c"]).1, ["a", "c"]);
    }
}
