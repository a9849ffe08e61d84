//! Texts that objects, patches and kustomizations came from, and the lines of their fields.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use pintle_tree::{Segment, Str, ValuePath, with_stack};
use pintle_yaml::outline::{NodeRef, Outline};

/// How deep lines are looked for.
const DEPTH: usize = 400;

/// A document of a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) file: Arc<str>,
    text: Arc<[u8]>,
    /// Where the document is in the text.
    range: Range<usize>,
    /// The line breaks before it in the text.
    before: usize,
    /// Where its fields are, found when first asked for; shared by the items of a list.
    fields: Arc<OnceLock<Field>>,
    /// Where the line breaks of the text are, found when first asked for.
    breaks: OnceLock<Vec<usize>>,
    /// What the path has to begin with: an item of a `List`.
    inside: Option<ValuePath>,
    position: Position,
}

/// Where a text is in its file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Position {
    /// It is the file.
    #[default]
    Whole,
    /// It begins after so many lines of the file, as a block scalar.
    After(usize),
    /// All of it counts as one line.
    Line(usize),
}

/// A field with those in it.
#[derive(Clone, Debug, Default)]
struct Field {
    line: usize,
    entries: Vec<(Str, Field)>,
    items: Vec<Field>,
}

impl Document {
    pub(crate) fn new(file: Arc<str>, text: Arc<[u8]>, range: Range<usize>) -> Self {
        Document {
            file,
            text,
            range,
            before: 0,
            fields: Arc::default(),
            breaks: OnceLock::new(),
            inside: None,
            position: Position::Whole,
        }
    }

    /// The document at a position of its file.
    pub(crate) fn at(self, position: Position) -> Self {
        Document { position, ..self }
    }

    /// The document with the number of line breaks before it in the text, which counting for each of many documents would
    /// take too long.
    pub(crate) fn after(self, before: usize) -> Self {
        Document { before, ..self }
    }

    /// Something without a text, at a line of a file.
    pub(crate) fn fixed(file: Arc<str>, line: usize) -> Self {
        Document::new(file, Arc::from([]), 0..0).at(Position::Line(line))
    }

    /// The document seen from one of its nodes.
    pub(crate) fn inside(&self, path: ValuePath) -> Self {
        Document {
            before: self.before,
            fields: self.fields.clone(),
            inside: Some(path),
            position: self.position,
            ..Document::new(self.file.clone(), self.text.clone(), self.range.clone())
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.text[self.range.clone()]
    }

    fn lines_before(&self) -> usize {
        let before = match self.position {
            Position::After(lines) => lines,
            _ => 0,
        };
        before + self.before
    }

    /// The line of the first content of the document.
    pub(crate) fn first_line(&self) -> usize {
        if let Position::Line(line) = self.position {
            return line;
        }
        if self.inside.is_some() {
            return self.line_of(&ValuePath::root());
        }
        let blank = |line: &&[u8]| {
            let line = line.trim_ascii();
            line.is_empty() || line.starts_with(b"#") || line.starts_with(b"---")
        };
        let skipped = self.bytes().split(|&byte| byte == b'\n').take_while(blank).count();
        self.lines_before() + skipped + 1
    }

    /// The line of a field, or of the nearest one around it.
    pub(crate) fn line_of(&self, path: &ValuePath) -> usize {
        if let Position::Line(line) = self.position {
            return line;
        }
        let mut field = self.fields.get_or_init(|| self.find_fields());
        let inside = self.inside.iter().flat_map(ValuePath::segments);
        for segment in inside.chain(path.segments()) {
            let next = match segment {
                Segment::Key(key) => {
                    field.entries.iter().rfind(|(name, _)| name == key).map(|(_, field)| field)
                }
                Segment::Index(index) => field.items.get(*index),
            };
            let Some(next) = next else { break };
            field = next;
        }
        field.line
    }

    /// Whether a line of the file ends with the sign of a literal block.
    pub(crate) fn is_block_at(&self, line: usize) -> bool {
        let find = || {
            let breaks = self.text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            breaks.map(|(at, _)| at).collect()
        };
        let breaks = self.breaks.get_or_init(find);
        let start = line.checked_sub(2).map_or(Some(0), |before| breaks.get(before).map(|at| at + 1));
        let Some(start) = start else { return false };
        let text = &self.text[start..breaks.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())];
        let text = text.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii_end();
        [&b"|"[..], b"|-", b"|+"].iter().any(|sign| text.ends_with(sign))
    }

    fn find_fields(&self) -> Field {
        let before = self.lines_before();
        let bytes = self.bytes();
        let breaks: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
        let line_at = |offset: usize| before + 1 + breaks.partition_point(|&at| at < offset);
        let outline = Outline::read_version_3(bytes).ok();
        let root = outline.as_ref().and_then(|outline| outline.roots().next());
        root.map(|root| field_of(root, root.range().start, &line_at, 0)).unwrap_or_default()
    }
}

fn field_of(node: NodeRef<'_>, start: usize, line_at: &dyn Fn(usize) -> usize, depth: usize) -> Field {
    let mut field = Field { line: line_at(start), ..Field::default() };
    // What is behind an alias is elsewhere, and may be huge.
    if depth >= DEPTH || node.target().range() != node.range() {
        return field;
    }
    for entry in node.entries() {
        let Some(key) = entry.key.key() else { continue };
        let at = entry.key.range().start;
        field.entries.push((Str::new(&*key), with_stack(|| field_of(entry.value, at, line_at, depth + 1))));
    }
    for item in node.items() {
        field.items.push(with_stack(|| field_of(item, item.range().start, line_at, depth + 1)));
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file_whatever_document_it_is() {
        let text: Arc<[u8]> = Arc::from(&b"a: 1\n---\n# x\nb:\n- c: 1\n  d: 2\n"[..]);
        let document = Document::new("f".into(), text, 9..29).after(2);
        assert_eq!(document.first_line(), 4);
        assert_eq!(document.line_of(&"b[0].d".parse().expect("a path")), 6);
        assert_eq!(document.line_of(&"b[0].d.e".parse().expect("a path")), 6);
        assert_eq!(
            Document::new("f".into(), "b: 1\n".as_bytes().into(), 0..5).at(Position::After(7)).first_line(),
            8
        );
        assert_eq!(document.inside("b[0]".parse().expect("a path")).first_line(), 5);
    }
}
