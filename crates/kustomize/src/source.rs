//! Texts that objects, patches and kustomizations came from, and the lines of their fields.

use std::sync::{Arc, OnceLock};

use pintle_tree::ValuePath;
use pintle_yaml::outline::Outline;

/// A document of a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) file: Arc<str>,
    text: Arc<[u8]>,
    /// Where the document is in the text.
    range: std::ops::Range<usize>,
    /// The number of line breaks before it, found when first asked for.
    before: OnceLock<usize>,
    /// What the path has to begin with: an item of a `List`.
    inside: Option<ValuePath>,
}

impl Document {
    pub(crate) fn new(file: Arc<str>, text: Arc<[u8]>, range: std::ops::Range<usize>) -> Self {
        Document { file, text, range, before: OnceLock::new(), inside: None }
    }

    /// The document as the text around one of its nodes.
    pub(crate) fn inside(&self, path: ValuePath) -> Self {
        Document {
            file: self.file.clone(),
            text: self.text.clone(),
            range: self.range.clone(),
            before: self.before.clone(),
            inside: Some(path),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.text[self.range.clone()]
    }

    fn lines_before(&self) -> usize {
        *self.before.get_or_init(|| self.text[..self.range.start].iter().filter(|&&byte| byte == b'\n').count())
    }

    /// The line of the first content of the document.
    pub(crate) fn first_line(&self) -> usize {
        if let Some(line) = self.inside.as_ref().and_then(|_| self.line_of(&ValuePath::root())) {
            return line;
        }
        let blank = |line: &&[u8]| {
            let line = line.trim_ascii();
            line.is_empty() || line.starts_with(b"#") || line.starts_with(b"---")
        };
        let skipped = self.bytes().split(|&byte| byte == b'\n').take_while(blank).count();
        self.lines_before() + skipped + 1
    }

    /// The line of a field, or of the nearest one around it.
    pub(crate) fn line_of(&self, path: &ValuePath) -> Option<usize> {
        let outline = Outline::read_version_3(self.bytes()).ok()?;
        let mut path = match &self.inside {
            Some(base) => path.segments().iter().fold(base.clone(), |path, segment| path.with(segment.clone())),
            None => path.clone(),
        };
        loop {
            if path.segments().is_empty() {
                return None;
            }
            if let Some(line) = outline.line_of(&path) {
                return Some(self.lines_before() + line);
            }
            path = path.parent()?;
        }
    }
}
