//! Classes of characters: `[…]`, `\d`, `\pL` and their unions, negations and case foldings.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::cursor::Cursor;
use super::escape;
use super::flags::Flags;
use super::newer;
use super::property::{AsciiRanges, characters, perl_class, posix_class, property};
use crate::error::{Error, ErrorKind, Result};

/// Reads `[…]`; the cursor is at the bracket.
pub(crate) fn bracket(cursor: &mut Cursor<'_>, flags: Flags) -> Result<ClassUnicode> {
    let start = cursor.at;
    cursor.at += 1;
    let negated = cursor.take(b"^");
    let mut class = ClassUnicode::empty();
    let mut first = true;
    // A bracket right at the start is a member, as in POSIX.
    while first || cursor.peek() != Some(b']') {
        first = false;
        let member = match named(cursor, flags)? {
            Some(member) => member,
            None => range(cursor, start, flags)?,
        };
        class.union(&member);
    }
    cursor.at += 1;
    if negated {
        class.negate();
    }
    Ok(class)
}

/// Reads `\pL` or `\d` and the like, if the cursor is at one.
pub(crate) fn escaped(cursor: &mut Cursor<'_>, flags: Flags) -> Result<Option<ClassUnicode>> {
    let (Some(b'\\'), Some(letter)) = (cursor.peek(), cursor.peek_second()) else {
        return Ok(None);
    };
    if matches!(letter, b'p' | b'P') {
        return unicode(cursor, flags).map(Some);
    }
    let Some(ranges) = perl_class(letter.to_ascii_lowercase()) else {
        return Ok(None);
    };
    cursor.at += 2;
    Ok(Some(ascii(ranges, letter.is_ascii_uppercase(), flags)))
}

/// Returns the class of all case variants of a character.
pub(crate) fn folded(character: char) -> ClassUnicode {
    let range = ClassUnicodeRange::new(character, character);
    fold(ClassUnicode::new([range]), true)
}

/// Parses a member of a bracket that is a class itself.
fn named(cursor: &mut Cursor<'_>, flags: Flags) -> Result<Option<ClassUnicode>> {
    if cursor.rest().starts_with(b"[:") && cursor.has_posix_end() {
        let body = cursor.moved_to(cursor.at + 2);
        if let Some(length) = body.find(b":]") {
            let start = cursor.at;
            cursor.at += length + 4;
            let name = &body.rest()[..length];
            let (name, negated) = match name.strip_prefix(b"^") {
                Some(name) => (name, true),
                None => (name, false),
            };
            let ranges = posix_class(name)
                .ok_or_else(|| Error::new(ErrorKind::InvalidCharRange, cursor.since(start)))?;
            return Ok(Some(ascii(ranges, negated, flags)));
        }
    }
    escaped(cursor, flags)
}

/// Reads `a` or `a-z`.
fn range(cursor: &mut Cursor<'_>, class_start: usize, flags: Flags) -> Result<ClassUnicode> {
    let start = cursor.at;
    let low = member(cursor, class_start)?;
    let mut high = low;
    if cursor.peek() == Some(b'-') && !matches!(cursor.peek_second(), None | Some(b']')) {
        cursor.at += 1;
        high = member(cursor, class_start)?;
        if high < low {
            return Err(Error::new(ErrorKind::InvalidCharRange, cursor.since(start)));
        }
    }
    Ok(fold(code_points(low, high), flags.fold_case))
}

fn member(cursor: &mut Cursor<'_>, class_start: usize) -> Result<u32> {
    if cursor.peek() == Some(b'\\') {
        return escape::character(cursor);
    }
    match cursor.next()? {
        Some(character) => Ok(u32::from(character)),
        None => Err(Error::new(ErrorKind::MissingBracket, &cursor.pattern[class_start..])),
    }
}

/// Reads `\pL`, `\p{Name}`, `\p{^Name}` and their opposites with `\P`.
fn unicode(cursor: &mut Cursor<'_>, flags: Flags) -> Result<ClassUnicode> {
    let start = cursor.at;
    let mut negated = cursor.peek_second() == Some(b'P');
    cursor.at += 2;
    let name_start = cursor.at;
    let name = if cursor.next()? == Some('{') {
        let Some(length) = cursor.find(b"}") else {
            let rest = cursor.moved_to(start);
            rest.check_utf8(cursor.pattern.len())?;
            return Err(Error::new(ErrorKind::InvalidCharRange, rest.rest()));
        };
        cursor.check_utf8(cursor.at + length)?;
        let name = &cursor.rest()[..length];
        cursor.at += length + 1;
        name
    } else {
        cursor.since(name_start)
    };
    let name = std::str::from_utf8(name).unwrap_or_default();
    let name = match name.strip_prefix('^') {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    let property =
        property(name).ok_or_else(|| Error::new(ErrorKind::InvalidCharRange, cursor.since(start)))?;
    // Folded before it is negated, as in Go; the other order would let `(?i)\P{Lu}` match everything.
    let mut class = fold(characters(property), flags.fold_case);
    if negated {
        class.negate();
    }
    Ok(class)
}

fn ascii(ranges: AsciiRanges, negated: bool, flags: Flags) -> ClassUnicode {
    let ranges = ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(char::from(low), char::from(high)));
    let mut class = fold(ClassUnicode::new(ranges), flags.fold_case);
    if negated {
        class.negate();
    }
    class
}

/// A range of code points without the surrogates, which valid text does not have.
fn code_points(low: u32, high: u32) -> ClassUnicode {
    let pieces = [(low, high.min(0xd7ff)), (low.max(0xe000), high)];
    let ranges = pieces
        .into_iter()
        .filter(|(low, high)| low <= high)
        .filter_map(|(low, high)| Some(ClassUnicodeRange::new(char::from_u32(low)?, char::from_u32(high)?)));
    ClassUnicode::new(ranges)
}

fn fold(mut class: ClassUnicode, wanted: bool) -> ClassUnicode {
    if wanted {
        // Fails only without case tables, and those are compiled in.
        let _ = class.try_case_fold_simple();
        newer::fold(&mut class);
    }
    class
}
