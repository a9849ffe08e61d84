//! The format `dyff`: changes by path, in the manner of the dyff program. The meaning is dyff's, not every byte.

use std::io::{self, Write};

use pintle_tree::{Node, Str};

use crate::lines::{self, Side};
use crate::report::{Entry, Report};
use crate::version_3;

const GREEN: &str = "\u{1b}[0;32m";
const RED: &str = "\u{1b}[0;31m";
const YELLOW: &str = "\u{1b}[0;33m";
const RESET: &str = "\u{1b}[0m";

/// The fields by which items of lists are matched.
const IDENTIFIERS: [&str; 3] = ["name", "key", "id"];

impl Report<'_> {
    /// Writes the changes by path.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_dyff(&self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        for entry in &self.entries {
            let mut report = EntryReport { out: &mut *out, colored, object: String::new() };
            report.entry(entry)?;
        }
        out.write_all(b"\n")
    }
}

struct EntryReport<'o> {
    out: &'o mut dyn Write,
    colored: bool,
    /// The object, as it stands behind every path.
    object: String,
}

impl EntryReport<'_> {
    fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let (old, new) = (side(entry, Side::Old), side(entry, Side::New));
        let (old, new) = (version_3::read(&old), version_3::read(&new));
        self.object = describe(if new.is_nil() { &old } else { &new });
        match (&old, &new) {
            (Node::Nil, Node::Nil) => Ok(()),
            (Node::Nil, new) => self.note("(root level)", &[(Sign::Added, "one document added:", new)]),
            (old, Node::Nil) => self.note("(root level)", &[(Sign::Removed, "one document removed:", old)]),
            (old, new) => self.compare(&mut Vec::new(), old, new),
        }
    }

    fn compare(&mut self, path: &mut Vec<String>, old: &Node, new: &Node) -> io::Result<()> {
        match (old, new) {
            (old, new) if old == new => Ok(()),
            (Node::Map(before), Node::Map(after)) => {
                let only = |one: &pintle_tree::Map<Node>, other: &pintle_tree::Map<Node>| {
                    let mut entries = one.clone();
                    entries.retain(|key, _| !other.contains_key(key));
                    entries
                };
                let (removed, added) = (only(before, after), only(after, before));
                let texts = (
                    counted(removed.len(), "map entry", "map entries", "removed"),
                    counted(added.len(), "map entry", "map entries", "added"),
                );
                let mut parts = Vec::new();
                let (removed, added) = (Node::Map(removed), Node::Map(added));
                if let Some(text) = &texts.0 {
                    parts.push((Sign::Removed, text.as_str(), &removed));
                }
                if let Some(text) = &texts.1 {
                    parts.push((Sign::Added, text.as_str(), &added));
                }
                self.note(&shown(path), &parts)?;
                for (key, before) in before.iter() {
                    if let Some(after) = after.get(key) {
                        path.push(key.to_str_lossy().into_owned());
                        self.compare(path, before, after)?;
                        path.pop();
                    }
                }
                Ok(())
            }
            (Node::List(before), Node::List(after)) => self.lists(path, before, after),
            (Node::Str(before), Node::Str(after)) if is_multiline(before, after) => {
                self.texts(path, before.as_bytes(), after.as_bytes())
            }
            (old, new) => {
                let kind = if old.json_type() == new.json_type() { "value change" } else { "type change" };
                let parts = [(Sign::Changed, kind, &Node::Nil)];
                self.note(&shown(path), &parts)?;
                self.value(Sign::Removed, old)?;
                self.value(Sign::Added, new)
            }
        }
    }

    /// Writes the lines of a text that differ.
    fn texts(&mut self, path: &[String], old: &[u8], new: &[u8]) -> io::Result<()> {
        let lines = lines::diff(old, new, false);
        let count = |side: Side| lines.iter().filter(|line| line.side == side).count();
        let (inserts, deletions) = (count(Side::New), count(Side::Old));
        let mut counts = Vec::new();
        if inserts > 0 {
            counts.push(format!("{} insert{}", number(inserts), if inserts == 1 { "" } else { "s" }));
        }
        if deletions > 0 {
            counts.push(format!("{} deletion{}", number(deletions), if deletions == 1 { "" } else { "s" }));
        }
        let text = format!("value change in multiline text ({})", counts.join(", "));
        self.note(&shown(path), &[(Sign::Changed, &text, &Node::Nil)])?;
        for line in lines.iter().filter(|line| line.side != Side::Common) {
            let sign = if line.side == Side::New { Sign::Added } else { Sign::Removed };
            self.line(sign, &format!("{} {}", sign.mark(), String::from_utf8_lossy(line.text(old, new))))?;
        }
        self.out.write_all(b"\n")
    }

    fn lists(&mut self, path: &mut Vec<String>, old: &[Node], new: &[Node]) -> io::Result<()> {
        let named = IDENTIFIERS.into_iter().find(|field| is_unique(old, field) && is_unique(new, field));
        let same = |a: &Node, b: &Node| match named {
            Some(field) => a.get(field) == b.get(field),
            None => a == b,
        };
        let only = |one: &[Node], other: &[Node]| -> Vec<Node> {
            one.iter().filter(|item| !other.iter().any(|other| same(item, other))).cloned().collect()
        };
        let (removed, added) = (only(old, new), only(new, old));
        let texts = (
            counted(removed.len(), "list entry", "list entries", "removed"),
            counted(added.len(), "list entry", "list entries", "added"),
        );
        let (removed, added) = (Node::List(removed), Node::List(added));
        let mut parts = Vec::new();
        if let Some(text) = &texts.0 {
            parts.push((Sign::Removed, text.as_str(), &removed));
        }
        if let Some(text) = &texts.1 {
            parts.push((Sign::Added, text.as_str(), &added));
        }
        if parts.is_empty() && named.is_none() {
            parts.push((Sign::Changed, "order changed", &Node::Nil));
        }
        self.note(&shown(path), &parts)?;
        let Some(field) = named else { return Ok(()) };
        for before in old {
            if let Some(after) = new.iter().find(|after| same(before, after)) {
                path.push(before.get(field).and_then(Node::as_str).unwrap_or_default().to_owned());
                self.compare(path, before, after)?;
                path.pop();
            }
        }
        Ok(())
    }

    /// Writes a path and what happened there; nothing if nothing did.
    fn note(&mut self, path: &str, parts: &[(Sign, &str, &Node)]) -> io::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{path}  ({})", self.object)?;
        for (sign, text, node) in parts {
            self.line(*sign, &format!("{} {text}", sign.mark()))?;
            if !node.is_nil() {
                for line in yaml(node).lines() {
                    self.line(*sign, line)?;
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, sign: Sign, node: &Node) -> io::Result<()> {
        let text = match node {
            Node::Str(text) => text.to_str_lossy().into_owned(),
            other => yaml(other),
        };
        for line in text.lines() {
            self.line(sign, &format!("{} {line}", sign.mark()))?;
        }
        Ok(())
    }

    fn line(&mut self, sign: Sign, text: &str) -> io::Result<()> {
        match self.colored {
            true => writeln!(self.out, "{}{text}{RESET}", sign.color()),
            false => writeln!(self.out, "{text}"),
        }
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Added,
    Removed,
    Changed,
}

impl Sign {
    fn mark(self) -> char {
        match self {
            Sign::Added => '+',
            Sign::Removed => '-',
            Sign::Changed => '±',
        }
    }

    fn color(self) -> &'static str {
        match self {
            Sign::Added => GREEN,
            Sign::Removed => RED,
            Sign::Changed => YELLOW,
        }
    }
}

fn side(entry: &Entry<'_>, wanted: Side) -> Vec<u8> {
    let mut text = Vec::new();
    for (_, line) in entry.lines().filter(|(side, _)| *side == Side::Common || *side == wanted) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

/// `apiVersion/kind/namespace/name`.
fn describe(object: &Node) -> String {
    let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let parts = [
        text(object.get("apiVersion")),
        text(object.get("kind")),
        text(metadata.and_then(|metadata| metadata.get("namespace"))),
        text(metadata.and_then(|metadata| metadata.get("name"))),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn shown(path: &[String]) -> String {
    if path.is_empty() { "(root level)".to_owned() } else { path.join(".") }
}

fn counted(count: usize, one: &str, many: &str, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("one {one} {what}:")),
        count => Some(format!("{} {many} {what}:", number(count))),
    }
}

/// Small numbers as words.
fn number(count: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn is_multiline(old: &Str, new: &Str) -> bool {
    old.as_bytes().contains(&b'\n') && new.as_bytes().contains(&b'\n')
}

/// Whether all items are maps with different texts in a field.
fn is_unique(items: &[Node], field: &str) -> bool {
    let mut names: Vec<&str> = items.iter().filter_map(|item| item.get(field)?.as_str()).collect();
    let all = names.len() == items.len();
    names.sort_unstable();
    names.dedup();
    all && names.len() == items.len()
}

fn yaml(node: &Node) -> String {
    pintle_yaml::write(node).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::{Index, Options, ParseOptions, Report};

    #[test]
    fn items_are_matched_by_name() {
        let text = |image: &str, more: &str| {
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: a\n    image: x\n  - name: b\n    image: {image}\n{more}"
            )
        };
        let (old, new) = (text("i:1", ""), text("i:2", "  replicas: 2\n"));
        let parse = |text| Index::parse(text, &ParseOptions::default()).expect("a good manifest");
        let report = Report::new(parse(old.as_bytes()), parse(new.as_bytes()), &Options::default());
        let mut out = Vec::new();
        report.expect("good options").write_dyff(&mut out, false).expect("written");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\nspec  (apps/v1/Deployment/web)\n+ one map entry added:\nreplicas: 2\n\nspec.containers.b.image  (apps/v1/Deployment/web)\n± value change\n- i:1\n+ i:2\n\n"
        );
    }

    #[test]
    fn keys_and_texts_are_those_of_go_yaml_3() {
        let text = |n: &str, line: &str| {
            format!(
                "apiVersion: v1\nkind: A\nmetadata:\n  name: a\nspec:\n  n: {n}\n  text: |\n    one\n    {line}\n    three\n"
            )
        };
        let (old, new) = (text("1", "two"), text("2", "2"));
        let parse = |text| Index::parse(text, &ParseOptions::default()).expect("a good manifest");
        let report = Report::new(parse(old.as_bytes()), parse(new.as_bytes()), &Options::default());
        let mut out = Vec::new();
        report.expect("good options").write_dyff(&mut out, false).expect("written");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\nspec.n  (v1/A/a)\n± value change\n- 1\n+ 2\n\nspec.text  (v1/A/a)\n± value change in multiline text (one insert, one deletion)\n- two\n+ 2\n\n\n"
        );
    }
}
