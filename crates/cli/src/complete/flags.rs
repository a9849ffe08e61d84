//! Completion of flags and their values.

use pintle::embedded::ApiCatalog;

use super::{Completions, Directive, chart_parts, live};
use crate::command::CommandPath;
use crate::flag::groups::GLOBAL;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, HELP, names};
use crate::help::flag_usage;
use crate::invocation::Invocation;
use crate::personality::Personality;

/// Finds the flag whose value is being typed, if any, and returns the arguments without it.
///
/// # Errors
///
/// The command does not have the flag.
pub(super) fn flag_being_typed(
    command_path: &CommandPath,
    mut rest: Vec<String>,
    unfinished: &str,
) -> Result<(Option<&'static Flag>, Vec<String>), String> {
    let (typed, attached) = match unfinished.strip_prefix('-').and_then(|text| text.split_once('=')) {
        Some((typed, _)) => (typed.to_owned(), true),
        None if unfinished.starts_with('-') => return Ok((None, rest)),
        None => match rest.last().and_then(|word| word.strip_prefix('-')) {
            Some(word) if !word.is_empty() && word != "-" && !word.contains('=') => (word.to_owned(), false),
            _ => return Ok((None, rest)),
        },
    };
    let mut known = command_path.command.all_flags();
    known.push(&HELP);
    let (name, flag) = match typed.strip_prefix('-') {
        Some(name) => (name, known.iter().copied().find(|flag| flag.name == name)),
        None => {
            let letter = typed.chars().next_back();
            (typed.as_str(), known.iter().copied().find(|flag| letter.is_some() && flag.short == letter))
        }
    };
    match flag {
        Some(flag) if attached => Ok((Some(flag), rest)),
        Some(flag) if flag.bare.is_some() => Ok((None, rest)),
        Some(flag) => {
            rest.pop();
            Ok((Some(flag), rest))
        }
        None if attached => {
            Err(format!("Subcommand '{}' does not support flag '{name}'", command_path.command.name))
        }
        // The parser reports a better error.
        None => Ok((None, rest)),
    }
}

/// The choices for the value of a flag.
pub(super) fn values(flag: &Flag, invocation: &mut Invocation<'_>) -> Completions {
    match flag.completion {
        FlagCompletion::Files => Completions::nothing(Directive::Default),
        FlagCompletion::Templates => chart_parts::templates(invocation),
        FlagCompletion::ValuePaths => chart_parts::value_paths(invocation),
        FlagCompletion::Nothing => Completions::nothing(Directive::NoFiles),
        FlagCompletion::Words(words) => {
            let choices = words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
            Completions::new(Directive::NoFiles, choices)
        }
        FlagCompletion::Described(words) => {
            let choices = words.iter().map(|(word, about)| ((*word).to_owned(), (*about).to_owned()));
            Completions::new(Directive::NoFiles, choices.collect())
        }
        FlagCompletion::Contexts => {
            let file = invocation.flags.text(names::KUBECONFIG);
            Completions::new(Directive::NoFiles, crate::kubeconfig::contexts(file, invocation.environment))
        }
        FlagCompletion::KubeVersions => {
            let versions = ApiCatalog::versions().iter().map(|version| (version.to_string(), String::new()));
            Completions::new(Directive::NoFiles, versions.collect())
        }
        FlagCompletion::ChartVersions => super::charts::versions(invocation),
        FlagCompletion::Namespaces => live::namespaces(invocation),
        FlagCompletion::Revisions => match invocation.flags.operands.as_slice() {
            [release] => live::revisions(invocation, &release.clone()),
            _ => Completions::nothing(Directive::NoFiles),
        },
    }
}

/// The flags that begin as typed: global ones first, then those of the command, in cobra's order.
pub(super) fn names(
    command_path: &CommandPath,
    parsed: &Parsed,
    personality: Personality,
    unfinished: &str,
) -> Vec<(String, String)> {
    let own = command_path.command.own_flags().chain([&HELP]).collect();
    offered(own, command_path, parsed, personality, unfinished)
}

/// As [`names()`], for the command of a plugin. cobra does not parse its flags, and so adds no `--help`.
pub(super) fn names_of_plugin(
    command_path: &CommandPath,
    parsed: &Parsed,
    personality: Personality,
    unfinished: &str,
) -> Vec<(String, String)> {
    let own = command_path.command.own_flags().collect();
    offered(own, command_path, parsed, personality, unfinished)
}

fn offered(
    mut own: Vec<&Flag>,
    command_path: &CommandPath,
    parsed: &Parsed,
    personality: Personality,
    unfinished: &str,
) -> Vec<(String, String)> {
    let is_root = !command_path.path.contains(' ');
    let mut global: Vec<&Flag> =
        GLOBAL.iter().filter(|flag| own.iter().all(|other| other.name != flag.name)).collect();
    // A global flag that Helm does not have.
    global.retain(|flag| personality == Personality::Pintle || flag.name != "cluster");
    if is_root {
        own.append(&mut global);
    }
    own.sort_by_key(|flag| flag.name);
    global.sort_by_key(|flag| flag.name);
    let mut choices = Vec::new();
    for flag in global.into_iter().chain(own) {
        let again = !parsed.is_given(flag.name) || flag.kind.repeats();
        if flag.hidden || !again || excluded(command_path, parsed, flag) {
            continue;
        }
        let long = format!("--{}", flag.name);
        if long.starts_with(unfinished) {
            choices.push((long, flag_usage(flag, command_path)));
        }
        if let Some(letter) = flag.short.filter(|letter| format!("-{letter}").starts_with(unfinished)) {
            choices.push((format!("-{letter}"), flag_usage(flag, command_path)));
        }
    }
    choices
}

/// Whether a flag on the command line excludes this one.
fn excluded(command_path: &CommandPath, parsed: &Parsed, flag: &Flag) -> bool {
    command_path.command.exclusive.iter().any(|group| {
        group.contains(&flag.name) && group.iter().any(|other| *other != flag.name && parsed.is_given(other))
    })
}
