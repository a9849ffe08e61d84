//! Answers to the shell: what could stand where the cursor is, in cobra's `__complete` protocol.

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

/// What the shell is to do with an answer; the numbers are the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// As it likes: files, if there is nothing else.
    Default = 0,
    /// Show nothing: what was typed cannot be completed.
    Error = 1,
    /// Put no blank after the only choice.
    NoSpace = 2,
    /// Do not offer files.
    NoFiles = 4,
    /// Both.
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

/// Choices for the shell.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Choices with their descriptions.
    choices: Vec<(String, String)>,
    directive: Directive,
    /// Why there are none, for people who debug completion.
    fault: Option<String>,
}

impl Answer {
    fn new(directive: Directive, choices: Vec<(String, String)>) -> Answer {
        Answer { choices, directive, fault: None }
    }

    fn nothing(directive: Directive) -> Answer {
        Answer::new(directive, Vec::new())
    }

    fn fault(text: String) -> Answer {
        Answer { choices: Vec::new(), directive: Directive::Default, fault: Some(text) }
    }
}

/// What tells a user that the command line is complete.
const NO_MORE: &str = "_activeHelp_ This command does not take any more arguments (but may accept flags).";

/// A request of the shell.
pub(crate) struct Request {
    /// Whether choices come with descriptions.
    pub(crate) described: bool,
    /// The words after the program, the last of them unfinished.
    pub(crate) words: Vec<String>,
}

impl Request {
    /// Answers on standard output.
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
        if let Some(fault) = &answer.fault {
            ui.note(&format!("[Debug] [Error] {fault}"));
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
) -> Answer {
    let Ok((place, rest)) = find(personality, finished) else {
        return Answer::fault(format!("unable to find a command for arguments: [{}]", finished.join(" ")));
    };
    let flags_end = rest.iter().any(|word| word == "--");
    let (wanted, rest) = match flags::wanted(&place, rest, unfinished) {
        Ok(found) => found,
        Err(fault) if !flags_end => return Answer::fault(fault),
        Err(_) => return Answer::nothing(Directive::Default),
    };
    let (parsed, outcome) = parse(with_help(place.command.all_flags()), &rest, Unknown::Refuse);
    if let Err(fault) = outcome {
        let rest = rest.join(" ");
        return Answer::fault(format!("Error while parsing flags from args [{rest}]: {fault}"));
    }
    if parsed.given("help") {
        return Answer::nothing(Directive::NoFiles);
    }
    let mut invocation = Invocation { personality, called_as, place, flags: parsed, environment, ui };
    if let Some(flag) = wanted.filter(|_| !flags_end) {
        return flags::values(flag, &mut invocation);
    }
    let (place, parsed) = (&invocation.place, &invocation.flags);
    if unfinished.starts_with('-') && !unfinished.contains('=') && !flags_end {
        return Answer::new(Directive::NoFiles, flags::names(place, parsed, unfinished));
    }
    let own_flag_given =
        parsed.given_flags().any(|flag| place.command.own_flags().any(|own| own.name == flag.name));
    if !place.command.subcommands.is_empty() {
        let fits = parsed.operands.is_empty() && !own_flag_given;
        let choices = if fits { subcommands(place, personality, unfinished) } else { Vec::new() };
        return Answer::new(if fits { Directive::NoFiles } else { Directive::Default }, choices);
    }
    operands(&mut invocation, unfinished)
}

fn subcommands(place: &CommandPath, personality: Personality, unfinished: &str) -> Vec<(String, String)> {
    let fits = place.command.shown_subcommands().filter(|command| command.name.starts_with(unfinished));
    fits.map(|command| (command.name.to_owned(), named(command.short, personality))).collect()
}

fn operands(invocation: &mut Invocation<'_>, unfinished: &str) -> Answer {
    let Invocation { personality, called_as, environment, .. } = *invocation;
    let parsed = &invocation.flags;
    let count = parsed.operands.len();
    let no_more = || Answer::new(Directive::NoFiles, vec![(NO_MORE.to_owned(), String::new())]);
    match invocation.place.command.completion {
        ArgCompletion::Files => Answer::nothing(Directive::Default),
        ArgCompletion::FirstFile if count == 0 => Answer::nothing(Directive::Default),
        ArgCompletion::Chart | ArgCompletion::ChartAndEvent if count == 0 => {
            charts::charts(invocation, unfinished, true)
        }
        ArgCompletion::RemoteChart if count == 0 => charts::charts(invocation, unfinished, false),
        ArgCompletion::RemoteChart => Answer::nothing(Directive::NoFiles),
        ArgCompletion::Repositories => charts::repositories(invocation),
        ArgCompletion::NothingUpTo(most) if count < most => Answer::nothing(Directive::NoFiles),
        ArgCompletion::ChartAndEvent if count == 1 => {
            let events = TABLE.iter().filter(|entry| !entry.core && entry.name.starts_with(unfinished));
            let choices = events.map(|entry| (entry.name.to_owned(), entry.when.to_owned())).collect();
            Answer::new(Directive::NoFiles, choices)
        }
        ArgCompletion::NameAndChart => {
            let before = usize::from(!parsed.on("generate-name"));
            if count == before {
                charts::charts(invocation, unfinished, true)
            } else {
                Answer::nothing(Directive::NoFiles)
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
            Answer::new(Directive::NoFiles, choices.collect())
        }
        ArgCompletion::Commands => {
            let place = match find(personality, &parsed.operands) {
                Ok((place, _)) => place,
                Err(_) if parsed.operands.is_empty() => {
                    CommandPath { command: &ROOT, path: personality.program().to_owned() }
                }
                Err(_) => return Answer::nothing(Directive::NoFiles),
            };
            Answer::new(Directive::NoFiles, subcommands(&place, personality, unfinished))
        }
        _ => no_more(),
    }
}
