//! Shell completion, in cobra's `__complete` protocol.

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
use crate::flag::parse::{Unknown, parse, with_help};
use crate::help::named;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::ui::Ui;

/// cobra's `ShellCompDirective`; the numbers are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// `ShellCompDirectiveDefault`: files, if there are no choices.
    Default = 0,
    /// `ShellCompDirectiveError`: what was typed cannot be completed.
    Error = 1,
    /// `ShellCompDirectiveNoSpace`: no blank after the only choice.
    NoSpace = 2,
    /// `ShellCompDirectiveNoFileComp`: no files.
    NoFiles = 4,
    /// No blank and no files.
    NoSpaceNoFiles = 6,
}

impl Directive {
    fn name(self) -> &'static str {
        match self {
            Directive::Default => "ShellCompDirectiveDefault",
            Directive::Error => "ShellCompDirectiveError",
            Directive::NoSpace => "ShellCompDirectiveNoSpace",
            Directive::NoFiles => "ShellCompDirectiveNoFileComp",
            Directive::NoSpaceNoFiles => "ShellCompDirectiveNoSpace, ShellCompDirectiveNoFileComp",
        }
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
        if let Some(error) = &answer.error {
            ui.note(&format!("[Debug] [Error] {error}"));
        }
        for (choice, description) in &answer.choices {
            let description = description.lines().next().unwrap_or_default().trim();
            if self.described && !description.is_empty() {
                ui.print(&format!("{choice}\t{description}\n"))?;
            } else {
                ui.print(&format!("{choice}\n"))?;
            }
        }
        ui.print(&format!(":{}\n", answer.directive as u8))?;
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
    if parsed.given("help") {
        return Completions::nothing(Directive::NoFiles);
    }
    let mut invocation = Invocation {
        personality,
        called_as,
        command_path,
        flags: parsed,
        environment,
        chart_source: None,
        ui,
    };
    if let Some(flag) = typed_flag.filter(|_| !flags_end) {
        return flags::values(flag, &mut invocation);
    }
    let (command_path, parsed) = (&invocation.command_path, &invocation.flags);
    if unfinished.starts_with('-') && !unfinished.contains('=') && !flags_end {
        return Completions::new(Directive::NoFiles, flags::names(command_path, parsed, unfinished));
    }
    let own_flag_given =
        parsed.given_flags().any(|flag| command_path.command.own_flags().any(|own| own.name == flag.name));
    if !command_path.command.subcommands.is_empty() {
        let fits = parsed.operands.is_empty() && !own_flag_given;
        let choices = if fits { subcommands(command_path, personality, unfinished) } else { Vec::new() };
        return Completions::new(if fits { Directive::NoFiles } else { Directive::Default }, choices);
    }
    operands(&mut invocation, unfinished)
}

fn subcommands(
    command_path: &CommandPath,
    personality: Personality,
    unfinished: &str,
) -> Vec<(String, String)> {
    let fits =
        command_path.command.shown_subcommands().filter(|command| command.name.starts_with(unfinished));
    fits.map(|command| (command.name.to_owned(), named(command.short, personality))).collect()
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
            let before = usize::from(!parsed.on("generate-name"));
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
        ArgCompletion::Commands => {
            let command_path = match find(personality, &parsed.operands) {
                Ok((command_path, _)) => command_path,
                Err(_) if parsed.operands.is_empty() => {
                    CommandPath { command: &ROOT, path: personality.program().to_owned() }
                }
                Err(_) => return Completions::nothing(Directive::NoFiles),
            };
            Completions::new(Directive::NoFiles, subcommands(&command_path, personality, unfinished))
        }
        _ => no_more(),
    }
}
