//! Writes trees as JSON.

use super::{Error, ErrorKind};
use crate::{KeyOrder, Sink, Walk, number};

/// The layout of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout<'l> {
    /// Without white space.
    Compact,
    /// One entry per line, as Go's `json.MarshalIndent`.
    Indented {
        /// The prefix of every line but the first.
        prefix: &'l str,
        /// The indentation per level.
        step: &'l str,
    },
}

/// Writes `tree` without blanks, `<`, `>` and `&` escaped, as Go's `json.Marshal`.
///
/// # Errors
/// NaN and infinities cannot be represented.
pub fn write(tree: &impl Walk) -> Result<Vec<u8>, Error> {
    finish(tree, Writer::new(Layout::Compact, true))
}

/// Writes `tree` indented by two blanks, `<`, `>` and `&` escaped.
///
/// # Errors
/// NaN and infinities cannot be represented.
pub fn write_pretty(tree: &impl Walk) -> Result<Vec<u8>, Error> {
    finish(tree, Writer::new(Layout::Indented { prefix: "", step: "  " }, true))
}

/// Writes `tree` without blanks and without escapes for HTML.
///
/// # Errors
/// NaN and infinities cannot be represented.
pub fn write_raw(tree: &impl Walk) -> Result<Vec<u8>, Error> {
    finish(tree, Writer::new(Layout::Compact, false))
}

fn finish(tree: &impl Walk, mut writer: Writer<'_>) -> Result<Vec<u8>, Error> {
    tree.walk(&mut writer)?;
    Ok(writer.into_bytes())
}

/// A [`Sink`] that writes JSON.
#[derive(Debug)]
pub struct Writer<'l> {
    out: Vec<u8>,
    layout: Layout<'l>,
    html: bool,
    depth: usize,
    /// Whether the next entry is the first of its list or map.
    first: bool,
    /// Whether a key was written and its value is due.
    keyed: bool,
}

impl<'l> Writer<'l> {
    /// Returns a writer; `html` says whether `<`, `>` and `&` are escaped.
    pub fn new(layout: Layout<'l>, html: bool) -> Self {
        Writer { out: Vec::with_capacity(128), layout, html, depth: 0, first: true, keyed: false }
    }

    /// The text written so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Separates the coming value or key from what is before it.
    #[inline]
    fn separate(&mut self) {
        if self.keyed {
            self.keyed = false;
        } else if self.depth > 0 {
            if !self.first {
                self.out.push(b',');
            }
            self.first = false;
            self.line();
        }
    }

    fn line(&mut self) {
        if let Layout::Indented { prefix, step } = self.layout {
            self.out.push(b'\n');
            self.out.extend_from_slice(prefix.as_bytes());
            for _ in 0..self.depth {
                self.out.extend_from_slice(step.as_bytes());
            }
        }
    }

    fn open(&mut self, bracket: u8) {
        self.separate();
        self.out.push(bracket);
        self.depth += 1;
        self.first = true;
    }

    fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        if !self.first {
            self.line();
        }
        self.first = false;
        self.out.push(bracket);
    }

    fn text(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for chunk in text.utf8_chunks() {
            self.valid(chunk.valid());
            // One for each byte, as Go does; Rust's lossy conversion writes one for each sequence.
            for _ in chunk.invalid() {
                self.out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        self.out.push(b'"');
    }

    fn valid(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut copied = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let special = match byte {
                0..0x20 | b'"' | b'\\' => true,
                // Go escapes these by default, so that JSON can be inlined in HTML. `toRawJson` turns it off.
                b'<' | b'>' | b'&' => self.html,
                // U+2028 and U+2029 are E2 80 A8 and E2 80 A9: line terminators in JavaScript, so Go escapes them.
                0xe2 => matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])),
                _ => false,
            };
            if special {
                self.out.extend_from_slice(&bytes[copied..at]);
                copied = at + if byte == 0xe2 { 3 } else { 1 };
                self.escape(byte, bytes.get(at + 2));
            }
        }
        self.out.extend_from_slice(&bytes[copied..]);
    }

    fn escape(&mut self, byte: u8, third: Option<&u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0xe2 => {
                self.out.extend_from_slice(if third == Some(&0xa8) { b"\\u2028" } else { b"\\u2029" });
                return;
            }
            _ => {
                self.out.extend_from_slice(b"\\u00");
                self.out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
                return;
            }
        };
        self.out.extend([b'\\', short]);
    }
}

impl Sink for Writer<'_> {
    type Error = Error;

    const KEY_ORDER: KeyOrder = KeyOrder::Bytes;

    fn nil(&mut self) -> Result<(), Error> {
        self.separate();
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.separate();
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Error> {
        self.separate();
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        Ok(())
    }

    fn uint(&mut self, value: u64) -> Result<(), Error> {
        self.separate();
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Error> {
        self.separate();
        let Some(text) = number::format_json(value) else {
            let message = format!("json: unsupported value: {}", number::format_value(value));
            return Err(Error::new(ErrorKind::Unsupported, message, self.out.len()));
        };
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn str(&mut self, text: &[u8]) -> Result<(), Error> {
        self.separate();
        self.text(text);
        Ok(())
    }

    fn begin_list(&mut self, _length: usize) -> Result<(), Error> {
        self.open(b'[');
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), Error> {
        self.close(b']');
        Ok(())
    }

    fn begin_map(&mut self, _length: usize) -> Result<(), Error> {
        self.open(b'{');
        Ok(())
    }

    fn key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.separate();
        self.text(key);
        self.out.extend_from_slice(if self.layout == Layout::Compact { b":" } else { b": " });
        self.keyed = true;
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), Error> {
        self.close(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;
    use crate::{Node, Str};

    #[test]
    fn trees_are_written_compact_with_sorted_keys() {
        let node = read(br#"{"b":[1,2.5,{}],"a":{"x":null,"y":[]},"c":1000000}"#).unwrap();
        assert_eq!(write(&node).unwrap(), br#"{"a":{"x":null,"y":[]},"b":[1,2.5,{}],"c":1000000}"#);
    }

    #[test]
    fn indented_text_keeps_empty_brackets_together() {
        let node = read(br#"{"b":[1,{}],"a":[]}"#).unwrap();
        let text = write_pretty(&node).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "{\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ]\n}");
    }

    #[test]
    fn strings_are_escaped_as_go_escapes_them() {
        let node = Node::Str(Str::new(b"<&>\"\\\n\x08\x01\x7f\xff\xe2\x80\xa8\xc3\xa9"));
        assert_eq!(
            write(&node).unwrap(),
            "\"\\u003c\\u0026\\u003e\\\"\\\\\\n\\b\\u0001\x7f\u{fffd}\\u2028é\"".as_bytes()
        );
        assert_eq!(write_raw(&Node::from("<a>")).unwrap(), b"\"<a>\"");
    }

    #[test]
    fn numbers_that_json_lacks_are_refused() {
        assert_eq!(write(&Node::Float(f64::NAN)).unwrap_err().to_string(), "json: unsupported value: NaN");
        assert_eq!(
            write(&Node::Float(f64::INFINITY)).unwrap_err().to_string(),
            "json: unsupported value: +Inf"
        );
    }
}
