//! What was typed: the flags that were given, the operands, and defaults for everything else.

use std::collections::BTreeMap;
use std::time::Duration;

use super::value::{Value, read_duration};
use super::{Fallback, Flag};
use crate::env::Environment;

/// The flags and operands of one command line.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// What is not a flag, in order.
    pub(crate) operands: Vec<String>,
    /// Deprecated flags and what to use instead, in the order in which they were given.
    pub(crate) deprecated: Vec<(&'static str, &'static str)>,
    given: Vec<(&'static Flag, Value)>,
    declared: Vec<&'static Flag>,
}

impl Parsed {
    /// Starts with nothing given.
    pub(crate) fn new(declared: Vec<&'static Flag>) -> Parsed {
        Parsed { operands: Vec::new(), deprecated: Vec::new(), given: Vec::new(), declared }
    }

    /// Takes out the value that `flag` has so far.
    pub(super) fn take(&mut self, flag: &'static Flag) -> Option<Value> {
        let at = self.given.iter().position(|(other, _)| other.name == flag.name)?;
        Some(self.given.remove(at).1)
    }

    /// Sets the value of `flag`.
    pub(super) fn set(&mut self, flag: &'static Flag, value: Value) {
        self.given.push((flag, value));
    }

    /// The flags that were given, the last given last.
    pub(crate) fn given_flags(&self) -> impl Iterator<Item = &'static Flag> {
        self.given.iter().map(|(flag, _)| *flag)
    }

    /// Whether the flag was given, with whatever value.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|(flag, _)| flag.name == name).map(|(_, value)| value)
    }

    /// Whether the command has such a flag.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.declared.iter().any(|flag| flag.name == name)
    }

    fn declared(&self, name: &str) -> &'static Flag {
        self.declared
            .iter()
            .find(|flag| flag.name == name)
            .expect("a command reads only flags of its own tables")
    }

    /// Whether a switch is on.
    pub(crate) fn on(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(on)) => *on,
            _ => matches!(self.declared(name).fallback, Fallback::Text("true")),
        }
    }

    /// Whether a switch is on that is off or decided elsewhere when not given.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(on)) => Some(*on),
            _ => None,
        }
    }

    /// The text of a flag, or its default.
    pub(crate) fn text(&self, name: &str) -> &str {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text,
            (_, Fallback::Text(text)) => text,
            (_, Fallback::Setting(_)) => "",
        }
    }

    /// The text of a flag whose default the environment decides.
    pub(crate) fn text_or_setting(&self, name: &str, environment: &Environment) -> String {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, Fallback::Text(text)) => text.to_owned(),
            (_, Fallback::Setting(setting)) => environment.setting(setting),
        }
    }

    /// The last given of several flags that mean the same, or none.
    pub(crate) fn last_text(&self, names: &[&str]) -> Option<&str> {
        self.given.iter().rev().find(|(flag, _)| names.contains(&flag.name)).and_then(
            |(_, value)| match value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            },
        )
    }

    /// The values of a list flag.
    pub(crate) fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The number given for a flag.
    pub(crate) fn number(&self, name: &str) -> Option<&Value> {
        self.value(name)
    }

    /// An unsigned number, or its default.
    pub(crate) fn uint(&self, name: &str) -> u64 {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Uint(number)), _) => *number,
            (_, Fallback::Text(text)) => text.parse().unwrap_or(0),
            _ => 0,
        }
    }

    /// A signed number, or its default, which the environment may decide.
    pub(crate) fn int(&self, name: &str, environment: &Environment) -> i64 {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Int(number)), _) => *number,
            (_, Fallback::Text(text)) => text.parse().unwrap_or(0),
            (_, Fallback::Setting(setting)) => environment.setting(setting).parse().unwrap_or(0),
        }
    }

    /// A duration, or its default; one that is over before it begins is none.
    pub(crate) fn duration(&self, name: &str) -> Duration {
        let nanoseconds = match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Duration(nanoseconds)), _) => *nanoseconds,
            (_, Fallback::Text(text)) => read_duration(text).unwrap_or(0),
            _ => 0,
        };
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
    }

    /// The pairs of a flag.
    pub(crate) fn pairs(&self, name: &str) -> BTreeMap<String, String> {
        match self.value(name) {
            Some(Value::Pairs(pairs)) => pairs.clone(),
            _ => BTreeMap::new(),
        }
    }
}
