//! YAML as go-yaml reads and writes it by itself, without the conversion to JSON that everything else here follows:
//! keys keep their types, scalars their spelling, and maps the order of the document if that is wanted.
//!
//! helm-diff normalizes manifests and expands lists this way.

use pintle_tree::number::format_value;
use pintle_tree::{Str, natural_order, with_stack};

use crate::error::Error;
use crate::read::{Budget, Document, Shape, scalar_meaning};
use crate::resolve::{Meaning, Tagged};
use crate::write::NativeWriter;

/// How maps are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    /// As Go's maps: the last of equal keys counts, merge keys apply, and writing sorts.
    Sorted,
    /// As go-yaml's `MapSlice`: entries in the order of the document, equal keys included. Merge keys are dropped.
    Ordered,
}

/// A node of a document.
#[derive(Clone, Debug)]
pub enum Native {
    /// A scalar.
    Scalar(Scalar),
    /// A list.
    List(Vec<Native>),
    /// The entries of a map.
    Map(Vec<(Scalar, Native)>),
}

/// A scalar with its spelling in the document.
#[derive(Clone, Debug)]
pub struct Scalar {
    text: Str,
    meaning: Meaning,
}

impl Scalar {
    /// The text as written in the document; `None` for nil.
    pub fn text(&self) -> Option<&Str> {
        (self.meaning != Meaning::Nil).then_some(&self.text)
    }
}

impl Native {
    /// Reads the first document of `text`; nil if there is none.
    ///
    /// # Errors
    /// When the text is not valid YAML.
    pub fn read(text: &[u8], maps: Maps) -> Result<Native, Error> {
        let document = Document::read(text)?;
        if document.items.is_empty() {
            return Ok(Native::Scalar(Scalar { text: Str::EMPTY, meaning: Meaning::Nil }));
        }
        let mut reader =
            Reader { document: &document, maps, budget: Budget::default(), following: Vec::new() };
        reader.node(0)
    }

    /// The value under a text key; of equal keys the last counts.
    pub fn get(&self, key: &str) -> Option<&Native> {
        let Native::Map(entries) = self else { return None };
        entries
            .iter()
            .rev()
            .find(|(name, _)| name.text().is_some_and(|text| text == key))
            .map(|(_, value)| value)
    }

    /// The text of a scalar as written in the document.
    pub fn text(&self) -> Option<&Str> {
        match self {
            Native::Scalar(scalar) => scalar.text(),
            Native::List(_) | Native::Map(_) => None,
        }
    }

    /// Writes the node as YAML, with a line feed at the end.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = NativeWriter::new(&mut out);
        emit(self, &mut writer);
        writer.finish();
        out
    }
}

fn emit(node: &Native, writer: &mut NativeWriter<'_>) {
    match node {
        Native::Scalar(scalar) => match word(scalar) {
            Some(word) => writer.word(&word),
            None => writer.text(&scalar.text),
        },
        Native::List(items) => {
            writer.begin_list(items.len());
            with_stack(|| items.iter().for_each(|item| emit(item, writer)));
            writer.end();
        }
        Native::Map(entries) => {
            writer.begin_map(entries.len());
            with_stack(|| {
                for (key, value) in entries {
                    match word(key) {
                        Some(word) => writer.key_word(&word),
                        None => writer.key_text(&key.text),
                    }
                    emit(value, writer);
                }
            });
            writer.end();
        }
    }
}

/// The spelling of anything but a string.
fn word(scalar: &Scalar) -> Option<String> {
    Some(match scalar.meaning {
        Meaning::Nil => "null".to_owned(),
        Meaning::Bool(value) => value.to_string(),
        Meaning::Int(value) => value.to_string(),
        Meaning::Uint(value) => value.to_string(),
        Meaning::Float(value) if value.is_nan() => ".nan".to_owned(),
        Meaning::Float(f64::INFINITY) => ".inf".to_owned(),
        Meaning::Float(f64::NEG_INFINITY) => "-.inf".to_owned(),
        Meaning::Float(value) => format_value(value),
        Meaning::Text => return None,
    })
}

/// Whether go-yaml writes key `a` before `b`: numbers and booleans by value, then strings in natural order.
fn comes_before(a: &Scalar, b: &Scalar) -> bool {
    let kind = |scalar: &Scalar| match scalar.meaning {
        Meaning::Nil => 0,
        // Go's `reflect.Kind`, by whose numbers go-yaml orders keys of different kinds.
        Meaning::Bool(_) => 1,
        Meaning::Int(_) => 2,
        Meaning::Uint(_) => 11,
        Meaning::Float(_) => 14,
        Meaning::Text => 24,
    };
    let number = |scalar: &Scalar| match scalar.meaning {
        Meaning::Bool(value) => Some(f64::from(u8::from(value))),
        Meaning::Int(value) => Some(value as f64),
        Meaning::Uint(value) => Some(value as f64),
        Meaning::Float(value) => Some(value),
        Meaning::Nil | Meaning::Text => None,
    };
    match (number(a), number(b)) {
        (Some(x), Some(y)) if x != y => x < y,
        _ if a.meaning == Meaning::Text && b.meaning == Meaning::Text => {
            natural_order(a.text.as_bytes(), b.text.as_bytes()).is_lt()
        }
        _ => kind(a) < kind(b),
    }
}

/// Sorts entries with a merge sort: the order is not transitive for some keys, and the standard library's sort may
/// panic on such an order.
fn sort(entries: Vec<(Scalar, Native)>) -> Vec<(Scalar, Native)> {
    if entries.len() < 2 || entries.is_sorted_by(|a, b| comes_before(&a.0, &b.0)) {
        return entries;
    }
    let mut left = entries;
    let right = sort(left.split_off(left.len() / 2));
    let mut left = sort(left).into_iter().peekable();
    let mut right = right.into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if comes_before(&b.0, &a.0) { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

struct Reader<'d> {
    document: &'d Document,
    maps: Maps,
    budget: Budget,
    /// The aliases that are being followed.
    following: Vec<usize>,
}

impl Reader<'_> {
    fn node(&mut self, index: usize) -> Result<Native, Error> {
        self.budget.spend()?;
        match self.document.items[index].shape {
            Shape::Scalar { .. } => self.scalar(index).map(Native::Scalar),
            Shape::Alias { .. } => self.through_alias(index, |reader, target| reader.node(target)),
            Shape::Sequence { end } => with_stack(|| {
                let mut items = Vec::new();
                let mut next = index + 1;
                while next < end {
                    items.push(self.node(next)?);
                    next = self.document.after(next);
                }
                Ok(Native::List(items))
            }),
            Shape::Mapping { .. } => with_stack(|| {
                let mut entries = Vec::new();
                self.entries(index, &mut entries)?;
                if self.maps == Maps::Sorted {
                    entries = sort(last_of_equal_keys(entries));
                }
                Ok(Native::Map(entries))
            }),
        }
    }

    fn through_alias<T>(
        &mut self,
        index: usize,
        read: impl FnOnce(&mut Self, usize) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Shape::Alias { name, target } = self.document.items[index].shape else {
            return read(self, index);
        };
        if self.following.contains(&index) {
            let name = String::from_utf8_lossy(name.of(&self.document.pool)).into_owned();
            return Err(Error::new(format!("yaml: anchor '{name}' value contains itself")));
        }
        self.following.push(index);
        self.budget.enter_alias();
        let outcome = read(self, target);
        self.budget.leave_alias();
        self.following.pop();
        outcome
    }

    fn entries(&mut self, index: usize, entries: &mut Vec<(Scalar, Native)>) -> Result<(), Error> {
        let end = self.document.after(index);
        let mut next = index + 1;
        while next < end {
            let value = self.document.after(next);
            if !self.document.is_merge(next) {
                let key = self.through_alias(next, |reader, target| reader.scalar(target))?;
                entries.push((key, self.node(value)?));
            } else if self.maps == Maps::Sorted {
                self.merge(value, entries)?;
            }
            next = self.document.after(value);
        }
        Ok(())
    }

    fn merge(&mut self, index: usize, entries: &mut Vec<(Scalar, Native)>) -> Result<(), Error> {
        if let Shape::Sequence { end } = self.document.items[index].shape {
            let mut items = Vec::new();
            let mut next = index + 1;
            while next < end {
                items.push(next);
                next = self.document.after(next);
            }
            // The first takes precedence, so it is assigned last.
            return items.into_iter().rev().try_for_each(|item| self.merge_one(item, entries));
        }
        self.merge_one(index, entries)
    }

    fn merge_one(&mut self, index: usize, entries: &mut Vec<(Scalar, Native)>) -> Result<(), Error> {
        self.through_alias(index, |reader, target| match reader.document.items[target].shape {
            Shape::Mapping { .. } => reader.entries(target, entries),
            _ => Err(Error::new("yaml: map merge requires map or sequence of maps as the value")),
        })
    }

    fn scalar(&mut self, index: usize) -> Result<Scalar, Error> {
        let Shape::Scalar { .. } = self.document.items[index].shape else {
            return Err(Error::new("yaml: invalid map key: a list or a map"));
        };
        let (text, tagged) = scalar_meaning(self.document, index)?;
        self.budget.spend_text(text.len())?;
        Ok(match tagged {
            Tagged::Bytes(bytes) => Scalar { text: Str::new(&bytes), meaning: Meaning::Text },
            Tagged::Plain(meaning) => Scalar { text: Str::new(text), meaning },
        })
    }
}

fn last_of_equal_keys(entries: Vec<(Scalar, Native)>) -> Vec<(Scalar, Native)> {
    let key = |scalar: &Scalar| (word(scalar).is_some(), scalar.text.clone());
    let mut seen = std::collections::BTreeSet::new();
    let mut kept: Vec<_> = entries.into_iter().rev().filter(|(name, _)| seen.insert(key(name))).collect();
    // Last wins, but each key stays where its last occurrence is; sorting follows.
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, maps: Maps) -> String {
        let node = Native::read(text.as_bytes(), maps).expect("good YAML");
        String::from_utf8(node.write()).expect("text")
    }

    #[test]
    fn keys_and_numbers_keep_their_types() {
        let text = "b: 0x10\n8080: yes\na: 1.50\n\"9\": '1'\ntrue: ~\nd: 2020-01-01\n";
        assert_eq!(
            written(text, Maps::Sorted),
            "true: null\n8080: true\n\"9\": \"1\"\na: 1.5\nb: 16\nd: \"2020-01-01\"\n"
        );
    }

    #[test]
    fn ordered_maps_keep_their_order_and_repetitions_and_drop_merges() {
        let text = "x: &x {q: 1}\nz: {<<: *x, b: 1, a: 2, b: 3}\n";
        assert_eq!(written(text, Maps::Ordered), "x:\n  q: 1\nz:\n  b: 1\n  a: 2\n  b: 3\n");
        assert_eq!(written(text, Maps::Sorted), "x:\n  q: 1\nz:\n  a: 2\n  b: 3\n  q: 1\n");
    }

    #[test]
    fn the_spelling_of_scalars_is_known() {
        let node = Native::read(b"name: 0x10\nnamespace: null\n", Maps::Ordered).expect("good YAML");
        assert_eq!(node.get("name").and_then(Native::text), Some(&"0x10".into()));
        assert_eq!(node.get("namespace").and_then(Native::text), None);
    }

    #[test]
    fn an_anchor_inside_itself_is_an_error() {
        let error = Native::read(b"a: &a [*a]\n", Maps::Sorted).expect_err("endless");
        assert_eq!(error.to_string(), "yaml: anchor 'a' value contains itself");
    }
}
