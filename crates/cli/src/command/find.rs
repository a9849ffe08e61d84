//! Finds the command that a command line names, by cobra's rules.

use pintle_tree::quote::quote;

use super::suggest::{HELMS_ORDER, suggestions};
use super::{Command, CommandPath};
use crate::commands::ROOT;
use crate::failure::Failure;
use crate::flag::Flag;
use crate::personality::{EntryPoint, Personality};
use crate::suggest::{NameOf, likeliest, meant};

/// Finds the command, and returns it with the remaining arguments: flags and operands.
///
/// # Errors
///
/// Unknown commands.
pub(crate) fn find(
    personality: Personality,
    arguments: &[String],
) -> Result<(CommandPath, Vec<String>), Failure> {
    let mut command_path = CommandPath { command: &ROOT, path: personality.program().to_owned() };
    let mut rest = arguments.to_vec();
    while let Some(at) = first_word(&rest, &command_path.command.all_flags()) {
        let word = rest[at].as_str();
        let Some(next) =
            command_path.command.subcommands.iter().copied().find(|command| command.is_called(word))
        else {
            break;
        };
        let next = next.under(personality);
        rest.remove(at);
        command_path.path = format!("{} {}", command_path.path, next.name);
        command_path.command = next;
    }
    if std::ptr::eq(command_path.command, &ROOT)
        && let Some(at) = first_word(&rest, &ROOT.all_flags())
    {
        return Err(unknown(personality, &rest[at], &[]));
    }
    Ok((command_path, rest))
}

/// Finds the command to run. For a program that was called by the name of an entry point, its command is prefixed to the
/// arguments.
///
/// # Errors
///
/// Those of [`find`], and unknown subcommands.
pub(crate) fn find_from_entry_point(
    entry_point: Option<EntryPoint>,
    personality: Personality,
    arguments: &[String],
) -> Result<(CommandPath, Vec<String>), Failure> {
    let prefix = entry_point.map_or(&[][..], |entry_point| entry_point.path);
    let arguments: Vec<String> =
        prefix.iter().map(|word| (*word).to_owned()).chain(arguments.iter().cloned()).collect();
    let (mut command_path, rest) = find(personality, &arguments)?;
    if let Some(entry_point) = entry_point {
        let prefix = format!("{} {}", personality.program(), entry_point.path.join(" "));
        if let Some(below) = command_path.path.strip_prefix(&prefix) {
            command_path.path = format!("{}{below}", entry_point.name);
        }
    }
    match unknown_subcommand(personality, &command_path, &rest) {
        Some(failure) => Err(failure),
        None => Ok((command_path, rest)),
    }
}

/// The failure of a word that is no subcommand of a command that only has subcommands. Groups of Helm's own, called as
/// Helm's, print their help instead.
fn unknown_subcommand(
    personality: Personality,
    command_path: &CommandPath,
    rest: &[String],
) -> Option<Failure> {
    let command = command_path.command;
    let name = command_path.path.split(' ').nth(1).unwrap_or_default();
    if command.run.is_some() || (personality == Personality::Helm && HELMS_ORDER.contains(&name)) {
        return None;
    }
    let word =
        first_word(rest, &command.all_flags()).map(|at| rest[at].as_str()).filter(|word| *word != "help")?;
    let path = &command_path.path;
    let known: Vec<&str> = command.shown_subcommands(personality).map(|other| other.name).collect();
    let hint = match likeliest(NameOf::Command, word, &known) {
        Some(near) => format!("did you mean `{path} {near}`?"),
        None => format!("`{path} --help` lists the commands"),
    };
    Some(
        Failure::usage(format!("unknown command {} for {}", quote(word.as_bytes()), quote(path.as_bytes())))
            .with_pintle_text(format!("unknown command `{word}` for `{path}`"))
            .pointer(format!("Run '{path} --help' for usage."))
            .hint(hint),
    )
}

/// The position of the first argument that is neither a flag nor the value of one. cobra does not know `--help` yet at
/// this point, so an argument after it counts as its value.
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

/// The failure of a word that is no command. `plugins` are the commands of plugins.
pub(crate) fn unknown(personality: Personality, word: &str, plugins: &[String]) -> Failure {
    let names = suggestions(personality, word, plugins);
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
    match meant_command(personality, word, plugins) {
        Some(hint) => failure.hint(hint),
        None => failure.hint(format!("`{} --help` lists the commands", personality.program())),
    }
}

/// The command that was meant: one of the first level, or of a group, such as `add` for `repo add`.
fn meant_command(personality: Personality, word: &str, plugins: &[String]) -> Option<String> {
    let program = personality.program();
    let commands: Vec<&'static Command> = ROOT.shown_subcommands(personality).collect();
    let plugins = plugins.iter().map(String::as_str);
    let known: Vec<&str> = commands.iter().map(|command| command.name).chain(plugins).collect();
    let found = meant(NameOf::Command, word, &known);
    let first = found.first()?;
    // A word such as `login` is a command of the group that was found.
    let group = commands.iter().find(|command| command.name == *first);
    let below = group.and_then(|group| group.subcommands.iter().find(|command| command.is_called(word)));
    Some(match below {
        Some(below) => format!("did you mean `{program} {first} {}`?", below.name),
        None => format!("did you mean `{program} {first}`?"),
    })
}

/// Finds the command that `help` is asked for. Only names count, and extra arguments are ignored, except at the top
/// level, as in cobra.
pub(crate) fn find_topic(personality: Personality, names: &[String]) -> Option<CommandPath> {
    find(personality, names).ok().map(|(command_path, _)| command_path)
}

/// Visits every command with its path, parents first.
pub(crate) fn walk(command_path: &CommandPath, visit: &mut dyn FnMut(&CommandPath)) {
    visit(command_path);
    for command in command_path.command.subcommands {
        let command: &'static Command = command;
        walk(&CommandPath { command, path: format!("{} {}", command_path.path, command.name) }, visit);
    }
}
