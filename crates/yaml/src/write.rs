//! Writes trees as YAML.
//! Helm's `toYaml` encodes JSON, reads that as YAML and writes it again. For nearly all trees the detour
//! changes nothing but numbers, so they are written directly; the rest takes the detour.

mod commented;
mod emitter;
mod native;
mod pretty;
mod scalar;
mod style;

use pintle_tree::number::{format_json, format_value};
use pintle_tree::{KeyOrder, Sink, Walk, json};

use crate::builder::Assembler;
use crate::error::Error;
use crate::read;
use crate::resolve::is_plainly_text;
use crate::value::Value;
use emitter::{Emitter, Flavor};
pub(crate) use native::NativeWriter;
pub use pretty::{write_pretty, write_version_3};
use scalar::Style;
use style::analyze;

/// The maximum nesting of a tree: what go-yaml reads, when the JSON is converted.
const DEPTH: usize = 10_000;

/// Keys longer than this may be too long for the JSON text that Go reads back: a simple key has at most 1024
/// characters, and JSON spells one character with up to six (`\u003c`).
const LONG_KEY: usize = 160;

/// Writes a tree as YAML, with a line feed at the end.
///
/// # Errors
/// For numbers that JSON cannot represent, and text that go-yaml would not read back.
pub fn write(tree: &impl Walk) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write_to(tree, &mut out)?;
    Ok(out)
}

/// Like [`write()`], appending to `out`. On an error `out` is unchanged.
///
/// # Errors
/// Like [`write()`].
pub fn write_to(tree: &impl Walk, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    if emit(tree, out, false).is_ok() {
        return Ok(());
    }
    out.truncate(start);
    // Some text or number changes when Go converts to JSON and back, so this does the same.
    let json = json::write(tree)
        .map_err(|error| Error::new(error.to_string()).within("error marshaling into JSON"))?;
    let value = read::read_yaml(&json, &mut Assembler::<Value>::default())?;
    if emit(&value, out, true).is_err() {
        out.truncate(start);
        return Err(Error::new("yaml: exceeded max depth of 10000"));
    }
    Ok(())
}

fn emit(tree: &impl Walk, out: &mut Vec<u8>, trusted: bool) -> Result<(), Exotic> {
    let mut writer = Writer { emitter: Emitter::new(out, Flavor::Compact), trusted };
    tree.walk(&mut writer)?;
    writer.emitter.finish();
    Ok(())
}

/// Whether a string can be plain in a block, and is read as a string.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    is_plainly_text(text) && analyze(text, false).plain && text != b"<<" && text != b"="
}

/// Whether a string can be in single quotes on one line.
pub(crate) fn is_single(text: &[u8]) -> bool {
    let analysis = analyze(text, false);
    analysis.single && !analysis.multiline
}

/// Whether a string can be a block whose first line determines its indentation, whatever blank lines follow.
pub(crate) fn is_block(text: &[u8]) -> bool {
    let odd = matches!(text, [] | [b' ' | b'\t' | b'\n', ..] | [.., b'\n', b'\n']);
    let separators =
        memchr::memmem::find(text, b"\xe2\x80\xa8").or(memchr::memmem::find(text, b"\xe2\x80\xa9"));
    !odd && separators.is_none() && analyze(text, true).block
}

/// Writes a string in double quotes, on one line.
pub(crate) fn double_quoted(text: &[u8], out: &mut Vec<u8>) {
    Emitter::new(out, Flavor::Pretty).scalar(text, Style::Double, 0, false);
}

/// Writes a string in single quotes, on one line.
pub(crate) fn single_quoted(text: &[u8], out: &mut Vec<u8>) {
    Emitter::new(out, Flavor::Pretty).scalar(text, Style::Single, 0, false);
}

/// Writes a string as a literal block whose lines are indented by `indent`.
pub(crate) fn literal_block(text: &[u8], indent: usize, out: &mut Vec<u8>) {
    Emitter::new(out, Flavor::Pretty).scalar(text, Style::Literal, indent, false);
}

/// The tree has something that JSON does not preserve.
struct Exotic;

struct Writer<'o> {
    emitter: Emitter<'o>,
    /// Whether the tree has been through JSON already.
    trusted: bool,
}

impl Sink for Writer<'_> {
    type Error = Exotic;

    // go-yaml sorts the keys of maps in natural order: `a2` before `a10`.
    const KEY_ORDER: KeyOrder = KeyOrder::Natural;

    fn nil(&mut self) -> Result<(), Exotic> {
        self.emitter.word("null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Exotic> {
        self.emitter.word(if value { "true" } else { "false" });
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Exotic> {
        self.emitter.word(&value.to_string());
        Ok(())
    }

    fn uint(&mut self, value: u64) -> Result<(), Exotic> {
        self.emitter.word(&value.to_string());
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Exotic> {
        // What JSON spells as an integer is read back as one, if it fits.
        if value.fract() == 0.0 && value.abs() < 1e15 {
            return self.int(value as i64);
        }
        // NaN and infinities have no JSON; the detour then fails with Go's error.
        let json = format_json(value).ok_or(Exotic)?;
        if json.parse::<i64>().is_ok() || json.parse::<u64>().is_ok() {
            self.emitter.word(&json);
        } else {
            self.emitter.word(&format_value(value));
        }
        Ok(())
    }

    fn str(&mut self, text: &[u8]) -> Result<(), Exotic> {
        let analysis = analyze(text, false);
        if analysis.exotic && !self.trusted {
            return Err(Exotic);
        }
        self.emitter.string(text, analysis);
        Ok(())
    }

    fn begin_list(&mut self, length: usize) -> Result<(), Exotic> {
        if self.emitter.depth() >= DEPTH {
            return Err(Exotic);
        }
        self.emitter.begin_list(length);
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), Exotic> {
        self.emitter.end();
        Ok(())
    }

    fn begin_map(&mut self, length: usize) -> Result<(), Exotic> {
        if self.emitter.depth() >= DEPTH {
            return Err(Exotic);
        }
        self.emitter.begin_map(length);
        Ok(())
    }

    fn key(&mut self, key: &[u8]) -> Result<(), Exotic> {
        let analysis = analyze(key, false);
        if (analysis.exotic || key.len() > LONG_KEY) && !self.trusted {
            return Err(Exotic);
        }
        self.emitter.key(key, analysis);
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), Exotic> {
        self.emitter.end();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::Node;

    fn written(text: &str) -> String {
        String::from_utf8(write(&crate::read(text.as_bytes()).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn lists_are_not_indented_under_keys() {
        assert_eq!(
            written("{a: [{b: 1, c: [[x, []], {}]}], d: {}}"),
            "a:\n- b: 1\n  c:\n  - - x\n    - []\n  - {}\nd: {}\n"
        );
    }

    #[test]
    fn long_lines_fold_at_blanks() {
        let text = format!("{} {} {}", "a".repeat(40), "b".repeat(45), "c".repeat(10));
        let folded = format!("k: {} {}\n  {}\n", "a".repeat(40), "b".repeat(45), "c".repeat(10));
        assert_eq!(written(&format!("k: {text}")), folded);
    }

    #[test]
    fn numbers_are_spelled_as_after_json() {
        for (value, text) in [
            (-0.0, "0\n"),
            (1e6, "1000000\n"),
            (1e20, "1e+20\n"),
            (1e19, "10000000000000000000\n"),
            (1234567.5, "1.2345675e+06\n"),
            (0.000001, "1e-06\n"),
        ] {
            assert_eq!(write(&Node::Float(value)).unwrap(), text.as_bytes());
        }
        let error = write(&Node::Float(f64::NAN)).unwrap_err();
        assert_eq!(error.to_string(), "error marshaling into JSON: json: unsupported value: NaN");
    }

    #[test]
    fn an_error_leaves_the_output_as_it_was() {
        let mut out = b"x".to_vec();
        let error = write_to(&Node::from("a\u{7f}"), &mut out).unwrap_err();
        assert_eq!(error.to_string(), "yaml: control characters are not allowed");
        assert_eq!(out, b"x");
    }
}
