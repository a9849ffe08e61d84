//! `regex`: Go's regular expressions, as in templates.

use mlua::Value;
use pintle_regex::{Error, Regex, quote_meta};
use pintle_tree::{Node, Str};

use crate::call::{Answer, Body, Call, CallError};

/// The functions of `regex`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[
    ("match", is_match),
    ("find", find),
    ("find_all", find_all),
    ("captures", captures),
    ("replace", replace),
    ("split", split),
    ("quote", quote),
];

/// The steps charged for compiling a pattern, in proportion to its cost.
const COMPILE_STEPS: u64 = 10_000;

fn is_match(call: &Call<'_>) -> Answer {
    let (regex, text) = once(call)?;
    Ok(Value::Boolean(regex.is_match(&text)))
}

fn find(call: &Call<'_>) -> Answer {
    let (regex, text) = once(call)?;
    match regex.find(&text) {
        Some(range) => call.return_text(&text[range]),
        None => Ok(Value::Nil),
    }
}

fn find_all(call: &Call<'_>) -> Answer {
    let (regex, text) = repeatedly(call)?;
    let found = regex.find_all(&text, limit(call, 2)?);
    check_count(call, found.len())?;
    let found = found.into_iter().map(|range| Node::Str(Str::new(&text[range])));
    call.answer(&Node::List(found.collect()))
}

/// The match and its groups; a group that did not participate is an empty string.
fn captures(call: &Call<'_>) -> Answer {
    let (regex, text) = once(call)?;
    let Some(groups) = regex.captures(&text) else { return Ok(Value::Nil) };
    let group = |range: Option<std::ops::Range<usize>>| {
        Node::Str(Str::new(range.map_or(&b""[..], |range| &text[range])))
    };
    call.answer(&Node::List(groups.into_iter().map(group).collect()))
}

fn replace(call: &Call<'_>) -> Answer {
    let (regex, text) = repeatedly(call)?;
    let replacement = call.bytes(2)?;
    // The result can be this long, if the pattern matches everywhere.
    call.charge((text.len() as u64).saturating_mul(replacement.len() as u64) / 64)?;
    call.return_text(regex.replace_all(&text, &replacement))
}

fn split(call: &Call<'_>) -> Answer {
    let (regex, text) = repeatedly(call)?;
    let parts = regex.split(&text, limit(call, 2)?);
    check_count(call, parts.len())?;
    call.answer(&Node::List(parts.into_iter().map(|part| Node::Str(Str::new(part))).collect()))
}

fn quote(call: &Call<'_>) -> Answer {
    call.return_text(quote_meta(&call.bytes(0)?))
}

/// The pattern and the text, charged for one search.
fn once(call: &Call<'_>) -> Result<(Regex, Vec<u8>), CallError> {
    let (pattern, text) = (call.bytes(0)?, call.bytes(1)?);
    call.charge(COMPILE_STEPS + pattern.len() as u64 * 16)?;
    let regex = Regex::compile(&pattern);
    // A pattern that does not compile is charged too, or a loop could try many for free.
    call.charge(regex.as_ref().map_or_else(Error::compile_cost, Regex::compile_cost))?;
    let regex = regex.or_else(|error| call.fail(error))?;
    call.charge(regex.cost(text.len() as u64))?;
    Ok((regex, text))
}

/// The pattern and the text, charged for finding all matches.
fn repeatedly(call: &Call<'_>) -> Result<(Regex, Vec<u8>), CallError> {
    let (regex, text) = once(call)?;
    // Saturate: more than all available steps need not be exact.
    let enough = call.host.meter.steps_left().saturating_mul(2) / regex.cost(2).max(1) + 4;
    call.charge(regex.cost(regex.work(&text, enough)))?;
    Ok((regex, text))
}

/// The requested number of matches: all by default, but bounded by what a script may hold.
fn limit(call: &Call<'_>, index: usize) -> Result<isize, CallError> {
    let most = isize::try_from(call.host.limits.nodes).unwrap_or(isize::MAX).saturating_add(1);
    let wanted = call.whole_or_none(index)?.and_then(|limit| isize::try_from(limit).ok());
    Ok(wanted.filter(|limit| *limit >= 0).map_or(most, |limit| limit.min(most)))
}

fn check_count(call: &Call<'_>, count: usize) -> Result<(), CallError> {
    let most = call.host.limits.nodes;
    if count > most { call.fail(format!("there are more than {most} matches")) } else { Ok(()) }
}
