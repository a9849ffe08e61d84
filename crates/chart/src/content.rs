//! File contents that may stay compressed until they are read.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use pintle_tree::Str;

/// The bytes of a file. Cheap to clone, because a file is often listed in several fields of a chart.
///
/// Large files of an archive that few operations read, CRDs above all, are decompressed on first access, all of one
/// archive at once.
#[derive(Clone)]
pub struct Content(Repr);

#[derive(Clone)]
enum Repr {
    Here(Str),
    Packed { archive: Arc<Packed>, start: u32, end: u32 },
}

/// The part of an archive whose decompression is deferred.
pub(crate) struct Packed {
    archive: Str,
    /// Extracts that part from the archive.
    unpack: fn(&[u8]) -> Vec<u8>,
    text: OnceLock<Str>,
}

impl Packed {
    /// Defers `unpack` on the archive until the first access.
    pub(crate) fn new(archive: Str, unpack: fn(&[u8]) -> Vec<u8>) -> Self {
        Packed { archive, unpack, text: OnceLock::new() }
    }

    fn text(&self) -> &Str {
        self.text.get_or_init(|| Str::from((self.unpack)(&self.archive)))
    }
}

impl Content {
    /// A range of the deferred part of an archive.
    pub(crate) fn packed(archive: &Arc<Packed>, range: Range<usize>) -> Self {
        // Archives of more than 4 GiB were rejected when they were read.
        Content(Repr::Packed {
            archive: Arc::clone(archive),
            start: range.start as u32,
            end: range.end as u32,
        })
    }

    /// The content as a string that shares its bytes.
    pub fn text(&self) -> Str {
        match &self.0 {
            Repr::Here(text) => text.clone(),
            Repr::Packed { archive, start, end } => {
                let text = archive.text();
                // The archive was read completely before, so the range exists.
                let end = (*end as usize).min(text.len());
                text.slice((*start as usize).min(end)..end)
            }
        }
    }

    /// The size in bytes, known without decompressing.
    pub fn size(&self) -> usize {
        match &self.0 {
            Repr::Here(text) => text.len(),
            Repr::Packed { start, end, .. } => (*end - *start) as usize,
        }
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Repr::Here(text) => text,
            Repr::Packed { archive, start, end } => {
                archive.text().get(*start as usize..*end as usize).unwrap_or_default()
            }
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Str> for Content {
    fn from(text: Str) -> Self {
        Content(Repr::Here(text))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Str::from(bytes).into()
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_text_is_the_same_whichever_way_it_is_read() {
        let archive = Arc::new(Packed::new(Str::from("abc"), |archive| archive.repeat(20)));
        let content = Content::packed(&archive, 3..33);
        assert_eq!(&content[..], b"abc".repeat(10));
        assert_eq!(content.text(), b"abc".repeat(10)[..]);
        assert_eq!(content, Content::from(b"abc".repeat(10)));
        assert_eq!(&Content::packed(&archive, 50..90)[..], b"");
    }
}
