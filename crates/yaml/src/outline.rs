//! Source positions of nodes, so that a program can edit one scalar and keep every other byte.
//!
//! [`Outline::read`] accepts the same texts as [`crate::read`], with the same errors, but a whole stream of
//! documents. It builds no tree: nodes are a flat list of positions, and a [`NodeRef`] refers to one of them.
//! [`Edits`] collects changes and applies them in one pass.
//!
//! Anchors share text. A [`NodeRef`] of an alias has [`Kind::Alias`]; [`NodeRef::get`] and [`NodeRef::items`] follow
//! it, and [`NodeRef::is_shared`] returns whether a change would be visible through aliases elsewhere. [`Edits`] that
//! replace an alias write the new text in its place; the anchor is not changed. [`expand_aliases`] expands whatever
//! is shared on the paths to be edited.
//!
//! ```
//! use pintle_yaml::outline::{Edits, Outline};
//!
//! let text = b"# Source: a.yaml\nspec:\n  image: 'nginx:1.25'   # pinned\n  args: [run]\n";
//! let outline = Outline::read(text)?;
//! let root = outline.roots().next().expect("one document");
//! let spec = root.get("spec").expect("a spec");
//! let image = spec.get("image").expect("an image");
//! assert_eq!((image.text().as_ref(), image.line()), (b"nginx:1.25".as_slice(), 3));
//!
//! let mut edits = Edits::new(&outline);
//! edits.replace_scalar(image, "registry.local/nginx:1.25");
//! edits.set(spec, "tag", &"1.25".into());
//! edits.push(spec.get("args").expect("arguments"), &"now".into());
//! assert_eq!(
//!     String::from_utf8_lossy(&edits.apply()?),
//!     "# Source: a.yaml\nspec:\n  image: 'registry.local/nginx:1.25'   # pinned\n  args: [run, now]\n  tag: \"1.25\"\n"
//! );
//! # Ok::<(), pintle_yaml::Error>(())
//! ```

mod compose;
mod edits;
mod expand;
mod node_ref;
mod patch;
mod record;
mod render;
mod scalar;
mod stream;

pub use edits::Edits;
pub use expand::{PathSegment, expand_aliases, expand_aliases_in};
pub use node_ref::{Entry, Kind, NodeRef, Style};
pub use patch::patch;
pub use stream::{Documents, Written, documents};

use std::ops::Range;

use memchr::memmem;
use pintle_tree::{Segment, ValuePath};

use crate::error::Error;
use crate::fast;
use record::{Item, Recorder};

/// Line breaks that are neither line feeds nor carriage returns.
const UNICODE_BREAKS: [&[u8]; 3] = [b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9"];

/// The nodes of a text with their positions.
#[derive(Debug)]
pub struct Outline<'t> {
    text: &'t [u8],
    items: Vec<Item>,
    /// The indices of the documents' roots.
    roots: Vec<u32>,
    /// Aliases with their targets, sorted by index.
    aliases: Vec<(u32, u32)>,
    /// Nodes with an anchor or a tag, and where that starts, sorted by index.
    properties: Vec<(u32, u32)>,
}

impl<'t> Outline<'t> {
    /// Reads all documents of a text.
    ///
    /// # Errors
    /// The first document that [`crate::read`] does not read. An error of a later document names the line on which the
    /// document begins, from which the error itself counts. Also text that is UTF-16, or four gigabytes long.
    pub fn read(text: &'t [u8]) -> Result<Self, Error> {
        let mut recorder = Recorder::for_text(text);
        for document in documents(text) {
            let bytes = &text[document.range.clone()];
            record(bytes, document.range.start, &mut recorder).map_err(|error| match document.line {
                1 => error,
                line => error.within(&format!("the document that begins on line {line}")),
            })?;
        }
        Ok(recorder.into_outline(text))
    }

    /// Reads the first document of a text, and nothing after it.
    ///
    /// # Errors
    /// As [`crate::read`]. Also text that is UTF-16, or four gigabytes long.
    pub fn read_first(text: &'t [u8]) -> Result<Self, Error> {
        let mut recorder = Recorder::for_text(text);
        record(text, 0, &mut recorder)?;
        Ok(recorder.into_outline(text))
    }

    /// Reads the first document of a text as go-yaml 3 does, with its errors. What scalars and aliases mean is left to the
    /// caller: a scalar may not be what its tag says, and an alias may contain itself.
    ///
    /// # Errors
    /// Text that is not valid YAML. Also text that is UTF-16, or four gigabytes long.
    pub fn read_version_3(text: &'t [u8]) -> Result<Self, Error> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::new("yaml: document is too large"));
        }
        let mut recorder = Recorder::for_text(text);
        recorder.begin_document(0);
        compose::compose_events(text, &mut recorder).map_err(Error::into_version_3)?;
        Ok(recorder.into_outline(text))
    }

    /// Like [`Outline::read_first`], without the fast reader, for comparing the two.
    ///
    /// # Errors
    /// As [`Outline::read_first`].
    #[doc(hidden)]
    pub fn read_faithfully(text: &'t [u8]) -> Result<Self, Error> {
        let mut recorder = Recorder::for_text(text);
        recorder.begin_document(0);
        compose::compose(text, &mut recorder)?;
        Ok(recorder.into_outline(text))
    }

    /// The text.
    pub fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The root of each document. An empty document, or one of comments, has an empty scalar.
    pub fn roots(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.roots.iter().map(|&index| self.node_ref(index))
    }

    /// All aliases, in the order of the text.
    pub fn aliases(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.aliases.iter().map(|&(index, _)| self.node_ref(index))
    }

    /// The line of a node of the first document, counted from one; of an entry of a map, that of its key.
    pub fn line_of(&self, path: &ValuePath) -> Option<usize> {
        let mut node = self.roots().next()?;
        let mut line = node.line();
        for segment in path.segments() {
            (node, line) = match segment {
                Segment::Key(key) => {
                    let key = key.as_str()?;
                    let value = node.get(key)?;
                    let written = node.entry(key).map(|entry| entry.key.line());
                    (value, written.unwrap_or_else(|| value.line()))
                }
                Segment::Index(index) => {
                    let item = node.items().nth(*index)?;
                    (item, item.line())
                }
            };
        }
        Some(line)
    }

    /// The line of an offset, counted from one.
    pub fn line(&self, offset: usize) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.text[..offset.min(self.text.len())]).count()
    }

    fn node_ref(&self, index: u32) -> NodeRef<'_> {
        NodeRef { outline: self, index }
    }

    fn item(&self, index: u32) -> &Item {
        &self.items[index as usize]
    }

    /// The start of the line of an offset.
    fn line_start(&self, offset: usize) -> usize {
        let start = memchr::memrchr2(b'\n', b'\r', &self.text[..offset]).map_or(0, |at| at + 1);
        let line = &self.text[start..offset];
        // Non-ASCII lines are rare; only they are searched for Unicode line breaks.
        if line.is_ascii() {
            return start;
        }
        let breaks =
            UNICODE_BREAKS.iter().filter_map(|unicode| Some(memmem::rfind(line, unicode)? + unicode.len()));
        start + breaks.max().unwrap_or(0)
    }

    /// The end of the line of an offset, without its break.
    pub fn line_end(&self, offset: usize) -> usize {
        let rest = &self.text[offset..];
        let line = &rest[..memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())];
        if line.is_ascii() {
            return offset + line.len();
        }
        let breaks = UNICODE_BREAKS.iter().filter_map(|unicode| memmem::find(line, unicode));
        offset + breaks.min().unwrap_or(line.len())
    }

    /// The start of the line after that of an offset.
    fn next_line(&self, offset: usize) -> usize {
        let end = self.line_end(offset);
        match self.text[end..] {
            [] => end,
            [b'\r', b'\n', ..] | [0xc2, ..] => end + 2,
            [0xe2, ..] => end + 3,
            _ => end + 1,
        }
    }

    /// The lines of a range without the break after them but with the one before, so that what is added after them
    /// follows what is left. At the end of the text all breaks stay, since the last one may belong to a scalar.
    fn whole_lines(&self, range: Range<usize>) -> Range<usize> {
        let (start, end) = (self.line_start(range.start), self.line_end(range.end));
        match &self.text[..start] {
            _ if end == self.text.len() => start..end,
            [.., b'\r', b'\n'] => start - 2..end,
            [.., b'\n' | b'\r'] => start - 1..end,
            // Unusual breaks are kept.
            _ => start..end,
        }
    }

    /// The line break of the text.
    fn line_break(&self) -> &'static [u8] {
        match memchr::memchr(b'\n', self.text) {
            Some(at) if at > 0 && self.text[at - 1] == b'\r' => b"\r\n",
            _ => b"\n",
        }
    }
}

/// Records one document that begins at `base`.
fn record(text: &[u8], base: usize, recorder: &mut Recorder) -> Result<(), Error> {
    if u32::try_from(base + text.len()).is_err() {
        return Err(Error::new("yaml: document is too large"));
    }
    recorder.begin_document(base);
    if fast::read(text, recorder).is_some() {
        return Ok(());
    }
    recorder.forget_document();
    compose::compose(text, recorder)
}
