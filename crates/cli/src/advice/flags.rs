//! Flags that do not exist, and values that flags do not take.

use crate::command::CommandPath;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, Kind};
use crate::suggest::{NameOf, likeliest};

/// The failure of a command line that does not parse, with pflag's text.
pub(crate) fn refused(text: String, command_path: &CommandPath) -> Failure {
    let flags = command_path.command.all_flags();
    let (own, hint) = advice(&text, &flags, command_path).unwrap_or_default();
    let hint = hint.unwrap_or_else(|| format!("`{} --help` lists the flags", command_path.path));
    let failure = Failure::usage(text).hint(hint);
    match own {
        Some(own) => failure.with_pintle_text(own),
        None => failure,
    }
}

/// Our own text, and a hint.
type Advice = (Option<String>, Option<String>);

fn advice(text: &str, flags: &[&'static Flag], command_path: &CommandPath) -> Option<Advice> {
    if let Some(name) = text.strip_prefix("unknown flag: --") {
        return Some((None, unknown(name, flags, command_path)));
    }
    if let Some(rest) = text.strip_prefix("unknown shorthand flag: ") {
        return Some((None, unknown_letter(rest, flags)));
    }
    if let Some(rest) = text.strip_prefix("invalid argument ") {
        let (value, rest) = rest.split_once(" for ")?;
        let (name, reason) = rest.split_once(" flag: ")?;
        let name = name.trim_matches('"').rsplit("--").next()?;
        let flag = flags.iter().find(|flag| flag.name == name)?;
        return Some(invalid(value.trim_matches('"'), flag, reason));
    }
    let name = text.strip_prefix("flag needs an argument: ")?;
    let flag = name.strip_prefix("--").and_then(|name| flags.iter().find(|flag| flag.name == name))?;
    Some((None, Some(format!("write `--{} VALUE`: {}", flag.name, flag.usage))))
}

fn unknown(name: &str, flags: &[&'static Flag], command_path: &CommandPath) -> Option<String> {
    let shown: Vec<&'static str> = flags.iter().filter(|flag| !flag.hidden).map(|flag| flag.name).collect();
    let path = &command_path.path;
    // Of Helm 2.
    match name {
        "name" if shown.contains(&"set") => {
            return Some(format!("the name is given before the chart: `{path} NAME CHART`"));
        }
        "purge" => {
            return Some("leave it out: nothing of the release is kept without --keep-history".to_owned());
        }
        _ => {}
    }
    if let Some(near) = likeliest(NameOf::Flag, name, &shown) {
        // A value of the chart is often taken for a flag.
        let is_sure = pintle_tree::suggest::distance(name, near) <= 2;
        let value = match shown.contains(&"set") && !is_sure {
            true => format!(" Values of the chart are set by `--set {name}=VALUE`."),
            false => String::new(),
        };
        return Some(format!("did you mean `--{near}`?{value} `{path} --help` lists all flags"));
    }
    let is_set_of_values = shown.contains(&"set");
    is_set_of_values.then(|| {
        format!("values of the chart are set by `--set {name}=VALUE`; `{path} --help` lists the flags")
    })
}

fn unknown_letter(rest: &str, flags: &[&'static Flag]) -> Option<String> {
    // `'n' in -ns`: a long flag with one dash.
    let word = rest.rsplit(" in -").next().filter(|word| word.len() > 1)?;
    let whole = flags.iter().find(|flag| !flag.hidden && flag.name == word)?;
    Some(format!("did you mean `--{}`, with two dashes?", whole.name))
}

/// A long flag that was given with one dash, which reads as letters of short ones.
pub(crate) fn with_one_dash(command_path: &CommandPath) -> Option<&'static str> {
    let flags = command_path.command.all_flags();
    let name = |word: &str| {
        let word = word.strip_prefix('-').filter(|word| !word.starts_with('-'))?;
        let word = word.split('=').next()?;
        flags.iter().find(|flag| word.len() > 1 && flag.name == word).map(|flag| flag.name)
    };
    std::env::args().skip(1).find_map(|word| name(&word))
}

/// A value that the flag does not take.
fn invalid(value: &str, flag: &Flag, reason: &str) -> Advice {
    let own = |wanted: &str| Some(format!("`--{} {value}`: {wanted}", flag.name));
    let words: Option<&[&str]> = match (flag.kind, flag.completion) {
        (Kind::Format, _) => Some(&["table", "json", "yaml"]),
        (Kind::WaitStrategy, _) => Some(&["watcher", "hookOnly", "legacy"]),
        (_, FlagCompletion::Words(words)) => Some(words),
        _ => None,
    };
    if let Some(words) = words {
        let near = likeliest(NameOf::Other, value, words).map(|near| format!("did you mean `{near}`? "));
        let hint = format!("{}it may be {}", near.unwrap_or_default(), words.join(", "));
        return (own("no such word"), Some(hint));
    }
    match flag.kind {
        Kind::Duration => {
            let is_number = value.parse::<f64>().is_ok();
            let hint = match is_number {
                true => format!("give a unit: `{value}s`, `{value}m` or `{value}h`"),
                false => "write it as in `90s`, `5m` or `1h30m`".to_owned(),
            };
            (own("not a duration"), Some(hint))
        }
        Kind::Bool => (own("not true or false"), Some(format!("write `--{0}` or `--{0}=false`", flag.name))),
        Kind::Int | Kind::Uint | Kind::Float32 => {
            (own("not a number"), Some(format!("write digits only, as in `--{} 10`", flag.name)))
        }
        Kind::Pairs => {
            (own("not `key=value`"), Some(format!("write `--{} key=value,other=value`", flag.name)))
        }
        _ => (own(reason), None),
    }
}
