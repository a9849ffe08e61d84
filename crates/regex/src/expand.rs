//! Replacement templates such as `$1-${name}`, and the quoting of plain text.

use std::ops::Range;
use std::sync::LazyLock;

use regex_syntax::hir::ClassUnicode;

use crate::matching::MAX_REPLACED;
use crate::syntax::{Property, characters};

/// What a variable of a template refers to.
#[derive(Debug, PartialEq, Eq)]
enum Reference<'a> {
    Index(usize),
    Name(&'a [u8]),
}

/// Appends a template with its variables filled in from the groups of a match.
pub(crate) fn expand(
    output: &mut Vec<u8>,
    mut template: &[u8],
    haystack: &[u8],
    groups: &[Option<Range<usize>>],
    names: &[Option<String>],
) {
    while let Some(dollar) = template.iter().position(|byte| *byte == b'$') {
        if output.len() > MAX_REPLACED {
            return;
        }
        output.extend_from_slice(&template[..dollar]);
        template = &template[dollar + 1..];
        if let Some(rest) = template.strip_prefix(b"$") {
            output.push(b'$');
            template = rest;
            continue;
        }
        // A malformed reference is text in Go: the dollar stays.
        let Some((reference, rest)) = leading_reference(template) else {
            output.push(b'$');
            continue;
        };
        template = rest;
        if let Some(range) = resolve(&reference, groups, names) {
            output.extend_from_slice(&haystack[range.clone()]);
        }
    }
    output.extend_from_slice(template);
}

fn resolve<'a>(
    reference: &Reference<'_>,
    groups: &'a [Option<Range<usize>>],
    names: &[Option<String>],
) -> Option<&'a Range<usize>> {
    match reference {
        Reference::Index(index) => groups.get(*index)?.as_ref(),
        Reference::Name(wanted) => {
            let named = names.iter().zip(groups);
            let mut named =
                named.filter(|(name, _)| name.as_ref().is_some_and(|name| name.as_bytes() == *wanted));
            // Groups may share a name; the first that participated in the match counts.
            named.find_map(|(_, group)| group.as_ref())
        }
    }
}

/// Splits `name` or `{name}` off the beginning of a template.
fn leading_reference(template: &[u8]) -> Option<(Reference<'_>, &[u8])> {
    let (braced, body) = match template.strip_prefix(b"{") {
        Some(body) => (true, body),
        None => (false, template),
    };
    let length = name_length(body);
    if length == 0 {
        return None;
    }
    let (name, mut rest) = body.split_at(length);
    if braced {
        rest = rest.strip_prefix(b"}")?;
    }
    Some((classify(name), rest))
}

/// A number without leading zeros is an index; everything else is a name.
fn classify(name: &[u8]) -> Reference<'_> {
    let digits = std::str::from_utf8(name).ok().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    // `$01` is the name `01`, which no group can have, so it expands to nothing.
    match digits.filter(|digits| digits.len() == 1 || !digits.starts_with('0')).map(str::parse) {
        // Go stops counting at 1e8 and then takes the text for a name; no pattern has as many groups either
        // way.
        Some(Ok(index)) if index < 1_000_000_000 => Reference::Index(index),
        _ => Reference::Name(name),
    }
}

fn name_length(template: &[u8]) -> usize {
    let text = template.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    text.find(|character| !is_name_character(character)).unwrap_or(text.len())
}

fn is_name_character(character: char) -> bool {
    static WIDE: LazyLock<ClassUnicode> = LazyLock::new(|| {
        let mut class = characters(Property::Category("L"));
        class.union(&characters(Property::Category("Nd")));
        class
    });
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    let ranges = WIDE.ranges();
    let index = ranges.partition_point(|range| range.end() < character);
    ranges.get(index).is_some_and(|range| range.start() <= character)
}

/// Returns a pattern that matches exactly the given text.
#[must_use]
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_long_as_possible() {
        assert_eq!(leading_reference(b"1W x"), Some((Reference::Name(b"1W"), &b" x"[..])));
        assert_eq!(leading_reference(b"{1}W"), Some((Reference::Index(1), &b"W"[..])));
        assert_eq!(leading_reference(b"01"), Some((Reference::Name(b"01"), &b""[..])));
        assert_eq!(leading_reference(b"{1"), None);
        assert_eq!(leading_reference("é1-".as_bytes()), Some((Reference::Name("é1".as_bytes()), &b"-"[..])));
    }

    #[test]
    fn quoting_escapes_every_operator() {
        assert_eq!(quote_meta(b"a.b[c]$"), br"a\.b\[c\]\$");
    }
}
