//! Compares two indexes: which objects were added, removed, changed or renamed.

use std::borrow::Cow;

use pintle_regex::Regex;

use crate::lines::{self, Line, Side};
use crate::manifest::{Index, Object};
use crate::structured::{self, StructuredEntry};
use crate::{Error, Result, secret};

/// How objects are compared and shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many equal lines are shown around changes; all if absent.
    pub context: Option<usize>,
    /// Ignores carriage returns at the ends of lines.
    pub strip_trailing_cr: bool,
    /// How the values of Secrets are shown.
    pub secrets: SecretDisplay,
    /// Kinds whose changes are not shown.
    pub suppressed_kinds: Vec<String>,
    /// The maximum share of changed lines of objects that count as renamed; zero turns the search off.
    pub find_renames: f32,
    /// Patterns of lines that are not shown.
    pub suppressed_lines: Vec<String>,
    /// Computes changes by field instead of by line.
    pub structured: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            context: None,
            strip_trailing_cr: false,
            secrets: SecretDisplay::Redacted,
            suppressed_kinds: Vec::new(),
            find_renames: 0.0,
            suppressed_lines: Vec::new(),
            structured: false,
        }
    }
}

/// How the values of Secrets are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretDisplay {
    /// By their length only.
    Redacted,
    /// Decoded.
    Decoded,
    /// As they are in the manifest.
    Plain,
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Add,
    /// It disappears.
    Remove,
    /// It changes.
    Modify,
    /// It changes its owner.
    Ownership,
    /// It changes, but only in lines that are not shown.
    ModifySuppressed,
}

impl Change {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Change::Add => "ADD",
            Change::Remove => "REMOVE",
            Change::Modify => "MODIFY",
            Change::Ownership => "OWNERSHIP",
            Change::ModifySuppressed => "MODIFY_SUPPRESSED",
        }
    }
}

/// An object that is taken over from another release.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// The key of the object.
    pub key: String,
    /// The release that owns it.
    pub old: String,
    /// The release that takes it over.
    pub new: String,
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Entry<'m> {
    /// The key of the object; of a renamed one, the old key.
    pub key: String,
    /// What happens to it.
    pub change: Change,
    pub(crate) kind: String,
    pub(crate) old: Cow<'m, [u8]>,
    pub(crate) new: Cow<'m, [u8]>,
    pub(crate) lines: Vec<Line>,
    /// Shows only changed lines.
    pub(crate) context: Option<usize>,
    pub(crate) structured: Option<StructuredEntry>,
}

impl Entry<'_> {
    /// The lines with their sides.
    pub fn lines(&self) -> impl Iterator<Item = (Side, &[u8])> {
        self.lines.iter().map(|line| (line.side, line.text(&self.old, &self.new)))
    }
}

/// All differences between two manifests, in order.
#[derive(Clone, Debug)]
pub struct Report<'m> {
    /// The differences.
    pub entries: Vec<Entry<'m>>,
    /// Problems that do not stop the comparison.
    pub warnings: Vec<String>,
    pub(crate) suppressed_kinds: Vec<String>,
    /// Whether objects with different names may be the same.
    pub(crate) finds_renames: bool,
}

impl<'m> Report<'m> {
    /// Compares two indexes.
    ///
    /// # Errors
    /// When a pattern of suppressed lines does not parse.
    pub fn new(old: Index<'m>, new: Index<'m>, options: &Options) -> Result<Report<'m>> {
        Report::with_ownership(old, new, Vec::new(), options)
    }

    /// Compares two indexes, and reports objects that are taken over first.
    ///
    /// # Errors
    /// As [`Report::new`].
    pub fn with_ownership(
        old: Index<'m>,
        new: Index<'m>,
        mut ownership: Vec<Ownership>,
        options: &Options,
    ) -> Result<Report<'m>> {
        let mut comparison = Comparison { old, new, options, entries: Vec::new(), warnings: Vec::new() };
        ownership.sort_by(|a, b| a.key.cmp(&b.key));
        for change in ownership {
            comparison.add_ownership(change);
        }
        comparison.run();
        let Comparison { mut entries, warnings, .. } = comparison;
        // After all comparisons: a change whose lines are all suppressed still counts for the exit code.
        suppress_lines(&mut entries, &options.suppressed_lines)?;
        Ok(Report {
            entries,
            warnings,
            suppressed_kinds: options.suppressed_kinds.clone(),
            finds_renames: options.find_renames > 0.0,
        })
    }

    /// Whether anything differs, even if it is not shown.
    pub fn has_changes(&self) -> bool {
        !self.entries.is_empty()
    }
}

struct Comparison<'m, 'o> {
    old: Index<'m>,
    new: Index<'m>,
    options: &'o Options,
    entries: Vec<Entry<'m>>,
    warnings: Vec<String>,
}

impl<'m> Comparison<'m, '_> {
    fn add_ownership(&mut self, change: Ownership) {
        let (old, new) = (change.old.into_bytes(), change.new.into_bytes());
        let lines = lines::diff(&old, &new, true);
        self.entries.push(Entry {
            key: change.key,
            change: Change::Ownership,
            kind: String::new(),
            old: Cow::Owned(old),
            new: Cow::Owned(new),
            lines,
            context: Some(0),
            structured: None,
        });
    }

    fn run(&mut self) {
        let (shared, removed): (Vec<String>, Vec<String>) =
            self.old.objects.keys().cloned().partition(|key| self.new.objects.contains_key(key));
        // Changed objects come before removed and added ones, each in the order of their keys, as in helm-diff.
        for key in &shared {
            self.compare(key, key);
        }
        let added = self.new.objects.keys().filter(|key| !self.old.objects.contains_key(*key));
        let mut added: Vec<String> = added.cloned().collect();
        let removed =
            if self.options.find_renames > 0.0 { self.renames(removed, &mut added) } else { removed };
        for key in removed {
            // An object that its resource policy keeps does not disappear, so it is no difference.
            if let Some(object) = self.old.objects.remove(&key)
                && !object.keep
            {
                self.add_entry(key, Some(object), None);
            }
        }
        for key in added {
            if let Some(object) = self.new.objects.remove(&key) {
                self.add_entry(key, None, Some(object));
            }
        }
    }

    /// Compares objects that are on both sides.
    fn compare(&mut self, old_key: &str, new_key: &str) {
        let (Some(old), Some(new)) = (self.old.objects.remove(old_key), self.new.objects.remove(new_key))
        else {
            return;
        };
        if old.content != new.content {
            self.add_entry(old_key.to_owned(), Some(old), Some(new));
        }
    }

    fn add_entry(&mut self, key: String, mut old: Option<Object<'m>>, mut new: Option<Object<'m>>) {
        secret::display(old.as_mut(), new.as_mut(), self.options.secrets);
        let change = match (&old, &new) {
            (None, _) => Change::Add,
            (_, None) => Change::Remove,
            _ => Change::Modify,
        };
        let kind = old.as_ref().or(new.as_ref()).map(|object| object.kind.clone()).unwrap_or_default();
        let mut structured = None;
        let mut lines = Vec::new();
        if self.options.structured {
            let suppressed = self.options.suppressed_kinds.contains(&kind);
            match structured::entry(&key, change, suppressed, old.as_ref(), new.as_ref()) {
                Ok(entry) if change == Change::Modify && !suppressed && entry.changes.is_empty() => return,
                Ok(entry) => structured = Some(entry),
                Err(error) => self.warnings.push(format!(
                    "failed to build structured entry for {key} (kind: {kind}, changeType: {}): {error}",
                    change.name()
                )),
            }
        }
        let content = |object: Option<Object<'m>>| object.map(|object| object.content).unwrap_or_default();
        let (old, new) = (content(old), content(new));
        if !self.options.structured {
            lines = lines::diff(&old, &new, self.options.strip_trailing_cr);
            if change == Change::Modify && lines.iter().all(|line| line.side == Side::Common) {
                return;
            }
        }
        let context = self.options.context;
        self.entries.push(Entry { key, change, kind, old, new, lines, context, structured });
    }

    /// Reports removed objects that look like added ones as changed. Returns the others.
    fn renames(&mut self, removed: Vec<String>, added: &mut Vec<String>) -> Vec<String> {
        let mut left = Vec::new();
        for old_key in removed {
            match self.most_similar(&old_key, added) {
                Some((at, share)) if share < self.options.find_renames => {
                    let new_key = added.remove(at);
                    self.compare(&old_key, &new_key);
                }
                _ => left.push(old_key),
            }
        }
        left
    }

    /// The added object that differs least from a removed one, and the share of lines that differ.
    fn most_similar(&mut self, old_key: &str, added: &[String]) -> Option<(usize, f32)> {
        let old = self.old.objects.get_mut(old_key)?;
        let mut best: Option<(usize, f32)> = None;
        for (at, new_key) in added.iter().enumerate() {
            let Some(new) = self.new.objects.get_mut(new_key) else { continue };
            if old.kind != new.kind || !have_similar_lengths(old, new) {
                continue;
            }
            // In place, as in helm-diff: a Secret that is compared with several candidates is redacted again each
            // time.
            secret::display(Some(old), Some(new), self.options.secrets);
            let lines = lines::diff(&old.content, &new.content, self.options.strip_trailing_cr);
            let changed = lines.iter().filter(|line| line.side != Side::Common).count();
            let share = changed as f32 / lines.len() as f32;
            // Greedy, as in helm-diff: the first of equals, whatever later objects would need.
            if changed > 0 && best.is_none_or(|(_, smallest)| share < smallest) {
                best = Some((at, share));
            }
        }
        best
    }
}

/// Whether two objects may be one that was renamed. The length of a Secret says nothing, because it is redacted.
fn have_similar_lengths(old: &Object<'_>, new: &Object<'_>) -> bool {
    if old.content.is_empty() || new.content.is_empty() {
        return false;
    }
    // As in helm-diff, to avoid comparing objects that cannot be similar.
    let ratio = old.content.len() as f32 / new.content.len() as f32;
    old.kind == "Secret" || (0.1..=10.0).contains(&ratio)
}

/// Removes the lines that match a pattern.
fn suppress_lines(entries: &mut [Entry<'_>], patterns: &[String]) -> Result<()> {
    if entries.is_empty() || patterns.is_empty() {
        return Ok(());
    }
    let patterns = patterns
        .iter()
        .map(Regex::compile)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Error::from)?;
    for entry in entries {
        let (old, new) = (&entry.old, &entry.new);
        entry.lines.retain(|line| !patterns.iter().any(|pattern| pattern.is_match(line.text(old, new))));
        if entry.lines.iter().all(|line| line.side == Side::Common) {
            // Without changed lines the context around them is not shown either.
            entry.lines.clear();
            if entry.change == Change::Modify {
                entry.change = Change::ModifySuppressed;
            }
        }
    }
    Ok(())
}
