//! One interface to read anything tree-shaped, so that each writer (YAML, JSON, TOML) is written once.

use std::cmp::Ordering;

use crate::unicode::{is_digit, is_letter};
use crate::{Map, Node, Str, with_stack};

/// The key order that a writer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// By bytes, as in JSON and Go templates.
    Bytes,
    /// Numbers inside keys by value and letters after other characters, as go-yaml writes maps.
    Natural,
}

/// Receives the events of a tree. Lists and maps are bracketed; inside a map each value follows its key.
pub trait Sink {
    /// Why the sink stops the walk.
    type Error;

    /// The order in which maps must be walked.
    const KEY_ORDER: KeyOrder;

    /// Receives nil.
    fn nil(&mut self) -> Result<(), Self::Error>;
    /// Receives a boolean.
    fn bool(&mut self, value: bool) -> Result<(), Self::Error>;
    /// Receives a signed integer.
    fn int(&mut self, value: i64) -> Result<(), Self::Error>;
    /// Receives an unsigned integer.
    fn uint(&mut self, value: u64) -> Result<(), Self::Error>;
    /// Receives a float.
    fn float(&mut self, value: f64) -> Result<(), Self::Error>;
    /// Receives a string.
    fn str(&mut self, text: &[u8]) -> Result<(), Self::Error>;
    /// Receives a time, which most formats know as a string only.
    fn time(&mut self, text: &[u8]) -> Result<(), Self::Error> {
        self.str(text)
    }
    /// Begins a list of `length` items.
    fn begin_list(&mut self, length: usize) -> Result<(), Self::Error>;
    /// Ends a list.
    fn end_list(&mut self) -> Result<(), Self::Error>;
    /// Begins a map of `length` entries.
    fn begin_map(&mut self, length: usize) -> Result<(), Self::Error>;
    /// Starts a map whose keys have their own order, such as the fields of a struct. [`Sink::end_map`] ends it.
    fn begin_fields(&mut self, length: usize) -> Result<(), Self::Error> {
        self.begin_map(length)
    }
    /// Receives the key of the next entry.
    fn key(&mut self, key: &[u8]) -> Result<(), Self::Error>;
    /// Ends a map.
    fn end_map(&mut self) -> Result<(), Self::Error>;
}

/// Something tree-shaped that can be written to a [`Sink`].
pub trait Walk {
    /// Passes the whole tree to `sink`, with maps in the sink's key order.
    ///
    /// # Errors
    /// The first error of the sink.
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error>;
}

impl Walk for Node {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Node::Nil => sink.nil(),
            Node::Bool(value) => sink.bool(*value),
            Node::Int(value) => sink.int(*value),
            Node::Float(value) => sink.float(*value),
            Node::Str(text) => sink.str(text.as_bytes()),
            Node::List(list) => with_stack(|| {
                sink.begin_list(list.len())?;
                for item in list {
                    item.walk(sink)?;
                }
                sink.end_list()
            }),
            Node::Map(map) => with_stack(|| map.walk(sink)),
        }
    }
}

impl<V: Walk> Walk for Map<V> {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.begin_map(self.len())?;
        let entry = |sink: &mut S, (key, value): &(Str, V)| {
            sink.key(key.as_bytes())?;
            value.walk(sink)
        };
        // Maps are kept in byte order, which is the natural one for most maps; testing that is cheaper than
        // sorting.
        let in_order = S::KEY_ORDER == KeyOrder::Bytes
            || self.entries().is_sorted_by(|a, b| natural_order(a.0.as_bytes(), b.0.as_bytes()).is_lt());
        if in_order {
            for pair in self.entries() {
                entry(sink, pair)?;
            }
        } else {
            for pair in in_natural_order(self.entries()) {
                entry(sink, pair)?;
            }
        }
        sink.end_map()
    }
}

/// Sorts entries by [`natural_order`] with a plain merge sort.
///
/// That order is not transitive for some mixes of digits and letters, and the standard library's sort may panic on
/// such an order; a merge sort does not.
fn in_natural_order<V>(entries: &[(Str, V)]) -> Vec<&(Str, V)> {
    if entries.len() < 2 {
        return entries.iter().collect();
    }
    let (left, right) = entries.split_at(entries.len() / 2);
    let mut left = in_natural_order(left).into_iter().peekable();
    let mut right = in_natural_order(right).into_iter().peekable();
    let mut merged = Vec::with_capacity(entries.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let from_right = natural_order(b.0.as_bytes(), a.0.as_bytes()).is_lt();
        merged.extend(if from_right { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Compares two keys as go-yaml does when it writes a map: runs of digits by value, letters last.
pub fn natural_order(a: &[u8], b: &[u8]) -> Ordering {
    // Without copies, because almost all keys are ASCII.
    if a.is_ascii() && b.is_ascii() {
        return natural_order_of(a.len(), b.len(), |i| char::from(a[i]), |i| char::from(b[i]));
    }
    let a: Vec<char> = String::from_utf8_lossy(a).chars().collect();
    let b: Vec<char> = String::from_utf8_lossy(b).chars().collect();
    natural_order_of(a.len(), b.len(), |i| a[i], |i| b[i])
}

fn natural_order_of(
    a_length: usize,
    b_length: usize,
    a: impl Fn(usize) -> char,
    b: impl Fn(usize) -> char,
) -> Ordering {
    let Some(at) = (0..a_length.min(b_length)).find(|&i| a(i) != b(i)) else {
        return a_length.cmp(&b_length);
    };
    match (is_letter(a(at)), is_letter(b(at))) {
        (true, true) => return a(at).cmp(&b(at)),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a number that has started with another digit is part of it, not a leading zero.
    let begun =
        (a(at) == '0' || b(at) == '0') && (0..at).rev().take_while(|&i| is_digit(a(i))).any(|i| a(i) != '0');
    let (a_number, a_end) = number_from(at, a_length, begun, &a);
    let (b_number, b_end) = number_from(at, b_length, begun, &b);
    a_number.cmp(&b_number).then(a_end.cmp(&b_end)).then(a(at).cmp(&b(at)))
}

fn number_from(start: usize, length: usize, begun: bool, text: &impl Fn(usize) -> char) -> (i64, usize) {
    let mut number = i64::from(begun);
    let mut at = start;
    while at < length && is_digit(text(at)) {
        // Go's int wraps around for very long numbers.
        number = number.wrapping_mul(10).wrapping_add(i64::from(u32::from(text(at))) - i64::from(b'0'));
        at += 1;
    }
    (number, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_go_yaml_sorts_them() {
        let mut keys = ["b", "ab", "a10", "a9", "a_b", "a.b", "a-b", "A", "10", "2", "1"];
        keys.sort_by(|a, b| natural_order(a.as_bytes(), b.as_bytes()));
        assert_eq!(keys, ["1", "2", "10", "A", "a-b", "a.b", "a_b", "a9", "a10", "ab", "b"]);
    }
}
