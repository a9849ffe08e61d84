//! Decodes a manifest as go-yaml v3 decodes a Go value: type mismatches are collected, with the line and the Go type, and the
//! rest is still decoded.

mod any;
mod scalar;

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::quote::quote;
use pintle_yaml::outline::{Kind, NodeRef, Outline};

pub(crate) use any::Any;
use scalar::{Scalar, resolve, short_tag};

use crate::error::{Error, Result};

/// A Go type, with its name where errors show it.
pub(crate) enum GoType {
    String,
    Bool,
    /// An unsigned integer of so many bits.
    Uint(u32),
    Int64,
    /// Anything; becomes [`Any`].
    Any,
    List(&'static str, &'static GoType),
    /// A map with strings as keys.
    Map(&'static str, &'static GoType),
    Struct(&'static str, &'static [(&'static str, GoType)]),
}

impl GoType {
    pub(crate) const STRINGS: GoType = GoType::List("[]string", &GoType::String);

    fn name(&self) -> &'static str {
        match self {
            GoType::String => "string",
            GoType::Bool => "bool",
            GoType::Uint(32) => "uint32",
            GoType::Uint(_) => "uint64",
            GoType::Int64 => "int64",
            GoType::Any => "interface {}",
            GoType::List(name, _) | GoType::Map(name, _) | GoType::Struct(name, _) => name,
        }
    }
}

/// A decoded value. What was not set is [`Decoded::Zero`].
#[derive(Debug, Default)]
pub(crate) enum Decoded {
    #[default]
    Zero,
    Text(String),
    Bool(bool),
    /// An integer; negative ones as Go's conversion has them.
    Number(u64),
    List(Vec<Decoded>),
    /// The entries of a map or the fields of a struct.
    Map(BTreeMap<String, Decoded>),
    Any(Any),
}

static NOTHING: Decoded = Decoded::Zero;

impl Decoded {
    /// A field of a struct.
    pub(crate) fn get(&self, field: &str) -> &Decoded {
        self.entries().find_map(|(name, value)| (name == field).then_some(value)).unwrap_or(&NOTHING)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Decoded)> {
        let entries = if let Decoded::Map(entries) = self { Some(entries) } else { None };
        entries.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn items(&self) -> &[Decoded] {
        if let Decoded::List(items) = self { items } else { &[] }
    }

    pub(crate) fn text(&self) -> String {
        if let Decoded::Text(text) = self { text.clone() } else { String::new() }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.items().iter().map(Decoded::text).collect()
    }

    pub(crate) fn bool(&self) -> bool {
        matches!(self, Decoded::Bool(true))
    }

    pub(crate) fn number(&self) -> u64 {
        if let Decoded::Number(number) = self { *number } else { 0 }
    }
}

/// Decodes the first document of a text into a struct. Fields that it does not have are errors if `strict`.
///
/// # Errors
/// go-yaml's text; `EOF` if there is no document.
pub(crate) fn decode(text: &[u8], into: &GoType, strict: bool) -> Result<Decoded> {
    let outline = Outline::read_version_3(text).map_err(|error| Error::Manifest(error.to_string()))?;
    let root = root(&outline).ok_or_else(|| Error::Manifest("EOF".to_owned()))?;
    let mut decoder = Decoder { strict, ..Decoder::default() };
    let mut out = Decoded::Zero;
    decoder.unmarshal(root, into, &mut out)?;
    if decoder.errors.is_empty() {
        return Ok(out);
    }
    Err(Error::Manifest(format!("yaml: unmarshal errors:\n  {}", decoder.errors.join("\n  "))))
}

/// Decodes a part of a manifest, which Helm first writes as YAML again: errors have the lines of that text.
///
/// # Errors
/// go-yaml's text.
pub(crate) fn decode_again(part: &Decoded, into: &GoType, strict: bool) -> Result<Decoded> {
    decode(&pintle_yaml::write_version_3(&Any::from(part)), into, strict)
}

/// The root of a manifest; `None` if there is no document in the text.
fn root<'o>(outline: &'o Outline<'_>) -> Option<NodeRef<'o>> {
    let text = outline.text();
    let blank = text.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line.starts_with(b"#")
    });
    if blank { None } else { outline.roots().next() }
}

/// An error that ends decoding at once.
fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(Error::Manifest(format!("yaml: {text}")))
}

/// The most levels of a manifest.
const MAX_DEPTH: usize = 200;

#[derive(Default)]
struct Decoder<'o> {
    strict: bool,
    errors: Vec<String>,
    /// How many nodes were decoded, and how many of these in aliases: a few lines must not become gigabytes.
    decoded: usize,
    aliased: usize,
    depth: usize,
    /// The aliases that are being followed.
    following: Vec<NodeRef<'o>>,
    /// The keys that a map has, while another is merged into it.
    merged: Option<BTreeSet<String>>,
}

impl<'o> Decoder<'o> {
    /// Decodes a node, and returns whether it fits.
    fn unmarshal(&mut self, node: NodeRef<'o>, into: &GoType, out: &mut Decoded) -> Result<bool> {
        self.decoded += 1;
        self.aliased += usize::from(!self.following.is_empty());
        if self.aliased > 100 && self.decoded > 1000 && self.aliased as f64 / self.decoded as f64 > 0.99 {
            return fail("document contains excessive aliasing");
        }
        if self.depth > MAX_DEPTH {
            return fail(format_args!("the manifest is nested more than {MAX_DEPTH} levels deep"));
        }
        self.depth += 1;
        let fits = match node.kind() {
            Kind::Alias => self.alias(node, into, out),
            Kind::Scalar(_) => self.scalar(node, into, out),
            Kind::Sequence => self.sequence(node, into, out),
            Kind::Mapping => self.mapping(node, into, out),
        };
        self.depth -= 1;
        fits
    }

    fn alias(&mut self, node: NodeRef<'o>, into: &GoType, out: &mut Decoded) -> Result<bool> {
        if self.following.contains(&node) {
            return fail(format_args!("anchor '{}' value contains itself", alias_name(node)));
        }
        self.following.push(node);
        let fits = self.unmarshal(node.target(), into, out);
        self.following.pop();
        fits
    }

    fn scalar(&mut self, node: NodeRef<'o>, into: &GoType, out: &mut Decoded) -> Result<bool> {
        let scalar = resolve(node)?;
        let text = || String::from_utf8_lossy(&node.text()).into_owned();
        *out = match (into, scalar) {
            (GoType::Any, scalar) => Decoded::Any(Any::Scalar(scalar)),
            (GoType::List(..) | GoType::Map(..), Scalar::Nil) => {
                *out = Decoded::Zero;
                return Ok(true);
            }
            // As in Go, null keeps the existing value.
            (_, Scalar::Nil) => return Ok(false),
            (GoType::String, Scalar::Binary(text)) => Decoded::Text(text),
            (GoType::String, _) => Decoded::Text(text()),
            (GoType::Bool, Scalar::Bool(value)) => Decoded::Bool(value),
            (GoType::Bool, Scalar::Text(word) | Scalar::Binary(word)) if is_yes(&word).is_some() => {
                Decoded::Bool(is_yes(&word).unwrap_or_default())
            }
            (GoType::Uint(bits), scalar) if scalar.as_unsigned(*bits).is_some() => {
                Decoded::Number(scalar.as_unsigned(*bits).unwrap_or_default())
            }
            (GoType::Int64, scalar) if scalar.as_signed().is_some() => {
                Decoded::Number(scalar.as_signed().unwrap_or_default().cast_unsigned())
            }
            _ => {
                self.mismatch(node, into);
                return Ok(false);
            }
        };
        Ok(true)
    }

    fn mismatch(&mut self, node: NodeRef<'o>, into: &GoType) {
        let tag = short_tag(node);
        let value = if tag == "!!seq" || tag == "!!map" {
            String::new()
        } else {
            let text = if let Kind::Scalar(_) = node.kind() { node.text().into_owned() } else { Vec::new() };
            // Go cuts at bytes; a cut inside of a character shows as a replacement.
            let (text, end) = if text.len() > 10 { (&text[..7], "...") } else { (&text[..], "") };
            format!(" `{}{end}`", String::from_utf8_lossy(text))
        };
        let (line, into) = (node.first_line(), into.name());
        self.errors.push(format!("line {line}: cannot unmarshal {tag}{value} into {into}"));
    }

    /// Items that do not fit are left out.
    fn sequence(&mut self, node: NodeRef<'o>, into: &GoType, out: &mut Decoded) -> Result<bool> {
        let item = match into {
            GoType::List(_, item) => item,
            GoType::Any => &GoType::Any,
            _ => {
                self.mismatch(node, into);
                return Ok(false);
            }
        };
        let mut items = Vec::new();
        for child in node.items() {
            let mut decoded = Decoded::Zero;
            if self.unmarshal(child, item, &mut decoded)? {
                items.push(decoded);
            }
        }
        *out = match into {
            GoType::Any => Decoded::Any(Any::List(items.iter().map(Any::from).collect())),
            _ => Decoded::List(items),
        };
        Ok(true)
    }

    fn mapping(&mut self, node: NodeRef<'o>, into: &GoType, out: &mut Decoded) -> Result<bool> {
        if self.has_duplicates(node) {
            return Ok(false);
        }
        if !matches!(into, GoType::Struct(..) | GoType::Map(..) | GoType::Any) {
            self.mismatch(node, into);
            return Ok(false);
        }
        // During a merge (`<<`), `out` already has the entries of the target map.
        let mut entries = match std::mem::take(out) {
            Decoded::Map(entries) => entries,
            _ => BTreeMap::new(),
        };
        let fits = self.entries(node, into, &mut entries);
        *out = match into {
            GoType::Any => {
                let entry = |(key, value): (&String, &Decoded)| (key.clone(), Any::from(value));
                Decoded::Any(Any::Map(entries.iter().map(entry).collect()))
            }
            _ => Decoded::Map(entries),
        };
        fits.map(|()| true)
    }

    fn entries(
        &mut self,
        node: NodeRef<'o>,
        into: &GoType,
        out: &mut BTreeMap<String, Decoded>,
    ) -> Result<()> {
        let mut merged = self.merged.take();
        let mut merge = None;
        let mut done = BTreeSet::new();
        for entry in node.entries() {
            if entry.is_merge() {
                merge = Some(entry.value);
                continue;
            }
            let Some(key) = self.key(entry.key, into)? else { continue };
            if merged.as_mut().is_some_and(|merged| !merged.insert(key.clone())) {
                continue;
            }
            match into {
                GoType::Struct(name, fields) => {
                    let line = entry.key.first_line();
                    match fields.iter().find(|(field, _)| *field == key) {
                        Some(_) if !done.insert(key.clone()) => {
                            self.errors.push(format!("line {line}: field {key} already set in type {name}"));
                        }
                        Some((_, into)) => {
                            self.unmarshal(entry.value, into, out.entry(key).or_default())?;
                        }
                        None if self.strict => {
                            self.errors.push(format!("line {line}: field {key} not found in type {name}"));
                        }
                        None => {}
                    }
                }
                _ => {
                    let into = if let GoType::Map(_, value) = into { value } else { &GoType::Any };
                    let mut value = Decoded::Zero;
                    let is_null = |node: NodeRef<'_>| short_tag(node.target()) == "!!null";
                    if self.unmarshal(entry.value, into, &mut value)?
                        || is_null(entry.value) && !out.contains_key(&key)
                    {
                        out.insert(key, value);
                    }
                }
            }
        }
        self.merged = merged;
        match merge {
            Some(other) => self.merge(node, other, into, out),
            None => Ok(()),
        }
    }

    /// Decodes a key; `None` if it has the wrong type. Even where any type is allowed, a collection is an error.
    fn key(&mut self, node: NodeRef<'o>, into: &GoType) -> Result<Option<String>> {
        let mut key = Decoded::Zero;
        if matches!(into, GoType::Any) && !matches!(node.target().kind(), Kind::Scalar(_)) {
            self.unmarshal(node, &GoType::Any, &mut key)?;
            return fail(format_args!("invalid map key: {}", Any::from(&key).go_syntax()));
        }
        let fits = self.unmarshal(node, &GoType::String, &mut key)?;
        Ok(fits.then(|| key.text()))
    }

    /// Merges what a `<<` names into a map; its own keys win.
    fn merge(
        &mut self,
        node: NodeRef<'o>,
        other: NodeRef<'o>,
        into: &GoType,
        out: &mut BTreeMap<String, Decoded>,
    ) -> Result<()> {
        let before = self.merged.clone();
        if self.merged.is_none() {
            let key = |key: NodeRef<'_>| String::from_utf8_lossy(&key.text()).into_owned();
            self.merged = Some(node.entries().map(|entry| key(entry.key)).collect());
        }
        let others: Vec<NodeRef<'o>> = match other.kind() {
            Kind::Sequence => other.items().collect(),
            _ => vec![other],
        };
        for other in others {
            if other.target().kind() != Kind::Mapping {
                return fail("map merge requires map or sequence of maps as the value");
            }
            let mut map = Decoded::Map(std::mem::take(out));
            // A map that is merged into an untyped one is decoded with string keys.
            let into = if let GoType::Any = into { &ANY_MAP } else { into };
            let merged = self.unmarshal(other, into, &mut map);
            if let Decoded::Map(entries) = map {
                *out = entries;
            }
            merged?;
        }
        self.merged = before;
        Ok(())
    }

    fn has_duplicates(&mut self, node: NodeRef<'o>) -> bool {
        let before = self.errors.len();
        let key = |key: NodeRef<'_>| match key.kind() {
            Kind::Scalar(_) => (0, key.text().into_owned(), key.first_line()),
            Kind::Alias => (1, alias_name(key).into_bytes(), key.first_line()),
            Kind::Mapping => (2, Vec::new(), key.first_line()),
            Kind::Sequence => (3, Vec::new(), key.first_line()),
        };
        let keys: Vec<(u8, Vec<u8>, usize)> = node.entries().map(|entry| key(entry.key)).collect();
        let mut first: BTreeMap<(u8, &[u8]), Vec<usize>> = BTreeMap::new();
        for (at, (kind, text, _)) in keys.iter().enumerate() {
            first.entry((*kind, text.as_slice())).or_default().push(at);
        }
        let mut twice: Vec<(usize, usize)> = first
            .values()
            .flat_map(|all| {
                let pairs = all
                    .iter()
                    .enumerate()
                    .flat_map(|(at, one)| all[at + 1..].iter().map(move |two| (*one, *two)));
                pairs.take(MAX_DUPLICATES)
            })
            .collect();
        twice.sort_unstable();
        for (one, two) in twice.into_iter().take(MAX_DUPLICATES) {
            let (line, earlier, key) = (keys[two].2, keys[one].2, quote(&keys[two].1));
            self.errors.push(format!("line {line}: mapping key {key} already defined at line {earlier}"));
        }
        self.errors.len() > before
    }
}

/// How many keys that occur twice are listed for one map.
const MAX_DUPLICATES: usize = 10_000;

static ANY_MAP: GoType = GoType::Map("map[string]interface {}", &GoType::Any);

fn alias_name(node: NodeRef<'_>) -> String {
    String::from_utf8_lossy(node.source()).trim_start_matches('*').to_owned()
}

/// The words of YAML 1.1 for a boolean.
fn is_yes(word: &str) -> Option<bool> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static INNER: GoType = GoType::Struct("p.Inner", &[("b", GoType::Bool), ("n", GoType::Uint(32))]);
    static OUTER: GoType = GoType::Struct(
        "p.Outer",
        &[
            ("s", GoType::String),
            ("inner", GoType::List("[]p.Inner", &INNER)),
            ("m", GoType::Map("map[string]string", &GoType::String)),
            ("i", GoType::Int64),
        ],
    );

    fn error(text: &str) -> String {
        decode(text.as_bytes(), &OUTER, true).expect_err("it does not fit").to_string()
    }

    #[test]
    fn what_does_not_fit_is_listed_with_its_tag() {
        for (text, expected) in [
            ("inner:\n- b: .inf\n", "line 2: cannot unmarshal !!float `.inf` into bool"),
            ("inner:\n- n: -1\n", "line 2: cannot unmarshal !!int `-1` into uint32"),
            ("inner:\n- n: 4294967296\n", "line 2: cannot unmarshal !!int `4294967296` into uint32"),
            ("inner:\n- n: !x 1\n", "line 2: cannot unmarshal !x `1` into uint32"),
            ("inner: !x {}\n", "line 1: cannot unmarshal !x `` into []p.Inner"),
            ("s: !!map {}\n", "line 1: cannot unmarshal !!map into string"),
            ("s: &a\n  - 1\n", "line 1: cannot unmarshal !!seq into string"),
            ("i: 2001-01-01\n", "line 1: cannot unmarshal !!timestamp `2001-01-01` into int64"),
            ("? [a]\n: 1\n", "line 1: cannot unmarshal !!seq into string"),
            (
                "x: 1\ns: []\n",
                "line 1: field x not found in type p.Outer\n  line 2: cannot unmarshal !!seq into string",
            ),
        ] {
            assert_eq!(error(text), format!("yaml: unmarshal errors:\n  {expected}"), "{text}");
        }
    }

    #[test]
    fn some_errors_end_decoding() {
        for (text, expected) in [
            ("i: !!int x\ns: []\n", "cannot decode !!str `x` as a !!int"),
            ("s: !!binary '%'\n", "!!binary value contains invalid base64 data"),
            ("s: *a\n", "unknown anchor 'a' referenced"),
            ("<<: 1\n", "map merge requires map or sequence of maps as the value"),
            ("s: \"a\n", "line 2: found unexpected end of stream"),
            ("x: 1\ns: \"a\n\n", "line 2: found unexpected end of stream"),
            ("m:\n  a: [1\n  b: 2\n", "line 1: did not find expected ',' or ']'"),
        ] {
            assert_eq!(error(text), format!("yaml: {expected}"), "{text}");
        }
    }

    #[test]
    fn values_are_those_of_go() {
        let text = "s: 0x10\nm: {a: ~, b: on, <<: {a: c, d: 1.50}}\ninner: [{b: y, n: 1e3}, null, {n: 0o17}]\ni: -2\n";
        let out = decode(text.as_bytes(), &OUTER, true).expect("it fits");
        assert_eq!(
            (out.get("s").text(), out.get("i").number()),
            ("0x10".to_owned(), (-2_i64).cast_unsigned())
        );
        let map: Vec<(String, String)> =
            out.get("m").entries().map(|(key, value)| (key.to_owned(), value.text())).collect();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(map, [pair("a", ""), pair("b", "on"), pair("d", "1.50")]);
        let inner: Vec<(bool, u64)> =
            out.get("inner").items().iter().map(|one| (one.get("b").bool(), one.get("n").number())).collect();
        assert_eq!(inner, [(true, 1000), (false, 15)]);
    }

    #[test]
    fn parts_are_decoded_as_they_are_written_again() {
        static WHOLE: GoType =
            GoType::Struct("p.Whole", &[("part", GoType::Map("map[string]interface {}", &GoType::Any))]);
        let key = decode(b"part: {x: {[a, 1]: b}}\n", &WHOLE, true).expect_err("no key");
        assert_eq!(key.to_string(), "yaml: invalid map key: []interface {}{\"a\", 1}");
        let itself = decode(b"part: &a {x: *a}\n", &WHOLE, true).expect_err("it has no end");
        assert_eq!(itself.to_string(), "yaml: anchor 'a' value contains itself");
        let text = "part:\n  z: {b: 1}\n  s:\n  - 2001-01-01\n  m: |\n    a\n    b\n";
        let whole = decode(text.as_bytes(), &WHOLE, true).expect("it fits");
        assert_eq!(
            decode_again(whole.get("part"), &OUTER, true).expect_err("it does not fit").to_string(),
            "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `a\nb\n` into map[string]string\n  \
             line 5: cannot unmarshal !!seq into string\n  line 6: field z not found in type p.Outer"
        );
    }
}
