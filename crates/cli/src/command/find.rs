//! From the words of a command line to the command that they name, by cobra's rules.

use pintle_tree::quote::quote;

use super::suggest::suggestions;
use super::{Command, CommandPath};
use crate::commands::{LATER, ROOT};
use crate::failure::Failure;
use crate::flag::Flag;
use crate::personality::{EntryPoint, Personality};

/// Finds the command and gives what is left for it: flags and operands.
///
/// # Errors
///
/// Names that are no command; commands of Helm that are not here yet.
pub(crate) fn find(
    personality: Personality,
    arguments: &[String],
) -> Result<(CommandPath, Vec<String>), Failure> {
    let mut place = CommandPath { command: &ROOT, path: personality.program().to_owned() };
    let mut rest = arguments.to_vec();
    while let Some(at) = first_word(&rest, &place.command.all_flags()) {
        let word = rest[at].as_str();
        let Some(next) = place.command.subcommands.iter().copied().find(|command| command.is_called(word))
        else {
            break;
        };
        rest.remove(at);
        place.path = format!("{} {}", place.path, next.name);
        place.command = next;
    }
    if std::ptr::eq(place.command, &ROOT)
        && let Some(at) = first_word(&rest, &ROOT.all_flags())
    {
        return Err(unknown(personality, &rest[at]));
    }
    Ok((place, rest))
}

/// As [`find`], for a program that was entered by the door of one command.
///
/// # Errors
///
/// As [`find`], and words that are no command of a door that has commands.
pub(crate) fn find_behind(
    door: Option<EntryPoint>,
    personality: Personality,
    arguments: &[String],
) -> Result<(CommandPath, Vec<String>), Failure> {
    let Some(door) = door else { return find(personality, arguments) };
    let way = door.way.iter().map(|word| (*word).to_owned());
    let arguments: Vec<String> = way.chain(arguments.iter().cloned()).collect();
    let (mut place, rest) = find(personality, &arguments)?;
    let way = format!("{} {}", personality.program(), door.way.join(" "));
    if let Some(below) = place.path.strip_prefix(&way) {
        place.path = format!("{}{below}", door.name);
    }
    if place.command.run.is_none()
        && let Some(at) = first_word(&rest, &place.command.all_flags()).filter(|at| rest[*at] != "help")
    {
        return Err(Failure::usage(format!("unknown command `{}` for `{}`", rest[at], place.path))
            .hint(format!("`{} --help` lists the commands", place.path)));
    }
    Ok((place, rest))
}

/// The position of the first word that is neither a flag nor the value of one. The help flag is not known yet at this
/// point, so what follows it counts as its value.
pub(crate) fn first_word(arguments: &[String], flags: &[&'static Flag]) -> Option<usize> {
    let mut at = 0;
    while at < arguments.len() {
        let argument = arguments[at].as_str();
        if argument == "--" {
            return None;
        }
        if takes_next(argument, flags) {
            at += 2;
        } else if !argument.is_empty() && !argument.starts_with('-') {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

fn takes_next(argument: &str, flags: &[&'static Flag]) -> bool {
    if argument.contains('=') {
        return false;
    }
    let stands_alone = |known: Option<&&'static Flag>| known.is_some_and(|flag| flag.bare.is_some());
    if let Some(name) = argument.strip_prefix("--") {
        return !stands_alone(flags.iter().find(|flag| flag.name == name));
    }
    match argument.strip_prefix('-') {
        Some(letters) if letters.len() == 1 => !stands_alone(
            flags.iter().find(|flag| flag.short.is_some_and(|short| letters.starts_with(short))),
        ),
        _ => false,
    }
}

fn unknown(personality: Personality, word: &str) -> Failure {
    if LATER.iter().any(|(name, aliases)| *name == word || aliases.contains(&word)) {
        return Failure::not_built(
            format!("`{} {word}` is not built yet", personality.program()),
            format!("`{} --help` lists what works today", personality.program()),
        );
    }
    let names = suggestions(word);
    let mut text =
        format!("unknown command {} for {}", quote(word.as_bytes()), quote(personality.program().as_bytes()));
    if !names.is_empty() {
        text.push_str("\n\nDid you mean this?\n");
        for name in &names {
            text.push('\t');
            text.push_str(name);
            text.push('\n');
        }
    }
    let failure = Failure::usage(text)
        .with_pintle_text(format!("unknown command `{word}`"))
        .pointer(format!("Run '{} --help' for usage.", personality.program()));
    match names.first() {
        Some(name) => failure.hint(format!("did you mean `{name}`?")),
        None => failure.hint(format!("`{} --help` lists the commands", personality.program())),
    }
}

/// Follows names only, as `help` does; what is left over does not count, except at the top.
pub(crate) fn find_topic(personality: Personality, names: &[String]) -> Option<CommandPath> {
    find(personality, names).ok().map(|(place, _)| place)
}

/// A way to visit every command with its path, parents first.
pub(crate) fn walk(place: &CommandPath, visit: &mut dyn FnMut(&CommandPath)) {
    visit(place);
    for command in place.command.subcommands {
        let command: &'static Command = command;
        walk(&CommandPath { command, path: format!("{} {}", place.path, command.name) }, visit);
    }
}
