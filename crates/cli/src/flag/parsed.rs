//! The parsed command line: the flags that were set, the operands, and defaults for the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use super::value::{Value, read, read_duration};
use super::{Fallback, Flag};
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
    pub(crate) fn set_from_environment(&mut self, name: &str, text: &str) {
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
    pub(crate) fn given(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|(flag, _)| flag.name == name).map(|(_, value)| value)
    }

    /// Whether the command has the flag.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.declared.iter().any(|flag| flag.name == name)
    }

    fn declared(&self, name: &str) -> &'static Flag {
        self.declared
            .iter()
            .find(|flag| flag.name == name)
            .expect("a command reads only flags of its own tables")
    }

    /// Whether a boolean flag is on.
    pub(crate) fn on(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(on)) => *on,
            _ => matches!(self.declared(name).fallback, Fallback::Text("true")),
        }
    }

    /// The value of a boolean flag; `None` if it was not set.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(on)) => Some(*on),
            _ => None,
        }
    }

    /// The value of a string flag, or its default.
    pub(crate) fn text(&self, name: &str) -> &str {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text,
            (_, Fallback::Text(text)) => text,
            (_, Fallback::Setting(_)) => "",
        }
    }

    /// The value of a string flag whose default comes from the environment.
    pub(crate) fn text_or_setting(&self, name: &str, environment: &Environment) -> String {
        match (self.value(name), self.declared(name).fallback) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, Fallback::Text(text)) => text.to_owned(),
            (_, Fallback::Setting(setting)) => environment.setting(setting),
        }
    }

    /// The value of whichever of several equivalent flags was set last.
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

    /// The number that was set for a flag.
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

    /// A duration, or its default; a negative one counts as zero.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use crate::command::CommandPath;
    use crate::command::find::walk;
    use crate::commands::ROOT;

    /// The functions of [`super::Parsed`] that take the name of a flag.
    const READERS: [&str; 11] = [
        ".on(",
        ".given(",
        ".text(",
        ".list(",
        ".uint(",
        ".int(",
        ".duration(",
        ".pairs(",
        ".switch(",
        ".number(",
        ".text_or_setting(",
    ];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => sources(&path, found),
                false => found.push(path),
            }
        }
    }

    /// Reading a flag that no table declares would panic at run time; here it fails for every command at once.
    #[test]
    fn every_flag_that_is_read_is_in_a_table() {
        let mut declared = BTreeSet::from(["help"]);
        let root = CommandPath { command: &ROOT, path: "pintle".to_owned() };
        walk(&root, &mut |path| declared.extend(path.command.all_flags().iter().map(|flag| flag.name)));
        let (mut files, mut read) = (Vec::new(), 0);
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("source");
            for reader in READERS {
                for rest in text.split(&format!("flags{reader}\"")).skip(1) {
                    let name = rest.split('"').next().unwrap_or_default();
                    assert!(declared.contains(name), "{}: no table has the flag `{name}`", file.display());
                    read += 1;
                }
            }
        }
        assert!(read > 200, "only {read} reads were found");
    }
}
