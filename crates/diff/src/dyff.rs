//! The format `dyff`: changes by path, as the dyff program reports them.

mod compare;
mod node;
mod yaml;

use std::io::{self, Write};

use pintle_yaml::commented::Document;

use crate::lines::{self, Side};
use crate::report::{Entry, Report};
use compare::{Content, Detail, Difference, Pair};
use node::NodeRef;

const GREEN: &str = "\u{1b}[0;32m";
const RED: &str = "\u{1b}[0;31m";
const YELLOW: &str = "\u{1b}[0;33m";
const RESET: &str = "\u{1b}[0m";

/// The width of the output, where dyff does not write to a terminal.
const WIDTH: usize = 80;

/// What is between two columns.
const SEPARATOR: &str = "   ";

impl Report<'_> {
    /// Writes the changes by path.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_dyff(&self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        let read = |wanted: Side| -> Option<Vec<Option<Document>>> {
            self.entries.iter().map(|entry| Document::read(&side(entry, wanted)).ok()).collect()
        };
        // Manifests that are not YAML for go-yaml 3 have no differences here.
        if let (Some(old), Some(new)) = (read(Side::Old), read(Side::New)) {
            let pairs: Vec<Pair<'_>> = old
                .iter()
                .zip(&new)
                .map(|(old, new)| Pair { old: root(old.as_ref()), new: root(new.as_ref()) })
                .collect();
            let has_several = pairs.iter().filter(|pair| pair.old.is_some()).count() > 1;
            for difference in compare::compare(&pairs, self.finds_renames) {
                write!(out, "{}", text(&difference, has_several, colored))?;
            }
        }
        out.write_all(b"\n")
    }
}

/// The root of a document that is not empty.
fn root(document: Option<&Document>) -> Option<NodeRef<'_>> {
    document.map(NodeRef::root).filter(|node| !node.is_nil())
}

fn side(entry: &Entry<'_>, wanted: Side) -> Vec<u8> {
    let mut text = Vec::new();
    for (_, line) in entry.lines().filter(|(side, _)| *side == Side::Common || *side == wanted) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

/// A difference as text. Documents are named if there are several of them.
fn text(difference: &Difference<'_>, names_documents: bool, colored: bool) -> String {
    let mut out = "\n".to_owned();
    match &difference.path {
        None => out.push_str("(file level)"),
        Some(path) => {
            let elements = path.elements.join(".");
            out.push_str(if elements.is_empty() { "(root level)" } else { &elements });
            if names_documents {
                out.push_str(&format!("  ({})", path.document));
            }
        }
    }
    out.push('\n');
    let blocks: Vec<Vec<Line>> = difference.details.iter().map(detail).collect();
    beside(&blocks).iter().for_each(|line| line.write(colored, &mut out));
    // dyff ends a table of names without a line break.
    if let [Detail::Reordered(before, after)] = difference.details.as_slice()
        && !fits_on_lines(before, after)
    {
        out.pop();
    }
    out
}

/// A line of a block, as parts of one sign each.
#[derive(Clone, Default)]
struct Line(Vec<(Option<Sign>, String)>);

impl Line {
    fn new(sign: Sign, text: impl Into<String>) -> Line {
        Line(vec![(Some(sign), text.into())])
    }

    fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    fn write(&self, colored: bool, out: &mut String) {
        for (sign, text) in &self.0 {
            match sign.filter(|_| colored && !text.is_empty()) {
                Some(sign) => out.push_str(&format!("{}{text}{RESET}", sign.color())),
                None => out.push_str(text),
            }
        }
        out.push('\n');
    }

    /// Removes blanks at the end.
    fn trim_end(&mut self) {
        while let Some((_, text)) = self.0.last_mut() {
            text.truncate(text.trim_end_matches(' ').len());
            if !text.is_empty() {
                return;
            }
            self.0.pop();
        }
    }
}

#[derive(Clone, Copy)]
enum Sign {
    Added,
    Removed,
    Changed,
    Reordered,
}

impl Sign {
    fn mark(self) -> char {
        match self {
            Sign::Added => '+',
            Sign::Removed => '-',
            Sign::Changed => '±',
            Sign::Reordered => '⇆',
        }
    }

    fn color(self) -> &'static str {
        match self {
            Sign::Added => GREEN,
            Sign::Removed => RED,
            Sign::Changed | Sign::Reordered => YELLOW,
        }
    }
}

/// Puts blocks beside each other if there is room, and below each other with a blank line after each otherwise.
fn beside(blocks: &[Vec<Line>]) -> Vec<Line> {
    let width = |block: &[Line]| block.iter().map(Line::width).max().unwrap_or(0);
    let all: usize = blocks.iter().map(|block| width(block)).sum();
    if all + blocks.len().saturating_sub(1) * SEPARATOR.len() > WIDTH {
        let spaced = blocks.iter().flat_map(|block| block.iter().cloned().chain([Line::default()]));
        return spaced.collect();
    }
    columns(blocks, SEPARATOR)
}

/// Blocks beside each other.
fn columns(blocks: &[Vec<Line>], separator: &str) -> Vec<Line> {
    let rows = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let row = |index: usize| {
        let mut row = Line::default();
        for (number, block) in blocks.iter().enumerate() {
            let width = block.iter().map(Line::width).max().unwrap_or(0);
            let line = block.get(index).cloned().unwrap_or_default();
            let padding = " ".repeat(width - line.width());
            row.0.extend(line.0);
            row.0.push((None, padding));
            if number + 1 < blocks.len() {
                row.0.push((None, separator.to_owned()));
            }
        }
        row.trim_end();
        row
    };
    (0..rows).map(row).collect()
}

fn detail(detail: &Detail<'_>) -> Vec<Line> {
    match detail {
        Detail::Added(content) => listed(Sign::Added, "added", content),
        Detail::Removed(content) => listed(Sign::Removed, "removed", content),
        Detail::Reordered(before, after) => reordered(before, after),
        Detail::Changed(old, new) => changed(*old, *new),
    }
}

/// A line with the number of added or removed entries, and then the entries.
fn listed(sign: Sign, what: &str, content: &Content<'_>) -> Vec<Line> {
    let count = match content {
        Content::Document(_) => plural(1, "document", "documents"),
        Content::Entries(entries) => plural(entries.len(), "map entry", "map entries"),
        Content::Items(items) => plural(items.len(), "list entry", "list entries"),
    };
    let text = yaml::content(content);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let lines: Vec<Line> = text.split('\n').map(|line| Line::new(sign, line)).collect();
    let mut all = vec![Line::new(Sign::Changed, format!("{} {count} {what}:", sign.mark()))];
    all.extend(beside(&[lines]));
    all
}

/// Whether names are short enough for one line on each side.
fn fits_on_lines(before: &[String], after: &[String]) -> bool {
    [before, after].iter().all(|items| items.join(", ").chars().count() < WIDTH / 2)
}

fn reordered(before: &[String], after: &[String]) -> Vec<Line> {
    let mut lines = vec![Line::new(Sign::Reordered, format!("{} order changed", Sign::Reordered.mark()))];
    if fits_on_lines(before, after) {
        lines.push(Line::new(Sign::Removed, format!("- {}", before.join(", "))));
        lines.push(Line::new(Sign::Added, format!("+ {}", after.join(", "))));
        return lines;
    }
    let column = |sign, items: &[String]| -> Vec<Line> {
        let all = items.iter().flat_map(|item| item.lines());
        all.map(|line| Line::new(sign, format!("  {line}"))).collect()
    };
    lines.extend(columns(&[column(Sign::Removed, before), column(Sign::Added, after)], " "));
    lines
}

fn changed(old: NodeRef<'_>, new: NodeRef<'_>) -> Vec<Line> {
    let (before, after) = (old.type_name(), new.type_name());
    if (before, after) == ("string", "string") {
        if old.value().contains('\n') || new.value().contains('\n') {
            return changed_lines(old.value().as_bytes(), new.value().as_bytes());
        }
        return values("value change", old.value(), new.value());
    }
    let what = match before == after {
        true => "value change".to_owned(),
        false => format!("type change from {before} to {after}"),
    };
    values(&what, &yaml::value(old), &yaml::value(new))
}

fn values(what: &str, old: &str, new: &str) -> Vec<Line> {
    let mut all = vec![Line::new(Sign::Changed, format!("{} {what}", Sign::Changed.mark()))];
    for (sign, text) in [(Sign::Removed, old), (Sign::Added, new)] {
        for (index, line) in text.split('\n').enumerate() {
            let mark = if index == 0 { format!("{} ", sign.mark()) } else { "  ".to_owned() };
            all.push(Line::new(sign, format!("{mark}{line}")));
        }
    }
    all
}

/// The lines of a text that differ. Lines that follow each other count as one change.
fn changed_lines(old: &[u8], new: &[u8]) -> Vec<Line> {
    let found = lines::diff(old, new, false);
    let (mut shown, mut inserts, mut deletions) = (Vec::new(), 0, 0);
    for run in found.chunk_by(|one, next| (one.side == Side::Common) == (next.side == Side::Common)) {
        for (wanted, sign, count) in
            [(Side::Old, Sign::Removed, &mut deletions), (Side::New, Sign::Added, &mut inserts)]
        {
            let lines: Vec<_> = run.iter().filter(|line| line.side == wanted).collect();
            *count += usize::from(!lines.is_empty());
            shown.extend(lines.into_iter().map(|line| {
                Line::new(sign, format!("{} {}", sign.mark(), String::from_utf8_lossy(line.text(old, new))))
            }));
        }
    }
    let counts =
        [plural(inserts, "insert", "inserts"), plural(deletions, "deletion", "deletions")].join(", ");
    let head = format!("{} value change in multiline text ({counts})", Sign::Changed.mark());
    let mut all = vec![Line::new(Sign::Changed, head)];
    all.extend(shown);
    all.push(Line::default());
    all
}

/// A number and what is counted; small numbers as words.
fn plural(count: usize, one: &str, many: &str) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let number = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("{number} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
