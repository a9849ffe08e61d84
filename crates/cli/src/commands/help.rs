//! `help`: shows the help of a command.

use crate::command::find::find_topic;
use crate::command::{ArgCompletion, Command};
use crate::commands::ROOT;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::help;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins;
use crate::suggest::{NameOf, question};

/// `help [command]`
pub(crate) static COMMAND: Command = Command {
    name: "help",
    operands_text: "[command|topic]",
    short: "show help for a command or a topic",
    long: "\
Show what a command does and how to use it, such as `{program} help dependency build`, or a topic: `{program} help topics`
lists them.

With --search, list the commands, flags and topics in which a word occurs.",
    completion: ArgCompletion::Commands,
    flags: &[SEARCH],
    run: Some(run),
    as_helm: Some(&AS_HELM),
    ..Command::BLANK
};

/// The same under Helm's name, which knows no topics.
static AS_HELM: Command = Command {
    name: "help",
    operands_text: "[command]",
    short: "show help for a command",
    long: "Show what a command does and how to use it, such as `{program} help dependency build`.",
    completion: ArgCompletion::Commands,
    run: Some(run),
    ..Command::BLANK
};

static SEARCH: &[Flag] =
    &[Flag::text(names::SEARCH, "list the commands, flags and topics in which a word occurs")
        .completes(FlagCompletion::Nothing)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let personality = invocation.personality;
    if personality == Personality::Pintle
        && let Some(page) = topic(invocation)?
    {
        return invocation.ui.print(&page);
    }
    match find_topic(personality, &invocation.flags.operands) {
        Some(command_path) => {
            let text = help::help(&command_path, personality, invocation.environment);
            invocation.ui.print(&text)
        }
        None => {
            if let Ok(Some(found)) = plugins::command::find(
                personality,
                &invocation.flags.operands,
                invocation.environment,
                invocation.ui,
            ) {
                let command_path = found.command_path(personality);
                let text = help::help(&command_path, personality, invocation.environment);
                return invocation.ui.print(&text);
            }
            if personality == Personality::Pintle {
                return Err(unknown(&invocation.flags.operands));
            }
            let topic = help::unknown_topic(&invocation.flags.operands, &ROOT, personality);
            invocation.ui.note(&topic);
            Ok(())
        }
    }
}

/// The page of a topic or of a search; `None` if a command is asked for.
fn topic(invocation: &Invocation<'_>) -> Result<Option<String>, Failure> {
    let page = help::page(invocation.environment);
    let word = invocation.flags.text(names::SEARCH);
    if !word.is_empty() {
        return match page.search(word) {
            found if found.is_empty() => {
                Err(Failure::usage(format!("no command, flag or topic mentions `{word}`"))
                    .hint("`pintle help` lists the commands, and `pintle help topics` the topics"))
            }
            found => Ok(Some(found)),
        };
    }
    let [name] = invocation.flags.operands.as_slice() else { return Ok(None) };
    // A command wins over a topic of its name.
    let is_command = ROOT.subcommands.iter().any(|command| command.is_called(name));
    let is_topic = !is_command || help::topics::TOPICS.iter().all(|topic| topic.name != name);
    Ok(match is_topic {
        true if is_command => None,
        true => help::topics::text(name, page),
        // What both have is shown together.
        false => {
            let command = find_topic(invocation.personality, &invocation.flags.operands);
            let command =
                command.map(|path| help::help(&path, invocation.personality, invocation.environment));
            let text = help::topics::text(name, page);
            Some([text.unwrap_or_default(), command.unwrap_or_default()].join("\n"))
        }
    })
}

/// The failure of a word that is neither a command nor a topic.
fn unknown(words: &[String]) -> Failure {
    let word = words.join(" ");
    let commands = ROOT.subcommands.iter().filter(|command| !command.hidden).map(|command| command.name);
    let topics = help::topics::TOPICS.iter().map(|topic| topic.name);
    let known: Vec<&str> = commands.chain(topics).chain(["flags", "environment", "topics"]).collect();
    let hint = question(NameOf::Command, words.first().map_or("", String::as_str), &known);
    Failure::usage(format!("there is no command and no topic `{word}`"))
        .hint(hint.unwrap_or_else(|| format!("`pintle help --search {word}` searches all texts")))
}
