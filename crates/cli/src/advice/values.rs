//! Values that cannot be read or that a schema refuses.

use pintle::values;
use pintle_tree::Node;

use super::excerpt::{excerpt, excerpt_of_line};
use super::names::near_file;
use super::subject::{Subject, value_path};
use super::template::{Lookup, look_up};
use super::yaml::diagnose;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::read;
use crate::suggest::{NameOf, likeliest};

/// How long a value of `--set-json` may be to be shown, in bytes.
const MAX_SHOWN: usize = 500;

/// Improves a failure about values.
pub(super) fn improve(failure: &mut Failure, invocation: &Invocation<'_>, error: &values::Error) {
    match error {
        values::Error::BadFile { name, reason } => bad_file(failure, name, reason),
        values::Error::Unreadable(text) => unreadable(failure, text),
        values::Error::BadFlag { flag, reason } => bad_flag(failure, invocation, flag, reason),
        values::Error::Schema(text) => schema(failure, &Subject::of(invocation), text),
        // What is longer is rarely typed by hand, and may be JSON that nests too deeply.
        values::Error::BadJson(text) | values::Error::BadJsonObject(text) if text.len() <= MAX_SHOWN => {
            failure.own = Some(format!("the value of `--set-json {text}` is not JSON"));
            failure.hint = Some("write texts in double quotes: `--set-json 'a.b=\"text\"'`".to_owned());
        }
        _ => {}
    }
}

/// A values file that is not YAML, or not a map.
fn bad_file(failure: &mut Failure, name: &str, reason: &str) {
    let Ok(text) = read::file(name, read::MAX_STREAM) else { return };
    let text = String::from_utf8_lossy(&text);
    if let Some(found) = reason.split("cannot unmarshal ").nth(2).and_then(|rest| rest.split(' ').next()) {
        failure.own = Some(format!("`{name}` is {}, and values are a map", article(found)));
        failure.excerpt = text
            .lines()
            .position(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .map(|at| excerpt_of_line(name, at + 1, &text));
        failure.hint = Some("begin each line at the left with `key:`".to_owned());
        return;
    }
    let found = diagnose(&text, reason);
    failure.own = Some(format!("`{name}` is not valid YAML: {}", found.problem));
    let line = text.lines().nth(found.line - 1).unwrap_or_default();
    failure.excerpt = Some(excerpt(name, found.line, found.column, line));
    failure.hint = Some(match line.contains("{{") {
        true => format!(
            "{}; values files are no templates, unless the chart evaluates them with `tpl`",
            found.hint
        ),
        false => found.hint,
    });
}

fn article(kind: &str) -> String {
    match kind {
        "array" => "a list".to_owned(),
        "string" => "a text".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// A file that does not exist: the nearest name in its folder.
fn unreadable(failure: &mut Failure, text: &str) {
    let Some((action, reason)) = text.split_once(": ") else { return };
    let Some((_, path)) = action.split_once(' ') else { return };
    failure.own = Some(format!("the values file `{path}` cannot be read: {reason}"));
    let near = crate::advice::names::near_file(path);
    failure.hint = near.map(|name| format!("did you mean `{name}`?"));
}

/// An assignment that does not parse.
fn bad_flag(failure: &mut Failure, invocation: &Invocation<'_>, flag: &str, reason: &str) {
    let texts = match flag {
        "set" => invocation.flags.list(crate::flag::names::SET),
        "set-string" => invocation.flags.list(crate::flag::names::SET_STRING),
        "set-file" => invocation.flags.list(crate::flag::names::SET_FILE),
        _ => &[],
    };
    if let Some(found) = reason.split_once("error parsing index: ").map(|(_, found)| found) {
        let index = found.split('"').nth(1).unwrap_or_default();
        // Numbers that are too large or negative are told in the text.
        let is_name = index.len() <= MAX_SHOWN && index.chars().any(char::is_alphabetic);
        let text = texts.iter().find(|text| is_name && text.contains(&format!("[{index}]")));
        let Some(text) = text.filter(|text| text.len() <= MAX_SHOWN) else { return };
        failure.own = Some(format!("`--{flag} {text}`: `{index}` is not the number of an item of a list"));
        failure.hint = Some(format!(
            "items are counted from 0: `{}`; keys of maps are written with a dot",
            text.replacen(&format!("[{index}]"), "[0]", 1)
        ));
        return;
    }
    if let Some((path, why)) = reason.strip_prefix("open ").and_then(|rest| rest.split_once(": ")) {
        failure.own = Some(format!("the file `{path}` of `--{flag}` cannot be read: {why}"));
        failure.hint = near_file(path).map(|near| format!("did you mean `{near}`?"));
        return;
    }
    let Some(key) = reason.strip_prefix("key \"").and_then(|rest| rest.strip_suffix("\" has no value"))
    else {
        return;
    };
    let text = texts
        .iter()
        .find(|text| text.split(',').any(|part| part == key || part.ends_with(&format!(".{key}"))));
    let Some(text) = text else { return };
    failure.own = Some(format!("`--{flag} {text}`: `{key}` has no value"));
    failure.hint = Some(match text.split_once(',') {
        Some((first, rest)) if !rest.contains('=') => format!(
            "commas separate assignments; if the comma is part of the value, write `--{flag} '{first}\\,{rest}'`"
        ),
        _ => format!(
            "write `--{flag} {text}=VALUE`; `{text}=` sets an empty text, `{text}=null` removes the value"
        ),
    });
}

/// Whether the sources set a value of another kind than the one that the schema saw: a script has changed it since.
fn is_of_another_kind(subject: &Subject, keys: &[String], problem: &str) -> bool {
    let Some(got) = problem.strip_prefix("got ").and_then(|rest| rest.split(',').next()) else {
        return false;
    };
    let Some(values) = subject.values() else { return false };
    let Lookup::Found(node) = look_up(values, keys) else { return false };
    let kind = match node {
        Node::Nil => "null",
        Node::Bool(_) => "boolean",
        Node::Int(_) | Node::Float(_) => "number",
        Node::Str(_) => "string",
        Node::List(_) => "array",
        Node::Map(_) => "object",
    };
    kind != got
}

/// Values that a schema refuses: which source sets them.
fn schema(failure: &mut Failure, subject: &Subject, text: &str) {
    let mut shown = Vec::new();
    let mut places = Vec::new();
    let mut prefix: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some((pointer, problem)) = line.strip_prefix("- at '").and_then(|rest| rest.split_once("': "))
        else {
            let name = line.strip_suffix(':');
            match name {
                Some(name) if !line.starts_with([' ', '-']) => {
                    let root = subject.chart().is_none_or(|chart| chart.name() == name);
                    prefix = if root { Vec::new() } else { vec![name.to_owned()] };
                }
                _ => shown.extend((!line.trim().is_empty()).then(|| line.trim().to_owned())),
            }
            continue;
        };
        let keys: Vec<String> = prefix
            .iter()
            .cloned()
            .chain(pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")))
            .filter(|key| !key.is_empty())
            .collect();
        let path = if keys.is_empty() { "the values".to_owned() } else { format!("`{}`", keys.join(".")) };
        let set_by = match is_of_another_kind(subject, &keys, problem) {
            true => "\n    set by a script of the chart".to_owned(),
            false => {
                let source = subject.set_by(&value_path(&keys)).filter(|_| !keys.is_empty());
                places.extend(source.clone());
                source.map(|source| format!("\n    set by {source}")).unwrap_or_default()
            }
        };
        shown.push(format!("{path}: {problem}{set_by}{}", unknown_key(subject, &keys, problem)));
    }
    if shown.iter().any(|line| line == "unexpected EOF") {
        failure.own =
            Some("`values.schema.json` of the chart is not valid JSON: it ends too early".to_owned());
        failure.hint = Some("close its brackets; `pintle schema check CHART` checks the schema".to_owned());
        return;
    }
    if shown.is_empty() {
        return;
    }
    failure.own = Some("the values do not fit the chart's `values.schema.json`".to_owned());
    let more = shown.len().saturating_sub(12);
    shown.truncate(12);
    let mut lines: Vec<String> = shown.into_iter().map(|line| format!("  {line}")).collect();
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    if let Some(place) = subject_line(places.first()) {
        lines.push(place);
    }
    failure.excerpt = Some(lines.join("\n"));
    failure.hint = Some(match places.is_empty() {
        true => "set them with -f or `--set`; `--skip-schema-validation` does not check".to_owned(),
        false => "change them there; `--skip-schema-validation` does not check".to_owned(),
    });
}

/// The excerpt of a source such as `values.yaml:3, given with -f`.
fn subject_line(place: Option<&String>) -> Option<String> {
    let place = place?.split(", ").next()?;
    let (file, line) = place.rsplit_once(':')?;
    let text = read::file(file, read::MAX_STREAM).ok()?;
    Some(excerpt_of_line(file, line.parse().ok()?, &String::from_utf8_lossy(&text)))
}

/// The key that the schema knows instead of one that it does not allow.
fn unknown_key(subject: &Subject, keys: &[String], problem: &str) -> String {
    let Some(rest) = problem.strip_prefix("additional properties ") else { return String::new() };
    let Some(written) = rest.split('\'').nth(1) else { return String::new() };
    let Some(values) = subject.chart().map(|chart| &chart.values) else { return String::new() };
    let map = match keys {
        [] => Some(values),
        keys => match value_path(keys).find(values) {
            Some(pintle::tree::Node::Map(map)) => Some(map),
            _ => None,
        },
    };
    let known: Vec<String> = map.into_iter().flat_map(|map| map.keys().map(ToString::to_string)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).filter(|key| *key != written).collect();
    let near = likeliest(NameOf::Other, written, &known);
    near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
