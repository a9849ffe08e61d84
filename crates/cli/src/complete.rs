//! Shell completion, in cobra's `__complete` protocol.

mod chart_parts;
mod charts;
mod flags;
mod live;
pub(crate) mod script;

use pintle::events::TABLE;

use crate::command::find::find;
use crate::command::{ArgCompletion, CommandPath};
use crate::commands::ROOT;
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::groups::GLOBAL;
use crate::flag::names;
use crate::flag::parse::{Unknown, parse, with_help};
use crate::help::named;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins;
use crate::ui::Ui;

/// cobra's `ShellCompDirective`; the numbers are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// `ShellCompDirectiveDefault`: files, if there are no choices.
    Default,
    /// `ShellCompDirectiveError`: what was typed cannot be completed.
    Error,
    /// `ShellCompDirectiveNoSpace`: no blank after the only choice.
    NoSpace,
    /// `ShellCompDirectiveNoFileComp`: no files.
    NoFiles,
    /// No blank and no files.
    NoSpaceNoFiles,
    /// What a plugin answered.
    Plugin(i64),
}

impl Directive {
    /// The number for the shell.
    fn code(self) -> i64 {
        match self {
            Directive::Default => 0,
            Directive::Error => 1,
            Directive::NoSpace => 2,
            Directive::NoFiles => 4,
            Directive::NoSpaceNoFiles => 6,
            Directive::Plugin(code) => code,
        }
    }

    fn name(self) -> String {
        const NAMES: [&str; 6] = [
            "ShellCompDirectiveError",
            "ShellCompDirectiveNoSpace",
            "ShellCompDirectiveNoFileComp",
            "ShellCompDirectiveFilterFileExt",
            "ShellCompDirectiveFilterDirs",
            "ShellCompDirectiveKeepOrder",
        ];
        let code = self.code();
        if code >= 64 {
            return format!("ERROR: unexpected ShellCompDirective value: {code}");
        }
        let set = NAMES.iter().enumerate().filter(|(bit, _)| code & (1 << bit) != 0);
        let set: Vec<&str> = set.map(|(_, name)| *name).collect();
        if set.is_empty() { "ShellCompDirectiveDefault".to_owned() } else { set.join(", ") }
    }
}

/// The choices for the shell.
#[derive(Debug)]
pub(crate) struct Completions {
    /// Choices with their descriptions.
    choices: Vec<(String, String)>,
    directive: Directive,
    /// Why there are none; goes to standard error, where cobra's completion debugging shows it.
    error: Option<String>,
}

impl Completions {
    fn new(directive: Directive, choices: Vec<(String, String)>) -> Completions {
        Completions { choices, directive, error: None }
    }

    fn nothing(directive: Directive) -> Completions {
        Completions::new(directive, Vec::new())
    }

    fn error(text: String) -> Completions {
        Completions { choices: Vec::new(), directive: Directive::Default, error: Some(text) }
    }
}

/// The prefix of lines that the shell shows but does not offer as choices.
const ACTIVE_HELP: &str = "_activeHelp_ ";

/// cobra's active help for a command line that is complete; the text is Helm's.
const NO_MORE_ARGUMENTS: &str =
    "_activeHelp_ This command does not take any more arguments (but may accept flags).";

/// A completion request of the shell.
pub(crate) struct Request {
    pub(crate) described: bool,
    /// The arguments after the program; the last one is being typed.
    pub(crate) words: Vec<String>,
}

impl Request {
    /// Writes the choices to standard output.
    pub(crate) fn run(
        &self,
        personality: Personality,
        called_as: &str,
        environment: &Environment,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let Some((unfinished, finished)) = self.words.split_last() else {
            return Err(Failure::usage("requires at least 1 arg(s), only received 0"));
        };
        let answer = answer(personality, called_as, environment, (finished, unfinished), ui);
        let active_help = ["COBRA_ACTIVE_HELP", "HELM_ACTIVE_HELP"]
            .iter()
            .all(|name| environment.variable(name).is_none_or(|value| value != "0"));
        if let Some(error) = &answer.error {
            ui.note(&format!("[Debug] [Error] {error}"));
        }
        let is_shown = |(choice, _): &&(String, String)| active_help || !choice.starts_with(ACTIVE_HELP);
        for (choice, description) in answer.choices.iter().filter(is_shown) {
            let description = description.lines().next().unwrap_or_default().trim();
            if self.described && !description.is_empty() {
                ui.print(&format!("{choice}\t{description}\n"))?;
            } else {
                ui.print(&format!("{choice}\n"))?;
            }
        }
        ui.print(&format!(":{}\n", answer.directive.code()))?;
        ui.note(&format!("Completion ended with directive: {}", answer.directive.name()));
        Ok(())
    }
}

fn answer(
    personality: Personality,
    called_as: &str,
    environment: &Environment,
    (finished, unfinished): (&[String], &str),
    ui: &mut Ui,
) -> Completions {
    if let Ok(Some(found)) = plugins::command::find(personality, finished, environment, ui) {
        return plugin(&found, (finished, unfinished), (personality, called_as), environment);
    }
    let Ok((command_path, rest)) = find(personality, finished) else {
        return Completions::error(format!(
            "unable to find a command for arguments: [{}]",
            finished.join(" ")
        ));
    };
    let flags_end = rest.iter().any(|word| word == "--");
    let (typed_flag, rest) = match flags::flag_being_typed(&command_path, rest, unfinished) {
        Ok(found) => found,
        Err(error) if !flags_end => return Completions::error(error),
        Err(_) => return Completions::nothing(Directive::Default),
    };
    let (parsed, outcome) = parse(with_help(command_path.command.all_flags()), &rest, Unknown::Refuse);
    if let Err(error) = outcome {
        let rest = rest.join(" ");
        return Completions::error(format!("Error while parsing flags from args [{rest}]: {error}"));
    }
    if parsed.given(names::HELP) {
        return Completions::nothing(Directive::NoFiles);
    }
    let mut invocation =
        Invocation { personality, called_as, command_path, flags: parsed, environment, chart_path: None, ui };
    if let Some(flag) = typed_flag.filter(|_| !flags_end) {
        return flags::values(flag, &mut invocation);
    }
    let (command_path, parsed) = (&invocation.command_path, &invocation.flags);
    if unfinished.starts_with('-') && !unfinished.contains('=') && !flags_end {
        return Completions::new(
            Directive::NoFiles,
            flags::names(command_path, parsed, personality, unfinished),
        );
    }
    let own_flag_given =
        parsed.given_flags().any(|flag| command_path.command.own_flags().any(|own| own.name == flag.name));
    if !command_path.command.subcommands.is_empty() {
        let fits = parsed.operands.is_empty() && !own_flag_given;
        let mut choices = if fits { subcommands(command_path, personality, unfinished) } else { Vec::new() };
        if fits && std::ptr::eq(command_path.command, &ROOT) {
            add_plugins(&mut choices, unfinished, personality, environment, invocation.ui);
        }
        return Completions::new(if fits { Directive::NoFiles } else { Directive::Default }, choices);
    }
    operands(&mut invocation, unfinished)
}

/// Adds the commands of plugins to those of the program, in the order of their names.
fn add_plugins(
    choices: &mut Vec<(String, String)>,
    unfinished: &str,
    personality: Personality,
    environment: &Environment,
    ui: &mut Ui,
) {
    for plugin in plugins::commands(personality, environment, ui) {
        let name = plugin.metadata.command_name().to_owned();
        if name.starts_with(unfinished) && choices.iter().all(|(other, _)| *other != name) {
            choices.push((name, plugin.metadata.short_help()));
        }
    }
    choices.sort();
}

/// Completes the command line of a plugin.
fn plugin(
    found: &plugins::command::PluginCommand,
    (finished, unfinished): (&[String], &str),
    caller: (Personality, &str),
    environment: &Environment,
) -> Completions {
    let completed = plugins::complete::declared(&found.plugin, caller.0.program(), &found.words);
    let mut choices = Vec::new();
    let mut directive = Directive::Default;
    if unfinished.starts_with('-') && !unfinished.contains('=') {
        // As Helm, which parses its global flags wherever they are, and no flag of a plugin.
        let (parsed, _) = parse(GLOBAL.iter().collect(), finished, Unknown::Skip);
        choices = flags::names_of_plugin(&completed.command_path, &parsed, caller.0, unfinished);
        directive = Directive::NoFiles;
    } else if completed.arguments.is_empty() {
        if !completed.subcommands.is_empty() {
            directive = Directive::NoFiles;
        }
        let mut names = completed.subcommands.clone();
        names.sort();
        choices.extend(names.into_iter().map(|name| (name, String::new())));
        if !completed.valid_args.is_empty() {
            directive = Directive::NoFiles;
            choices.extend(completed.valid_args.iter().map(|value| described(value)));
        }
        choices.retain(|(name, _)| name.starts_with(unfinished));
    }
    if completed.valid_args.is_empty() || unfinished.starts_with('-') {
        if let Some((more, code)) =
            plugins::complete::dynamic(&found.plugin, &completed, unfinished, caller, environment)
        {
            choices.extend(more.iter().map(|line| described(line)));
            directive = Directive::Plugin(code);
        } else if completed.is_dynamic() {
            directive = Directive::Default;
        }
    }
    Completions::new(directive, choices)
}

/// A choice with the description after a tab.
fn described(line: &str) -> (String, String) {
    let (choice, description) = line.split_once('\t').unwrap_or((line, ""));
    (choice.trim().to_owned(), description.to_owned())
}

fn subcommands(
    command_path: &CommandPath,
    personality: Personality,
    unfinished: &str,
) -> Vec<(String, String)> {
    let shown = command_path.command.shown_subcommands(personality);
    let fits = shown.filter(|command| {
        command.name.starts_with(unfinished) && is_offered(command_path, personality, command.name)
    });
    fits.map(|command| (command.name.to_owned(), named(command.short, personality))).collect()
}

/// Whether a subcommand is completed. Called `helm`, only those are that Helm has: scripts and people who come from Helm get
/// the completions they know. All others work when they are typed.
fn is_offered(command_path: &CommandPath, personality: Personality, name: &str) -> bool {
    let parent = command_path.path.split_once(' ').map_or("", |(_, parent)| parent);
    personality == Personality::Pintle
        || match parent {
            "" => plugins::HELM_COMMANDS.contains(&name) || name == "help",
            "dependency" => !matches!(name, "add" | "upgrade"),
            "plugin" => !matches!(name, "create" | "grant"),
            "show" => name != "permissions",
            _ => true,
        }
}

fn operands(invocation: &mut Invocation<'_>, unfinished: &str) -> Completions {
    let Invocation { personality, called_as, environment, .. } = *invocation;
    let parsed = &invocation.flags;
    let count = parsed.operands.len();
    let no_more =
        || Completions::new(Directive::NoFiles, vec![(NO_MORE_ARGUMENTS.to_owned(), String::new())]);
    match invocation.command_path.command.completion {
        ArgCompletion::Files => Completions::nothing(Directive::Default),
        ArgCompletion::FirstFile | ArgCompletion::FileAndRemote if count == 0 => {
            Completions::nothing(Directive::Default)
        }
        ArgCompletion::FileAndRemote if count == 1 => {
            Completions::new(Directive::NoSpaceNoFiles, vec![("oci://".to_owned(), String::new())])
        }
        ArgCompletion::NoFiles => Completions::nothing(Directive::NoFiles),
        ArgCompletion::Chart | ArgCompletion::ChartAndEvent if count == 0 => {
            charts::charts(invocation, unfinished, true)
        }
        ArgCompletion::RemoteChart if count == 0 => charts::charts(invocation, unfinished, false),
        ArgCompletion::RemoteChart => Completions::nothing(Directive::NoFiles),
        ArgCompletion::Repositories => charts::repositories(invocation),
        ArgCompletion::NothingUpTo(most) if count < most => Completions::nothing(Directive::NoFiles),
        ArgCompletion::ChartAndEvent if count == 1 => {
            let events = TABLE.iter().filter(|entry| !entry.core && entry.name.starts_with(unfinished));
            let choices = events.map(|entry| (entry.name.to_owned(), entry.when.to_owned())).collect();
            Completions::new(Directive::NoFiles, choices)
        }
        ArgCompletion::NameAndChart => {
            let before = usize::from(!parsed.on(names::GENERATE_NAME));
            if count == before {
                charts::charts(invocation, unfinished, true)
            } else {
                Completions::nothing(Directive::NoFiles)
            }
        }
        ArgCompletion::ReleaseAndChart if count == 1 => charts::charts(invocation, unfinished, true),
        ArgCompletion::Releases => live::releases(invocation),
        ArgCompletion::Release | ArgCompletion::ReleaseAndChart | ArgCompletion::ReleaseAndVersion
            if count == 0 =>
        {
            live::releases(invocation)
        }
        ArgCompletion::ReleaseAndVersion if count == 1 => {
            let release = parsed.operands[0].clone();
            live::revisions(invocation, &release)
        }
        ArgCompletion::Variable if count == 0 => {
            let names = crate::commands::env::variables(called_as, parsed, environment);
            let choices = names.into_iter().map(|(name, _)| (name.to_owned(), String::new()));
            Completions::new(Directive::NoFiles, choices.collect())
        }
        ArgCompletion::Plugins => {
            let given = parsed.operands.clone();
            let folders = plugins::folders(environment);
            let found = plugins::load(personality, &folders, invocation.ui).unwrap_or_default();
            let found = found.iter().map(|plugin| &plugin.metadata);
            let found = found.filter(|plugin| plugin.cli.is_some() && !given.contains(&plugin.name));
            let choices = found.map(|plugin| {
                let help = plugin.cli.as_ref().map_or("", |cli| cli.short_help.as_str());
                (plugin.name.clone(), help.to_owned())
            });
            Completions::new(Directive::NoFiles, choices.collect())
        }
        ArgCompletion::Commands => {
            let command_path = match find(personality, &parsed.operands) {
                Ok((command_path, _)) => command_path,
                Err(_) if parsed.operands.is_empty() => {
                    CommandPath { command: &ROOT, path: personality.program().to_owned() }
                }
                Err(_) => return Completions::nothing(Directive::NoFiles),
            };
            let mut choices = subcommands(&command_path, personality, unfinished);
            if std::ptr::eq(command_path.command, &ROOT) {
                add_plugins(&mut choices, unfinished, personality, invocation.environment, invocation.ui);
            }
            Completions::new(Directive::NoFiles, choices)
        }
        _ => no_more(),
    }
}
