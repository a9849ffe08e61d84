//! `toYamlPretty`: go-yaml 3 with its own key order and layout, and no detour through JSON.

use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::number::format_value;
use pintle_tree::unicode::{is_digit, is_letter};
use pintle_tree::{KeyOrder, Sink, Str, Walk, natural_order};

use super::emitter::{Emitter, Flavor};
use super::style::analyze;
use crate::value::Value;

/// The tag of text that is not UTF-8.
const BINARY: &str = "!!binary";

/// Writes a tree as YAML the way `toYamlPretty` does, with a line feed at the end. It never fails.
pub fn write_pretty(tree: &impl Walk) -> Vec<u8> {
    write_flavor(tree, Flavor::Pretty)
}

/// Writes a tree as go-yaml 3 does without options: like [`write_pretty`], with four blanks for each level.
pub fn write_version_3(tree: &impl Walk) -> Vec<u8> {
    write_flavor(tree, Flavor::Wide)
}

fn write_flavor(tree: &impl Walk, flavor: Flavor) -> Vec<u8> {
    // The sort needs all keys of a map before the first is written.
    let mut collector = Collector::default();
    let Ok(()) = tree.walk(&mut collector);
    let mut out = Vec::new();
    let mut emitter = Emitter::new(&mut out, flavor);
    emit(&collector.nodes.pop().unwrap_or(Piece::Leaf(Value::Nil)), &mut emitter);
    emitter.finish();
    out
}

/// A tree before it is written.
enum Piece {
    /// Neither a list nor a map.
    Leaf(Value),
    /// A time, which is never quoted.
    Time(String),
    List(Vec<Piece>),
    /// Entries to be sorted.
    Map(Vec<(Str, Piece)>),
    /// Entries that keep this order.
    Fields(Vec<(Str, Piece)>),
}

fn emit(piece: &Piece, emitter: &mut Emitter<'_>) {
    match piece {
        Piece::Leaf(value) => leaf(value, emitter),
        Piece::Time(text) => emitter.word(text),
        Piece::List(items) => {
            emitter.begin_list(items.len());
            for item in items {
                emit(item, emitter);
            }
            emitter.end();
        }
        Piece::Map(entries) => {
            emitter.begin_map(entries.len());
            for (key, piece) in sorted(entries) {
                entry(key, piece, emitter);
            }
            emitter.end();
        }
        Piece::Fields(entries) => {
            emitter.begin_map(entries.len());
            for (key, piece) in entries {
                entry(key, piece, emitter);
            }
            emitter.end();
        }
    }
}

fn entry(key: &Str, piece: &Piece, emitter: &mut Emitter<'_>) {
    match encoded(key) {
        Some(key) => emitter.tagged_key(BINARY, key.as_bytes()),
        None => emitter.key(key.as_bytes(), analyze(key.as_bytes(), true)),
    }
    emit(piece, emitter);
}

fn leaf(value: &Value, emitter: &mut Emitter<'_>) {
    match value {
        Value::Bool(value) => emitter.word(if *value { "true" } else { "false" }),
        Value::Int(value) => emitter.word(&value.to_string()),
        Value::Uint(value) => emitter.word(&value.to_string()),
        Value::Float(value) => emitter.word(&spell(*value)),
        Value::Str(text) => match encoded(text) {
            Some(text) => emitter.tagged(BINARY, text.as_bytes()),
            None => emitter.string(text.as_bytes(), analyze(text.as_bytes(), true)),
        },
        // Lists and maps are other variants of `Piece`, so they do not occur here.
        Value::Nil | Value::List(_) | Value::Map(_) => emitter.word("null"),
    }
}

fn spell(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else {
        format_value(value)
    }
}

/// Base64 in lines of 70, for text that is not UTF-8.
fn encoded(text: &Str) -> Option<String> {
    if text.as_str().is_some() {
        return None;
    }
    let encoded = STANDARD.encode(text.as_bytes());
    // From one full line on (`lineLen` of go-yaml 3), every line has a break, also the last.
    if encoded.len() < 70 {
        return Some(encoded);
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / 70 + 1);
    for (at, character) in encoded.chars().enumerate() {
        if at > 0 && at % 70 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    lines.push('\n');
    Some(lines)
}

/// Whether key `a` comes before key `b`: as in go-yaml 2, but right after an equal digit a letter comes first.
fn is_before(a: &Str, b: &Str) -> bool {
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        let mut previous = None;
        for (x, y) in left.chars().zip(right.chars()) {
            if x != y {
                if previous.is_some_and(is_digit) && is_letter(x) != is_letter(y) {
                    return is_letter(x);
                }
                break;
            }
            previous = Some(x);
        }
    }
    natural_order(a.as_bytes(), b.as_bytes()).is_lt()
}

/// Sorts by [`is_before`], which is not a total order, so the standard library's sort might panic.
fn sorted(entries: &[(Str, Piece)]) -> Vec<&(Str, Piece)> {
    if entries.len() < 2 {
        return entries.iter().collect();
    }
    let (left, right) = entries.split_at(entries.len() / 2);
    let mut left = sorted(left).into_iter().peekable();
    let mut right = sorted(right).into_iter().peekable();
    let mut merged = Vec::with_capacity(entries.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let from_right = is_before(&b.0, &a.0);
        merged.extend(if from_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Collects a tree unchanged; its keys are sorted later.
#[derive(Default)]
struct Collector {
    nodes: Vec<Piece>,
    keys: Vec<Str>,
    /// For each open collection, how many nodes and keys there were before it, and whether its keys stay in order.
    open: Vec<(usize, usize, bool)>,
}

impl Collector {
    fn node(&mut self, value: Value) -> Result<(), Infallible> {
        self.nodes.push(Piece::Leaf(value));
        Ok(())
    }

    fn begin(&mut self, ordered: bool) -> Result<(), Infallible> {
        self.open.push((self.nodes.len(), self.keys.len(), ordered));
        Ok(())
    }
}

impl Sink for Collector {
    type Error = Infallible;

    const KEY_ORDER: KeyOrder = KeyOrder::Bytes;

    fn nil(&mut self) -> Result<(), Infallible> {
        self.node(Value::Nil)
    }

    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        self.node(Value::Bool(value))
    }

    fn int(&mut self, value: i64) -> Result<(), Infallible> {
        self.node(Value::Int(value))
    }

    fn uint(&mut self, value: u64) -> Result<(), Infallible> {
        self.node(Value::Uint(value))
    }

    fn float(&mut self, value: f64) -> Result<(), Infallible> {
        self.node(Value::Float(value))
    }

    fn str(&mut self, text: &[u8]) -> Result<(), Infallible> {
        self.node(Value::Str(text.into()))
    }

    fn time(&mut self, text: &[u8]) -> Result<(), Infallible> {
        self.nodes.push(Piece::Time(String::from_utf8_lossy(text).into_owned()));
        Ok(())
    }

    fn begin_list(&mut self, _: usize) -> Result<(), Infallible> {
        self.begin(true)
    }

    fn end_list(&mut self) -> Result<(), Infallible> {
        let (nodes, _, _) = self.open.pop().unwrap_or_default();
        let items = self.nodes.drain(nodes..).collect();
        self.nodes.push(Piece::List(items));
        Ok(())
    }

    fn begin_map(&mut self, _: usize) -> Result<(), Infallible> {
        self.begin(false)
    }

    fn begin_fields(&mut self, _: usize) -> Result<(), Infallible> {
        self.begin(true)
    }

    fn key(&mut self, key: &[u8]) -> Result<(), Infallible> {
        self.keys.push(key.into());
        Ok(())
    }

    fn end_map(&mut self) -> Result<(), Infallible> {
        let (nodes, keys, ordered) = self.open.pop().unwrap_or_default();
        let entries = self.keys.drain(keys..).zip(self.nodes.drain(nodes..)).collect();
        self.nodes.push(if ordered { Piece::Fields(entries) } else { Piece::Map(entries) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        String::from_utf8(write_pretty(&crate::read(text.as_bytes()).unwrap())).unwrap()
    }

    #[test]
    fn lists_are_indented_and_whole_floats_stay_floats() {
        assert_eq!(written("{a: [x, [z]], b: 1000000}"), "a:\n  - x\n  - - z\nb: 1e+06\n");
    }

    #[test]
    fn letters_come_first_after_digits() {
        assert_eq!(written("{a12: , a1b: , ab: }"), "a1b: null\na12: null\nab: null\n");
    }

    #[test]
    fn bytes_are_tagged() {
        assert_eq!(write_pretty(&Value::Str(Str::new([0xff, 0xfe]))), b"!!binary //4=\n");
    }
}
