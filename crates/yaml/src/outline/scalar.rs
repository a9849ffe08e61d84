//! Decodes scalars from their source to their text and their value.

use std::borrow::Cow;

use memchr::memchr3;
use pintle_tree::Node;

use super::node_ref::{Kind, NodeRef, Style};
use crate::builder::Assemble as _;
use crate::exact::Exact;
use crate::read::scalar_text;
use crate::resolve::{Meaning, Tagged, meaning, tagged};

/// The text of a scalar that needs no decoding.
#[inline]
pub(super) fn simple_text(node: NodeRef<'_>) -> Option<&[u8]> {
    if !node.outline.item(node.index).simple {
        return None;
    }
    match node.source() {
        [b'\'' | b'"', inner @ .., _] => Some(inner),
        plain => Some(plain),
    }
}

/// The text of a scalar.
pub(super) fn text(node: NodeRef<'_>) -> Cow<'_, [u8]> {
    if let Some(text) = simple_text(node) {
        return Cow::Borrowed(text);
    }
    let Kind::Scalar(style) = node.kind() else { return Cow::Borrowed(b"") };
    let source = node.source();
    // The first bytes of line breaks other than line feeds are left to the scanner.
    let simple = |text: &[u8], escape: u8| {
        memchr3(b'\n', b'\r', escape, text).is_none() && (text.is_ascii() || !has_foreign_break(text))
    };
    match style {
        Style::Plain if simple(source, b'\n') => Cow::Borrowed(source),
        Style::Single | Style::Double if source.len() >= 2 => {
            let inner = &source[1..source.len() - 1];
            let escape = if style == Style::Single { b'\'' } else { b'\\' };
            if simple(inner, escape) { Cow::Borrowed(inner) } else { decoded(source, 0) }
        }
        Style::Literal | Style::Folded => {
            let outline = node.outline;
            // A block ends with its line break, if there is one.
            let range = node.range();
            let with_break = &outline.text[range.start..outline.next_line(range.end)];
            decoded(with_break, outline.item(node.index).next as usize)
        }
        _ => decoded(source, 0),
    }
}

fn decoded(source: &[u8], indent: usize) -> Cow<'_, [u8]> {
    Cow::Owned(scalar_text(source, indent).unwrap_or_default())
}

/// Whether there may be a Unicode line break.
fn has_foreign_break(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"\xc2\x85").is_some() || memchr::memmem::find(text, b"\xe2\x80").is_some()
}

/// The meaning of a scalar.
pub(super) fn meaning_of(node: NodeRef<'_>) -> Option<Tagged> {
    let Kind::Scalar(style) = node.kind() else { return None };
    match node.tag() {
        Some(tag) => tagged(&whole_tag(tag), &text(node)).ok(),
        None if style == Style::Plain => Some(Tagged::Plain(meaning(&text(node)))),
        None => Some(Tagged::Plain(Meaning::Text)),
    }
}

/// The value of a scalar.
pub(super) fn value(node: NodeRef<'_>) -> Option<Node> {
    let exact = match meaning_of(node)? {
        Tagged::Bytes(bytes) => Exact::str(Exact::text(&bytes)),
        Tagged::Plain(Meaning::Nil) => Exact::nil(),
        Tagged::Plain(Meaning::Bool(value)) => Exact::bool(value),
        Tagged::Plain(Meaning::Int(value)) => Exact::int(value),
        Tagged::Plain(Meaning::Uint(value)) => Exact::uint(value),
        Tagged::Plain(Meaning::Float(value)) if value.is_finite() => Exact::float(value),
        Tagged::Plain(Meaning::Float(_)) => return None,
        Tagged::Plain(Meaning::Text) => Exact::str(Exact::text(&text(node))),
    };
    Some(exact.0)
}

/// A tag with `!!` or `!<…>` expanded. Handles that the document defines (`%TAG`) are not expanded.
fn whole_tag(tag: &[u8]) -> Cow<'_, [u8]> {
    if let Some(name) = tag.strip_prefix(b"!!") {
        return Cow::Owned([b"tag:yaml.org,2002:", name].concat());
    }
    match tag.strip_prefix(b"!<").and_then(|tag| tag.strip_suffix(b">")) {
        Some(uri) => Cow::Borrowed(uri),
        None => Cow::Borrowed(tag),
    }
}
