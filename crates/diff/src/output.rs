//! The text formats of a report: `diff`, `simple`, `json` and `structured`.

use std::io::{self, Write};
use std::sync::LazyLock;

use pintle_regex::Regex;

use crate::lines::{Line, Side};
use crate::report::{Change, Entry, Report};

const GREEN: &str = "\u{1b}[0;32m";
const RED: &str = "\u{1b}[0;31m";
const YELLOW: &str = "\u{1b}[0;33m";
const MAGENTA: &str = "\u{1b}[0;35m";
const BRIGHT_BLUE: &str = "\u{1b}[0;94m";
const RESET: &str = "\u{1b}[0m";

/// An entry of the formats `json` and `template`, taken from its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: String,
    /// The API group, or the version for the core group.
    pub api: String,
    /// What happens to the object.
    pub change: &'static str,
}

impl Summary {
    /// Reads a key as helm-diff does: names that are not in lower case, or have a colon, are not recognized.
    pub(crate) fn from_key(key: &str) -> Option<Summary> {
        static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
            Regex::compile(r"([a-z0-9-]+), ([a-z0-9.-]+), (\w+) \(([^)]+)\)").expect("a constant pattern")
        });
        let groups = PATTERN.captures(key.as_bytes())?;
        let group = |index: usize| groups.get(index).cloned().flatten().map(|range| key[range].to_owned());
        Some(Summary { namespace: group(1)?, name: group(2)?, kind: group(3)?, api: group(4)?, change: "" })
    }
}

/// Writes text, with colors if enabled.
struct Painter {
    colored: bool,
}

impl Painter {
    fn write(&self, out: &mut dyn Write, color: &str, parts: &[&[u8]]) -> io::Result<()> {
        if self.colored {
            out.write_all(color.as_bytes())?;
        }
        for part in parts {
            out.write_all(part)?;
        }
        if self.colored {
            out.write_all(RESET.as_bytes())?;
        }
        Ok(())
    }
}

fn color(change: Change) -> &'static str {
    match change {
        Change::Add => GREEN,
        Change::Remove => RED,
        Change::Modify => YELLOW,
        Change::Ownership => MAGENTA,
        Change::ModifySuppressed => BRIGHT_BLUE,
    }
}

impl Report<'_> {
    /// Writes all changed objects with their lines.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_diff(&self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        let painter = Painter { colored };
        for entry in &self.entries {
            let message = match entry.change {
                Change::Add => "has been added:",
                Change::Remove => "has been removed:",
                Change::Modify => "has changed:",
                Change::Ownership => "changed ownership:",
                Change::ModifySuppressed => "has changed, but diff is empty after suppression.",
            };
            painter.write(out, color(entry.change), &[entry.key.as_bytes(), b" ", message.as_bytes()])?;
            out.write_all(b"\n")?;
            self.write_lines(entry, &painter, out)?;
        }
        Ok(())
    }

    fn write_lines(&self, entry: &Entry<'_>, painter: &Painter, out: &mut dyn Write) -> io::Result<()> {
        if self.suppressed_kinds.contains(&entry.kind) {
            let text = format!("+ Changes suppressed on sensitive content of type {}\n", entry.kind);
            return painter.write(out, YELLOW, &[text.as_bytes()]);
        }
        let shown = entry.context.map(|context| near_changes(&entry.lines, context));
        let mut omitting = false;
        for (index, (side, text)) in entry.lines().enumerate() {
            if shown.as_ref().is_some_and(|shown| !shown[index]) {
                if !omitting {
                    out.write_all(b"...\n")?;
                }
                omitting = true;
                continue;
            }
            omitting = false;
            match side {
                Side::New => painter.write(out, GREEN, &[b"+ ", text])?,
                Side::Old => painter.write(out, RED, &[b"- ", text])?,
                // Empty lines are not indented, so that the output has no trailing blanks.
                Side::Common if text.is_empty() => {}
                Side::Common => {
                    out.write_all(b"  ")?;
                    out.write_all(text)?;
                }
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes one line for each changed object, and how many there are.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_simple(&self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        let painter = Painter { colored };
        for entry in &self.entries {
            let message = match entry.change {
                Change::Add => "to be added.",
                Change::Remove => "to be removed.",
                Change::Modify => "to be changed.",
                Change::Ownership => "to change ownership.",
                Change::ModifySuppressed => "has changed, but diff is empty after suppression.",
            };
            painter.write(out, color(entry.change), &[entry.key.as_bytes(), b" ", message.as_bytes()])?;
            out.write_all(b"\n")?;
        }
        let count = |change| self.entries.iter().filter(|entry| entry.change == change).count();
        writeln!(
            out,
            "Plan: {} to add, {} to change, {} to destroy, {} to change ownership.",
            count(Change::Add),
            count(Change::Modify),
            count(Change::Remove),
            count(Change::Ownership)
        )
    }

    /// The entries whose keys are recognized, and how many are not.
    pub fn summaries(&self) -> (Vec<Summary>, usize) {
        let summaries = self.entries.iter().filter_map(|entry| {
            Some(Summary { change: entry.change.name(), ..Summary::from_key(&entry.key)? })
        });
        let summaries: Vec<Summary> = summaries.collect();
        let unrecognized = self.entries.len() - summaries.len();
        (summaries, unrecognized)
    }

    /// Writes the recognized entries as JSON, with the layout of helm-diff's template.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let entry = |summary: &Summary| {
            let Summary { namespace, name, kind, api, change } = summary;
            format!(
                // Without escaping, like the template: the pattern of keys admits hardly anything that needs it.
                "{{\n  \"api\": \"{api}\",\n  \"kind\": \"{kind}\",\n  \"namespace\": \"{namespace}\",\n  \"name\": \
                 \"{name}\",\n  \"change\": \"{change}\"\n}}"
            )
        };
        let entries: Vec<String> = self.summaries().0.iter().map(entry).collect();
        writeln!(out, "[{}]", entries.join(","))
    }
}

/// Which lines are at most `context` lines away from a change.
fn near_changes(lines: &[Line], context: usize) -> Vec<bool> {
    let mut shown = vec![false; lines.len()];
    let mark = |shown: &mut Vec<bool>, indexes: &mut dyn Iterator<Item = usize>| {
        let mut distance = usize::MAX;
        for index in indexes {
            distance = if lines[index].side == Side::Common { distance.saturating_add(1) } else { 0 };
            shown[index] |= distance <= context;
        }
    };
    mark(&mut shown, &mut (0..lines.len()));
    mark(&mut shown, &mut (0..lines.len()).rev());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Index, ParseOptions};
    use crate::report::{Options, Ownership};

    const OLD: &str = "---\n# Source: c/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n  y: \"2\"\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: gone\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: kept\n  annotations:\n    helm.sh/resource-policy: keep\n";
    const NEW: &str = "---\n# Source: c/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n  y: \"3\"\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: system:added\n";

    fn report(options: &Options) -> Report<'static> {
        let parse = |text: &'static str| {
            let options = ParseOptions { namespace: "prod".to_owned(), ..ParseOptions::default() };
            Index::parse(text.as_bytes(), &options).expect("a good manifest")
        };
        Report::new(parse(OLD), parse(NEW), options).expect("good options")
    }

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn lines_around_changes_are_shown() {
        let report = report(&Options { context: Some(1), ..Options::default() });
        assert_eq!(
            text(|out| report.write_diff(out, false)),
            "prod, a, ConfigMap (v1) has changed:\n...\n    x: \"1\"\n-   y: \"2\"\n+   y: \"3\"\nprod, gone, Service (v1) has been removed:\n- apiVersion: v1\n- kind: Service\n- metadata:\n-   name: gone\n+ \nprod, system:added, ClusterRole (rbac.authorization.k8s.io) has been added:\n- \n+ apiVersion: rbac.authorization.k8s.io/v1\n+ kind: ClusterRole\n+ metadata:\n+   name: system:added\n"
        );
    }

    #[test]
    fn the_simple_form_counts() {
        let report = report(&Options::default());
        assert_eq!(
            text(|out| report.write_simple(out, true)),
            "\u{1b}[0;33mprod, a, ConfigMap (v1) to be changed.\u{1b}[0m\n\u{1b}[0;31mprod, gone, Service (v1) to be removed.\u{1b}[0m\n\u{1b}[0;32mprod, system:added, ClusterRole (rbac.authorization.k8s.io) to be added.\u{1b}[0m\nPlan: 1 to add, 1 to change, 1 to destroy, 0 to change ownership.\n"
        );
    }

    #[test]
    fn json_leaves_out_what_the_key_does_not_tell() {
        let report = report(&Options::default());
        assert_eq!(report.summaries().1, 1);
        assert_eq!(
            text(|out| report.write_json(out)),
            "[{\n  \"api\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"namespace\": \"prod\",\n  \"name\": \"a\",\n  \"change\": \"MODIFY\"\n},{\n  \"api\": \"v1\",\n  \"kind\": \"Service\",\n  \"namespace\": \"prod\",\n  \"name\": \"gone\",\n  \"change\": \"REMOVE\"\n}]\n"
        );
    }

    #[test]
    fn suppressed_lines_leave_an_empty_change() {
        let report = report(&Options { suppressed_lines: vec!["y:".to_owned()], ..Options::default() });
        assert_eq!(report.entries[0].change, Change::ModifySuppressed);
        assert_eq!(report.entries[1].change, Change::Remove);
        assert!(
            text(|out| report.write_simple(out, false))
                .ends_with("0 to change, 1 to destroy, 0 to change ownership.\n")
        );
    }

    #[test]
    fn suppressed_kinds_are_named() {
        let report =
            report(&Options { suppressed_kinds: vec!["ConfigMap".to_owned()], ..Options::default() });
        assert!(
            text(|out| report.write_diff(out, true)).starts_with(
                "\u{1b}[0;33mprod, a, ConfigMap (v1) has changed:\u{1b}[0m\n\u{1b}[0;33m+ Changes suppressed on sensitive content of type ConfigMap\n\u{1b}[0m"
            )
        );
    }

    #[test]
    fn owners_come_first() {
        let ownership = vec![Ownership { key: "k".to_owned(), old: "a/x".to_owned(), new: "b/x".to_owned() }];
        let report =
            Report::with_ownership(Index::default(), Index::default(), ownership, &Options::default());
        let report = report.expect("good options");
        assert_eq!(text(|out| report.write_diff(out, false)), "k changed ownership:\n- a/x\n+ b/x\n");
    }
}
