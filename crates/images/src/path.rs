//! Where a value is: the way to it through maps and lists, from the values of the topmost chart.

use std::fmt;

use pintle_tree::{Map, Node, Str};

/// One step of a way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into the entry of a map.
    Key(Str),
    /// Into the item of a list.
    Index(usize),
}

/// The way to a value. Subcharts' values are below the name or alias of the subchart, as users give them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValuePath(Vec<Step>);

impl ValuePath {
    /// The way to the values as a whole.
    pub const fn root() -> Self {
        ValuePath(Vec::new())
    }

    /// The way to an entry of the map at this one.
    pub fn key(&self, key: impl Into<Str>) -> Self {
        self.then(Step::Key(key.into()))
    }

    /// The way to an item of the list at this one.
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        ValuePath(steps)
    }

    /// The steps from the top.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The way to the map or list that holds this value; none for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, before) = self.0.split_last()?;
        Some(ValuePath(before.to_vec()))
    }

    /// The key of the last step, if that is one.
    pub fn last_key(&self) -> Option<&Str> {
        match self.0.last() {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// Whether this is `other`, or below it.
    pub fn is_within(&self, other: &ValuePath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The way up to and including the outermost list, if there is one: what must be written whole to change the value.
    pub fn outermost_list(&self) -> Option<Self> {
        let index = self.0.iter().position(|step| matches!(step, Step::Index(_)))?;
        Some(ValuePath(self.0[..index].to_vec()))
    }

    /// The value there.
    pub fn find<'v>(&self, values: &'v Map<Node>) -> Option<&'v Node> {
        let (first, rest) = self.0.split_first()?;
        let Step::Key(key) = first else { return None };
        rest.iter().try_fold(values.get(key)?, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.as_list()?.get(*index),
        })
    }

    /// The text there, if it is one.
    pub fn text<'v>(&self, values: &'v Map<Node>) -> Option<&'v str> {
        self.find(values).and_then(Node::as_str)
    }
}

impl From<Vec<Step>> for ValuePath {
    fn from(steps: Vec<Step>) -> Self {
        ValuePath(steps)
    }
}

impl fmt::Display for ValuePath {
    /// In the words of `--set`: `a.b[0].c`, with dots of keys behind a backslash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(&key.to_str_lossy().replace('.', "\\."))?;
                }
            }
        }
        Ok(())
    }
}

/// Which values may be looked at and changed, by patterns of their ways in which `*` stands for anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFilter {
    /// At least one of these must fit, if there are any.
    pub include: Vec<String>,
    /// None of these may fit.
    pub exclude: Vec<String>,
}

impl PathFilter {
    /// Whether the value at `path` takes part. A pattern fits a value and all that is below it.
    pub fn allows(&self, path: &ValuePath) -> bool {
        if self.include.is_empty() && self.exclude.is_empty() {
            return true;
        }
        let text = path.to_string();
        let fits = |pattern: &String| {
            fits(pattern.as_bytes(), text.as_bytes())
                || fits(format!("{pattern}.*").as_bytes(), text.as_bytes())
        };
        (self.include.is_empty() || self.include.iter().any(fits)) && !self.exclude.iter().any(fits)
    }
}

/// Whether the text fits the pattern, in time that grows with the product of both.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut retry = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some(b'*') => {
                retry = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(byte) if *byte == text[at_text] => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                at_pattern = star + 1;
                at_text = from + 1;
            }
        }
    }
    pattern[at_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_written_as_set_reads_them() {
        let path = ValuePath::root().key("a").key("b.c").index(0).key("image");
        assert_eq!(path.to_string(), "a.b\\.c[0].image");
        assert_eq!(path.outermost_list().unwrap().to_string(), "a.b\\.c");
        assert_eq!(path.last_key().unwrap(), "image");
    }

    #[test]
    fn values_are_found_by_their_way() {
        let values = pintle_yaml::read_map(b"a: {b: [{c: x}]}").unwrap();
        assert_eq!(ValuePath::root().key("a").key("b").index(0).key("c").text(&values), Some("x"));
        assert_eq!(ValuePath::root().key("a").key("z").text(&values), None);
    }

    #[test]
    fn patterns_choose_values() {
        let filter = PathFilter { include: vec!["web*".into()], exclude: vec!["*.sidecar".into()] };
        let path = |keys: &[&str]| keys.iter().fold(ValuePath::root(), |path, key| path.key(*key));
        assert!(filter.allows(&path(&["web", "image"])));
        assert!(!filter.allows(&path(&["web", "sidecar", "image"])));
        assert!(!filter.allows(&path(&["db", "image"])));
        assert!(PathFilter::default().allows(&path(&["db"])));
    }
}
