//! From a field of an object to the line of the template that wrote it.

use pintle_render::trace::Origin;
use pintle_yaml::outline::{NodeRef, Outline};

use crate::document::Document;
use crate::finding::SourceLine;
use crate::run::RenderedText;

/// Finds the places of fields of a document, which is parsed once for all of them.
pub(crate) struct Locator<'d> {
    document: &'d Document<'d, 'd>,
    outline: Option<Outline<'d>>,
}

impl<'d> Locator<'d> {
    pub(crate) fn new(document: &'d Document<'d, 'd>) -> Self {
        Locator { document, outline: Outline::read_first(&document.text).ok() }
    }

    /// The place of a field, or of what should contain it.
    pub(crate) fn field(&self, pointer: &str) -> SourceLine {
        let root = self.outline.as_ref().and_then(|outline| outline.roots().next());
        line_of(self.document, root.map_or(1, |root| field_line(root, pointer)))
    }
}

/// The place of a line of a document.
pub(crate) fn line_of(document: &Document<'_, '_>, line: usize) -> SourceLine {
    document.file.location(document.line + line - 1)
}

/// The line of the last part of a JSON pointer that exists.
fn field_line(root: NodeRef<'_>, pointer: &str) -> usize {
    let (mut node, mut line) = (root, root.line());
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = match node.entry(&token) {
            Some(entry) => Some((entry.value, entry.key.line())),
            None => {
                let item = token.parse().ok().and_then(|index: usize| node.items().nth(index));
                item.or_else(|| node.get(&token)).map(|item| (item, item.line()))
            }
        };
        let Some((found, at)) = next else { break };
        (node, line) = (found, at);
    }
    line
}

impl RenderedText {
    /// The place that wrote a line of the text: in a template if that is known, in the text itself if not.
    pub(crate) fn location(&self, line: usize) -> SourceLine {
        match self.origins.get(line.saturating_sub(1)) {
            Some(Some(Origin { source, line })) => {
                SourceLine { file: in_chart(&source.to_str_lossy()), line: *line }
            }
            _ if self.origins.is_empty() => SourceLine { file: self.path.clone(), line },
            // The line was written by a string of the values; only the template is known.
            _ => SourceLine { file: in_chart(&self.path), line: 0 },
        }
    }
}

/// The path of a template without the name of the root chart.
pub(crate) fn in_chart(path: &str) -> String {
    path.split_once('/').map_or(path, |(_, rest)| rest).to_owned()
}
