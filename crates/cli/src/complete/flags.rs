//! Names and values of flags for the shell.

use pintle::embedded::ApiCatalog;

use super::{Answer, Directive, live};
use crate::command::CommandPath;
use crate::flag::groups::GLOBAL;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, HELP};
use crate::help::usage_of;
use crate::invocation::Invocation;

/// Finds the flag whose value is being typed, if any, and the words without it.
///
/// # Errors
///
/// The command does not have the flag.
pub(super) fn wanted(
    place: &CommandPath,
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
    let mut known = place.command.all_flags();
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
            Err(format!("Subcommand '{}' does not support flag '{name}'", place.command.name))
        }
        // The parser says it better.
        None => Ok((None, rest)),
    }
}

/// What may be the value of a flag.
pub(super) fn values(flag: &Flag, invocation: &mut Invocation<'_>) -> Answer {
    match flag.completion {
        FlagCompletion::Files => Answer::nothing(Directive::Default),
        FlagCompletion::Nothing => Answer::nothing(Directive::NoFiles),
        FlagCompletion::Words(words) => {
            let choices = words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
            Answer::new(Directive::NoFiles, choices)
        }
        FlagCompletion::Described(words) => {
            let choices = words.iter().map(|(word, about)| ((*word).to_owned(), (*about).to_owned()));
            Answer::new(Directive::NoFiles, choices.collect())
        }
        FlagCompletion::Contexts => {
            let file = invocation.flags.text("kubeconfig");
            Answer::new(Directive::NoFiles, crate::kubeconfig::contexts(file, invocation.environment))
        }
        FlagCompletion::KubeVersions => {
            let versions = ApiCatalog::versions().iter().map(|version| (version.to_string(), String::new()));
            Answer::new(Directive::NoFiles, versions.collect())
        }
        FlagCompletion::ChartVersions => super::charts::versions(invocation),
        FlagCompletion::Namespaces => live::namespaces(invocation),
        FlagCompletion::Revisions => match invocation.flags.operands.as_slice() {
            [release] => live::revisions(invocation, &release.clone()),
            _ => Answer::nothing(Directive::NoFiles),
        },
    }
}

/// The names of flags that begin as typed: those of all commands first, then the command's own.
pub(super) fn names(place: &CommandPath, parsed: &Parsed, unfinished: &str) -> Vec<(String, String)> {
    let is_root = !place.path.contains(' ');
    let mut own: Vec<&Flag> = place.command.own_flags().collect();
    own.push(&HELP);
    let mut global: Vec<&Flag> =
        GLOBAL.iter().filter(|flag| own.iter().all(|other| other.name != flag.name)).collect();
    if is_root {
        own.append(&mut global);
    }
    own.sort_by_key(|flag| flag.name);
    global.sort_by_key(|flag| flag.name);
    let mut choices = Vec::new();
    for flag in global.into_iter().chain(own) {
        let again = !parsed.given(flag.name) || flag.kind.repeats();
        if flag.hidden || !again || excluded(place, parsed, flag) {
            continue;
        }
        let long = format!("--{}", flag.name);
        if long.starts_with(unfinished) {
            choices.push((long, usage_of(flag, place)));
        }
        if let Some(letter) = flag.short.filter(|letter| format!("-{letter}").starts_with(unfinished)) {
            choices.push((format!("-{letter}"), usage_of(flag, place)));
        }
    }
    choices
}

/// Whether a flag that was given excludes this one.
fn excluded(place: &CommandPath, parsed: &Parsed, flag: &Flag) -> bool {
    place.command.exclusive.iter().any(|group| {
        group.contains(&flag.name) && group.iter().any(|other| *other != flag.name && parsed.given(other))
    })
}
