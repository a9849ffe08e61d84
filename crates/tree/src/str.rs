//! The string type of the workspace: short strings inline, long ones shared.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The maximum length of inline strings, chosen so that `Str` is three words.
const INLINE: usize = 22;

/// An immutable byte string with Go's semantics: usually UTF-8, but any bytes are allowed.
///
/// Strings of up to 22 bytes, which most names and keys are, live inside the value; longer ones are shared by
/// reference count, so that a clone never copies long text. A string can be a slice of a larger one, as the files of an
/// unpacked archive are.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Inline {
        length: u8,
        bytes: [u8; INLINE],
    },
    /// Text that was copied.
    Shared(Arc<[u8]>),
    /// Text that was moved in, or a slice of it. 32-bit offsets keep the value at three words.
    Slice {
        buffer: Arc<Vec<u8>>,
        start: u32,
        end: u32,
    },
}

impl Str {
    /// The empty string.
    pub const EMPTY: Str = Str(Repr::Inline { length: 0, bytes: [0; INLINE] });

    /// Copies `bytes` into a new string.
    #[inline]
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let source = bytes.as_ref();
        if source.len() <= INLINE {
            let mut bytes = [0; INLINE];
            bytes[..source.len()].copy_from_slice(source);
            // At most 22, so it fits a byte.
            Str(Repr::Inline { length: source.len() as u8, bytes })
        } else {
            Str(Repr::Shared(Arc::from(source)))
        }
    }

    /// The bytes of the string.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Repr::Shared(bytes) => bytes,
            Repr::Slice { buffer, start, end } => &buffer[*start as usize..*end as usize],
        }
    }

    /// A slice of the string, which shares its text if that is worthwhile.
    ///
    /// # Panics
    /// When the range is out of bounds.
    pub fn slice(&self, range: Range<usize>) -> Str {
        match &self.0 {
            // A shared string is copied instead: only buffers that were moved in are large enough to be worth
            // keeping alive.
            Repr::Slice { buffer, start, .. } if range.len() > INLINE => {
                let part = &self.as_bytes()[range.clone()];
                // Both ends are within the string, whose offsets fit 32 bits.
                let begin = start + range.start as u32;
                Str(Repr::Slice { buffer: Arc::clone(buffer), start: begin, end: begin + part.len() as u32 })
            }
            _ => Str::new(&self.as_bytes()[range]),
        }
    }

    /// The string, if it is valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// The string with U+FFFD for invalid bytes.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    /// The length in bytes, as Go's `len` gives it.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether the string has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Str {
    fn default() -> Self {
        Str::EMPTY
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Str::new(text)
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Str::new(bytes)
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Str::from(text.into_bytes())
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Str::new(text)
    }
}

impl From<Vec<u8>> for Str {
    /// Takes the bytes without copying, unless they are few or more than 4 GiB.
    fn from(bytes: Vec<u8>) -> Self {
        match u32::try_from(bytes.len()) {
            Ok(end) if bytes.len() > INLINE => Str(Repr::Slice { buffer: Arc::new(bytes), start: 0, end }),
            _ => Str::new(bytes),
        }
    }
}

impl Deref for Str {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<Cow<'_, str>> for Str {
    fn from(text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Str::new(text),
            Cow::Owned(text) => Str::from(text),
        }
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

// `Hash`, `Eq` and `Ord` are those of the byte slice, as `Borrow` requires.
impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Str {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialEq<[u8]> for Str {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_bytes() == other
    }
}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for Str {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_str_lossy())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.to_str_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_three_words() {
        assert_eq!(size_of::<Str>(), 24);
    }

    #[test]
    fn a_slice_of_a_slice_is_the_right_text() {
        let whole = Str::from(b"0123456789".repeat(20));
        let part = whole.slice(15..95);
        assert_eq!(part, whole.as_bytes()[15..95]);
        assert_eq!(part.slice(5..40), whole.as_bytes()[20..55]);
        assert_eq!(part.slice(5..10), "01234");
    }

    #[test]
    fn short_and_long_strings_compare_as_bytes() {
        let long = "x".repeat(40);
        assert_eq!(Str::from(long.as_str()), Str::from(long.clone()));
        assert_eq!(Str::from("a").cmp(&Str::from("a".repeat(30))), std::cmp::Ordering::Less);
        assert_eq!(Str::new([0xff, 0xfe]).as_str(), None);
        assert_eq!(Str::new("y".repeat(22)).len(), 22);
        assert_eq!(Str::new("y".repeat(23)).len(), 23);
    }
}
