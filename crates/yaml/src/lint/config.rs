//! The configuration of rules, as in yamllint's files.

use pintle_tree::{Map, Node};

use super::Level;

/// The rules that are enabled, with their options.
#[derive(Clone, Debug, Default)]
pub struct Config {
    rules: Map<Node>,
}

/// yamllint's own configuration, which others can extend.
const DEFAULT: &str = "\
{braces: enable, brackets: enable, colons: enable, commas: enable, comments: {level: warning}, \
document-start: {level: warning}, empty-lines: enable, hyphens: enable, indentation: enable, key-duplicates: enable, \
line-length: enable, new-line-at-end-of-file: enable, new-lines: enable, trailing-spaces: enable, truthy: {level: warning}}";

/// What `extends: relaxed` changes.
const RELAXED: &str = "\
{braces: {level: warning, max-spaces-inside: 1}, brackets: {level: warning, max-spaces-inside: 1}, \
colons: {level: warning}, commas: {level: warning}, comments: disable, document-start: disable, \
empty-lines: {level: warning}, hyphens: {level: warning}, \
indentation: {level: warning, indent-sequences: consistent}, line-length: {level: warning}, truthy: disable}";

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// When the text is not a configuration.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let map = crate::read_map(text).map_err(|error| error.to_string())?;
        let mut config = Config::default();
        let extends = map.get("extends").and_then(Node::as_str);
        for base in match extends {
            None => &[][..],
            Some("default") => &[DEFAULT],
            Some("relaxed") => &[DEFAULT, RELAXED],
            Some(other) => {
                return Err(format!("extends: `{other}` is not supported, only `default` and `relaxed` are"));
            }
        } {
            let rules = crate::read_map(base.as_bytes()).map_err(|error| error.to_string())?;
            config.add(&rules)?;
        }
        match map.get("rules") {
            Some(Node::Map(rules)) => config.add(rules)?,
            Some(Node::Nil) | None => {}
            Some(_) => return Err("rules: must be a map".to_owned()),
        }
        Ok(config)
    }

    fn add(&mut self, rules: &Map<Node>) -> Result<(), String> {
        for (name, options) in rules.iter() {
            let options = match options {
                Node::Map(options) => options.clone(),
                Node::Str(word) if *word == "enable" => Map::new(),
                Node::Bool(true) => Map::new(),
                Node::Bool(false) => {
                    self.rules.remove(name);
                    continue;
                }
                Node::Str(word) if *word == "disable" => {
                    self.rules.remove(name);
                    continue;
                }
                _ => return Err(format!("rules: {name}: must be `enable`, `disable` or a map of options")),
            };
            self.rules.insert(name.clone(), Node::Map(options));
        }
        Ok(())
    }

    pub(super) fn rule(&self, name: &'static str) -> Option<Rule<'_>> {
        let options = self.rules.get(name)?.as_map()?;
        let level = match options.get("level").and_then(Node::as_str) {
            Some("warning") => Level::Warning,
            _ => Level::Error,
        };
        Some(Rule { name, level, options })
    }
}

/// A rule that is enabled.
#[derive(Clone, Debug)]
pub(super) struct Rule<'a> {
    pub(super) name: &'static str,
    pub(super) level: Level,
    options: &'a Map<Node>,
}

impl Rule<'_> {
    /// A number; below zero, there is no limit.
    pub(super) fn number(&self, option: &str, fallback: i64) -> i64 {
        match self.options.get(option) {
            Some(Node::Int(number)) => *number,
            Some(Node::Float(number)) => *number as i64,
            _ => fallback,
        }
    }

    pub(super) fn switch(&self, option: &str, fallback: bool) -> bool {
        self.options.get(option).and_then(Node::as_bool).unwrap_or(fallback)
    }

    pub(super) fn word(&self, option: &str) -> Option<&str> {
        self.options.get(option)?.as_str()
    }

    pub(super) fn list(&self, option: &str) -> Option<Vec<String>> {
        let text = |item: &Node| match item {
            Node::Bool(switch) => switch.to_string(),
            item => item.as_str().unwrap_or_default().to_owned(),
        };
        Some(self.options.get(option)?.as_list()?.iter().map(text).collect())
    }
}
