//! `semver`: versions and constraints as in charts.

use std::cmp::Ordering;

use mlua::Value;
use pintle_semver::{Constraint, Version};
use pintle_tree::{Map, Node};

use crate::call::{Answer, Body, Call, CallError};

/// The functions of `semver`.
pub(super) const FUNCTIONS: &[(&str, Body)] =
    &[("parse", parse), ("compare", compare), ("satisfies", satisfies)];

/// The maximum length of a constraint, in bytes.
const MAX_RANGE: usize = 1 << 10;

fn parse(call: &Call<'_>) -> Answer {
    let version = version(call, 0)?;
    let number = |number: u64| Node::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entries = [
        ("major", number(version.major)),
        ("minor", number(version.minor)),
        ("patch", number(version.patch)),
        ("prerelease", Node::from(version.pre.as_str())),
        ("metadata", Node::from(version.metadata.as_str())),
        ("original", Node::from(version.original())),
    ];
    call.answer(&Node::Map(entries.into_iter().map(|(key, node)| (key.into(), node)).collect::<Map<Node>>()))
}

fn compare(call: &Call<'_>) -> Answer {
    Ok(Value::Number(match version(call, 0)?.compare(&version(call, 1)?) {
        Ordering::Less => -1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0,
    }))
}

fn satisfies(call: &Call<'_>) -> Answer {
    let version = version(call, 0)?;
    let range = call.text(1)?;
    if range.len() > MAX_RANGE {
        return call.fail(format!("a range can have at most {MAX_RANGE} bytes"));
    }
    let range = Constraint::parse(&range).or_else(|error| call.fail(error))?;
    Ok(Value::Boolean(range.check(&version)))
}

fn version(call: &Call<'_>, index: usize) -> Result<Version, CallError> {
    let text = call.text(index)?;
    Version::parse(&text).or_else(|error| call.fail(format!("{text:?}: {error}")))
}
