//! Where lines of output come from.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pintle_tree::Str;

use super::LineFinder;
use crate::ast::{Node, Source};
use crate::node_text::NodeRef;

/// The line of a template that wrote a line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the source: the path of a template.
    pub source: Str,
    /// The line, from 1.
    pub line: usize,
}

/// What wrote an output, in order.
#[derive(Debug, Default)]
pub(super) struct Recording {
    segments: Vec<Segment>,
    /// Outputs that functions returned since the last node; they belong to it.
    nested: Vec<NestedLine>,
}

/// The output of one node.
#[derive(Debug)]
struct Segment {
    /// Its start in the output; it ends where the next one starts.
    start: usize,
    /// The source; `None` for evaluated strings, whose text is not in a file.
    source: Option<Str>,
    text: Str,
    position: usize,
    /// Whether the output is the source itself, line by line.
    verbatim: bool,
    nested: Vec<NestedLine>,
}

/// A line that `include` or `tpl` returned. Functions such as `nindent` change the indentation of lines at most, so the rest
/// of a line finds it again.
#[derive(Debug)]
struct NestedLine {
    content: u64,
    origin: Option<Origin>,
}

fn content_of(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Lines of nested output are kept for the whole render, so only a hash is stored. A collision shows a
    // wrong origin, and changes no output.
    line.trim_ascii().hash(&mut hasher);
    hasher.finish()
}

impl Recording {
    pub(super) fn node(&mut self, source: &Source, node: &Node, evaluated: bool, written: usize) {
        let nested = std::mem::take(&mut self.nested);
        if let Some(last) = self.segments.last_mut().filter(|_| !nested.is_empty()) {
            last.nested = nested;
        }
        self.segments.push(Segment {
            start: written,
            source: (!evaluated).then(|| source.name.clone()),
            text: source.text.clone(),
            position: NodeRef::Node(node).position(source) as usize,
            verbatim: matches!(node, Node::Text { .. }),
            nested: Vec::new(),
        });
    }

    /// Takes the lines of an output that a function returned.
    pub(super) fn nested(&mut self, inner: Recording, output: &[u8]) {
        let lines = output.split(|byte| *byte == b'\n').map(content_of);
        let origins = inner.lines(output);
        self.nested.extend(lines.zip(origins).map(|(content, origin)| NestedLine { content, origin }));
    }

    /// The origin of each line: of its first character that is not blank.
    pub(super) fn lines(mut self, output: &[u8]) -> Vec<Option<Origin>> {
        if let Some(last) = self.segments.last_mut().filter(|_| !self.nested.is_empty()) {
            last.nested = std::mem::take(&mut self.nested);
        }
        let mut lines = Vec::new();
        let mut start = 0;
        // The segment of the line before, and how many of its nested lines have been found.
        let (mut at, mut found) = (0, 0);
        let mut finder = LineFinder::default();
        for line in output.split(|byte| *byte == b'\n') {
            let indentation = line.len() - line.trim_ascii_start().len();
            let first = if indentation == line.len() { start } else { start + indentation };
            let segment = self.segments.partition_point(|segment| segment.start <= first).checked_sub(1);
            lines.push(segment.and_then(|index| {
                if index != at {
                    (at, found) = (index, 0);
                }
                self.segments[index].origin(first, line, &mut found, &mut finder)
            }));
            start += line.len() + 1;
        }
        lines
    }
}

impl Segment {
    fn origin(
        &self,
        offset: usize,
        line: &[u8],
        found: &mut usize,
        finder: &mut LineFinder,
    ) -> Option<Origin> {
        if !self.nested.is_empty() && !line.trim_ascii().is_empty() {
            let content = content_of(line);
            let same = |nested: &NestedLine| nested.content == content;
            if let Some(index) = self.nested.get(*found..).and_then(|rest| rest.iter().position(same)) {
                let nested = &self.nested[*found + index];
                *found += index + 1;
                if nested.origin.is_some() {
                    return nested.origin.clone();
                }
            }
        }
        // Text is copied line by line, so lines of the output are lines of the source; all lines of an action
        // have its line.
        let within = if self.verbatim { offset - self.start } else { 0 };
        let source = self.source.clone()?;
        Some(Origin { line: finder.line(&self.text, self.position + within), source })
    }
}
