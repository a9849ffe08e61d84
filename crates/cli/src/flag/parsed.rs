//! The parsed command line: the flags that were set, the operands, and defaults for the rest.

use std::time::Duration;

use super::value::{Value, read, read_duration};
use super::{Fallback, Flag, Kind, Name, Pairs};
use crate::env::Environment;

/// The flags and operands of one command line.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The positional arguments.
    pub(crate) operands: Vec<String>,
    /// Deprecated flags that were set, with their advice, in order.
    pub(crate) deprecated: Vec<(&'static str, &'static str)>,
    given: Vec<(&'static Flag, Value)>,
    declared: Vec<&'static Flag>,
}

impl Parsed {
    pub(crate) fn new(declared: Vec<&'static Flag>) -> Parsed {
        Parsed { operands: Vec::new(), deprecated: Vec::new(), given: Vec::new(), declared }
    }

    /// Removes and returns the value of `flag`.
    pub(super) fn take(&mut self, flag: &'static Flag) -> Option<Value> {
        let at = self.given.iter().position(|(other, _)| other.name == flag.name)?;
        Some(self.given.remove(at).1)
    }

    /// Sets the value of `flag`.
    pub(super) fn set(&mut self, flag: &'static Flag, value: Value) {
        self.given.push((flag, value));
    }

    /// Sets a flag from the environment; a value that does not parse is ignored.
    pub(crate) fn set_from_environment<T>(&mut self, name: Name<T>, text: &str) {
        let flag = self.declared(name);
        if let Ok(value) = read(flag, None, text) {
            self.set(flag, value);
        }
    }

    /// The flags that were set, in the order of their last use.
    pub(crate) fn given_flags(&self) -> impl Iterator<Item = &'static Flag> {
        self.given.iter().map(|(flag, _)| *flag)
    }

    /// Whether the flag was set, with any value.
    pub(crate) fn given<T>(&self, name: Name<T>) -> bool {
        self.value(name).is_some()
    }

    /// Whether the flag with this name was set: for lists of flags, whose types differ.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|(flag, _)| flag.name == name)
    }

    /// Whether the flag with this name was set to nothing: `--flag=` or an empty variable of the shell.
    pub(crate) fn is_empty(&self, name: &str) -> bool {
        let values = self.given.iter().filter(|(flag, _)| flag.name == name).map(|(_, value)| value);
        values.into_iter().all(|value| match value {
            Value::Text(text) => text.is_empty(),
            Value::List(list) => list.iter().all(String::is_empty),
            _ => false,
        })
    }

    fn value<T>(&self, name: Name<T>) -> Option<&Value> {
        self.given.iter().find(|(flag, _)| flag.name == name.as_str()).map(|(_, value)| value)
    }

    /// Whether the command has the flag.
    pub(crate) fn declares<T>(&self, name: Name<T>) -> bool {
        self.declared.iter().any(|flag| flag.name == name.as_str())
    }

    fn declared<T>(&self, name: Name<T>) -> &'static Flag {
        self.declared
            .iter()
            .find(|flag| flag.name == name.as_str())
            .expect("a command reads only flags of its own tables")
    }

    /// Whether a boolean flag is on, or has a word for its value.
    pub(crate) fn on(&self, name: Name<bool>) -> bool {
        match self.value(name) {
            Some(Value::Bool(on)) => *on,
            Some(Value::Text(_)) if self.declared(name).kind == Kind::Verification => true,
            _ => matches!(self.declared(name).fallback, Fallback::Text("true")),
        }
    }

    /// The value of a boolean flag; `None` if it was not set.
    pub(crate) fn switch(&self, name: Name<bool>) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(on)) => Some(*on),
            _ => None,
        }
    }

    /// The value of a string flag, or its default.
    pub(crate) fn text(&self, name: Name<String>) -> &str {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text,
            (_, Fallback::Text(text)) => text,
            (_, Fallback::Setting(_)) => "",
        }
    }

    /// The value of a string flag whose default comes from the environment.
    pub(crate) fn text_or_setting(&self, name: Name<String>, environment: &Environment) -> String {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, Fallback::Text(text)) => text.to_owned(),
            (_, Fallback::Setting(setting)) => environment.setting(setting),
        }
    }

    /// The value of whichever of several equivalent flags was set last.
    pub(crate) fn last_text(&self, names: &[Name<String>]) -> Option<&str> {
        self.given
            .iter()
            .rev()
            .find(|(flag, _)| names.iter().any(|name| name.as_str() == flag.name))
            .and_then(|(_, value)| match value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            })
    }

    /// The values of a list flag.
    pub(crate) fn list(&self, name: Name<Vec<String>>) -> &[String] {
        match self.value(name) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The number that was set for a flag.
    pub(crate) fn number<T>(&self, name: Name<T>) -> Option<&Value> {
        self.value(name)
    }

    /// An unsigned number, or its default.
    pub(crate) fn uint(&self, name: Name<u64>) -> u64 {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Uint(number)), _) => *number,
            (_, Fallback::Text(text)) => text.parse().unwrap_or(0),
            _ => 0,
        }
    }

    /// A signed number, or its default, which the environment may decide.
    pub(crate) fn int(&self, name: Name<i64>, environment: &Environment) -> i64 {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Int(number)), _) => *number,
            (_, Fallback::Text(text)) => text.parse().unwrap_or(0),
            (_, Fallback::Setting(setting)) => environment.setting(setting).parse().unwrap_or(0),
        }
    }

    /// A duration, or its default; a negative one counts as zero.
    pub(crate) fn duration(&self, name: Name<Duration>) -> Duration {
        Duration::from_nanos(u64::try_from(self.nanoseconds(name)).unwrap_or(0))
    }

    /// The nanoseconds of a duration, which may be negative.
    pub(crate) fn nanoseconds(&self, name: Name<Duration>) -> i64 {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Duration(nanoseconds)), _) => *nanoseconds,
            (_, Fallback::Text(text)) => read_duration(text).unwrap_or(0),
            _ => 0,
        }
    }

    /// The pairs of a flag.
    pub(crate) fn pairs(&self, name: Name<Pairs>) -> Pairs {
        match self.value(name) {
            Some(Value::Pairs(pairs)) => pairs.clone(),
            _ => Pairs::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::command::CommandPath;
    use crate::command::find::walk;
    use crate::commands::ROOT;

    /// The compiler checks that readers use `names`; this checks that `names` match the tables.
    #[test]
    fn every_name_is_in_a_table() {
        let (mut declared, mut exclusive) = (BTreeSet::from(["help"]), Vec::new());
        let root = CommandPath { command: &ROOT, path: "pintle".to_owned() };
        walk(&root, &mut |path| {
            declared.extend(path.command.all_flags().iter().map(|flag| flag.name));
            exclusive.extend(path.command.exclusive.iter().copied().flatten().copied());
        });
        let names = include_str!("names.rs").split("Name::new(\"").skip(1);
        let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 300, "only {} names were found", names.len());
        for name in names.into_iter().chain(exclusive) {
            assert!(declared.contains(name), "no table has the flag `{name}`");
        }
    }
}
