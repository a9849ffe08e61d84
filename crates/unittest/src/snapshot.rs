//! The snapshots of one suite: what was stored, what was seen, and the file that is stored next.

use std::collections::BTreeMap;

use pintle_regex::Regex;
use pintle_tree::{Map, Node, Str};

use crate::SnapshotCounts;
use crate::document;
use crate::fail::yaml;

/// Texts by test and by the number of the comparison in the test.
type Snapshots = BTreeMap<String, BTreeMap<u64, String>>;

/// The stored and the current snapshots of a suite.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    cached: Snapshots,
    current: Snapshots,
    updating: bool,
    updated: usize,
    inserted: usize,
    compared: usize,
}

/// The result of a comparison.
pub(crate) struct Compared {
    pub(crate) passed: bool,
    pub(crate) index: u64,
    pub(crate) new: String,
    pub(crate) cached: String,
    /// Which pattern was violated.
    pub(crate) message: String,
    /// Why a pattern cannot be used.
    pub(crate) error: Option<String>,
}

impl Cache {
    /// Reads a snapshot file; without one there are no snapshots yet.
    ///
    /// # Errors
    /// When it is not a file of snapshots.
    pub(crate) fn read(text: Option<&[u8]>, updating: bool) -> Result<Self, String> {
        let mut cache = Cache { updating, ..Cache::default() };
        let Some(text) = text else { return Ok(cache) };
        let tests = match document::read(text).map_err(|error| error.to_string())? {
            Node::Map(tests) => tests,
            Node::Nil => Map::new(),
            _ => return Err("yaml: unmarshal errors: a snapshot file is a map of tests".to_owned()),
        };
        for (test, snapshots) in tests.iter() {
            let entry = cache.cached.entry(test.to_string()).or_default();
            for (index, text) in snapshots.as_map().into_iter().flat_map(Map::iter) {
                let index = index.as_str().and_then(|index| index.parse().ok()).ok_or_else(|| {
                    format!("yaml: unmarshal errors: cannot unmarshal !!str `{index}` into uint")
                })?;
                let text = match text {
                    Node::Str(text) => text.to_string(),
                    other => yaml(other).trim_end().to_owned(),
                };
                entry.insert(index, text);
            }
        }
        Ok(cache)
    }

    /// Compares a value with the stored snapshot, or with patterns instead.
    pub(crate) fn compare(
        &mut self,
        test: &str,
        index: u64,
        value: &Node,
        matches: &str,
        not_matches: &str,
    ) -> Compared {
        self.compared += 1;
        let cached = self.cached.get(test).and_then(|snapshots| snapshots.get(&index)).cloned();
        self.inserted += usize::from(cached.is_none());
        let new = yaml(value);
        let (mut passed, mut message, mut error) = (true, String::new(), None);
        if matches.is_empty() && not_matches.is_empty() {
            passed = cached.as_ref().is_none_or(|cached| *cached == new);
            self.updated += usize::from(!passed);
        }
        let mut found = |pattern: &str| match Regex::compile(pattern) {
            Ok(regex) => regex.is_match(new.as_bytes()),
            Err(problem) => {
                error = Some(format!("failed to compile regex pattern {pattern}: {problem}"));
                false
            }
        };
        if !matches.is_empty() {
            passed = found(matches);
            if !passed {
                message = format!(" pattern '{matches}' not found in snapshot");
            }
        }
        if !not_matches.is_empty() && passed && found(not_matches) {
            passed = false;
            message = format!(" pattern '{not_matches}' should not be in snapshot");
        }
        let kept = if self.updating { None } else { cached.clone() };
        let kept = kept.unwrap_or_else(|| new.clone());
        self.current.entry(test.to_owned()).or_default().insert(index, kept);
        Compared {
            passed: passed || self.updating,
            index,
            new,
            cached: cached.unwrap_or_default(),
            message,
            error,
        }
    }

    /// What happened to the snapshots.
    pub(crate) fn counts(&self) -> SnapshotCounts {
        SnapshotCounts {
            total: self.compared,
            failed: if self.updating { 0 } else { self.updated },
            created: self.inserted,
            vanished: self.vanished(),
        }
    }

    fn vanished(&self) -> usize {
        let seen = |test: &String, index: &u64| {
            self.current.get(test).is_some_and(|snapshots| snapshots.contains_key(index))
        };
        self.cached
            .iter()
            .flat_map(|(test, snapshots)| snapshots.keys().map(move |index| (test, index)))
            .filter(|(test, index)| !seen(test, index))
            .count()
    }

    /// The text of the snapshot file, if it must be written.
    pub(crate) fn changed(&self) -> Option<Vec<u8>> {
        let vanished = self.vanished() > 0;
        let changed = self.updated > 0 || self.inserted > 0 || vanished;
        (changed && (self.updating || self.inserted > 0 || vanished)).then(|| self.text())
    }

    fn text(&self) -> Vec<u8> {
        if self.current.is_empty() {
            return b"{}\n".to_vec();
        }
        // Keys of snapshots are numbers, but keys of a tree are strings: they are written with a prefix that is then removed.
        let word = |index: &u64| Str::from(format!("{MARK}{index}"));
        let tests = self.current.iter().map(|(test, snapshots)| {
            let snapshots = snapshots.iter().map(|(index, text)| (word(index), Node::from(text.as_str())));
            (Str::from(test), Node::Map(snapshots.collect()))
        });
        let text = pintle_yaml::write_pretty(&Node::Map(tests.collect()));
        let mut out = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // Only keys of snapshots are indented by two; a long test name has its value after a colon.
            let key = line.strip_prefix(b"  ").or_else(|| line.strip_prefix(b": "));
            match key.and_then(|key| key.strip_prefix(MARK.as_bytes())) {
                Some(key) => {
                    out.extend_from_slice(&line[..2]);
                    out.extend_from_slice(key);
                }
                None => out.extend_from_slice(line),
            }
        }
        out
    }
}

/// The temporary prefix of snapshot keys while a file is written.
const MARK: &str = "n";

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "a test:\n  1: |\n    kind: Pod\n  2: |\n    - 1\n    - n2: x\nanother:\n  1: |\n    x\n";

    fn node(text: &str) -> Node {
        document::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn equal_snapshots_pass_and_leave_the_file_alone() {
        let mut cache = Cache::read(Some(FILE.as_bytes()), false).unwrap();
        assert!(cache.compare("a test", 1, &node("kind: Pod"), "", "").passed);
        assert!(cache.compare("a test", 2, &node("[1, {n2: x}]"), "", "").passed);
        assert!(cache.compare("another", 1, &node("x"), "", "").passed);
        assert_eq!(cache.changed(), None);
        assert_eq!(cache.counts(), SnapshotCounts { total: 3, ..SnapshotCounts::default() });
        assert_eq!(String::from_utf8(cache.text()).unwrap(), FILE);
    }

    #[test]
    fn changed_snapshots_fail_unless_they_are_updated() {
        let mut cache = Cache::read(Some(FILE.as_bytes()), false).unwrap();
        assert!(!cache.compare("another", 1, &node("w"), "", "").passed);
        assert_eq!(cache.counts(), SnapshotCounts { total: 1, failed: 1, created: 0, vanished: 2 });
        let mut cache = Cache::read(Some(FILE.as_bytes()), true).unwrap();
        assert!(cache.compare("another", 1, &node("w"), "", "").passed);
        assert_eq!(cache.changed().unwrap(), b"another:\n  1: |\n    w\n");
    }

    #[test]
    fn new_snapshots_are_added() {
        let mut cache = Cache::read(None, false).unwrap();
        assert!(cache.compare("t", 1, &node("a: [1]"), "", "").passed);
        assert_eq!(cache.changed().unwrap(), b"t:\n  1: |\n    a:\n      - 1\n");
    }

    #[test]
    fn patterns_replace_the_comparison() {
        let mut cache = Cache::read(Some(FILE.as_bytes()), false).unwrap();
        assert!(cache.compare("another", 1, &node("w"), "^w", "z").passed);
        let compared = cache.compare("another", 1, &node("w"), "", "w");
        assert!(!compared.passed);
        assert_eq!(compared.message, " pattern 'w' should not be in snapshot");
    }
}
