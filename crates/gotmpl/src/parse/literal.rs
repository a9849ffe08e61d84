//! Literals as Go's strconv parses them: strings, characters and numbers.

use pintle_tree::{Str, number, quote};

use crate::ast::Number;

/// Go's text for an invalid literal.
const INVALID: &str = "invalid syntax";

/// Whether a quoted string needs no unescaping.
pub(crate) fn is_plain(quoted: &[u8]) -> bool {
    let [first, inner @ .., last] = quoted else { return false };
    first == last
        && match first {
            // Carriage returns are dropped from raw strings, as in Go source files.
            b'`' => !inner.contains(&b'\r'),
            _ => inner.iter().all(|byte| byte.is_ascii() && !matches!(byte, b'\\' | b'\n' | b'"')),
        }
}

/// Go's `strconv.Unquote` for `"…"` and `` `…` ``.
pub(crate) fn unquote(quoted: &[u8]) -> Result<Vec<u8>, String> {
    let (Some(first), true) = (quoted.first(), quoted.len() >= 2) else {
        return Err(INVALID.to_owned());
    };
    let inner = &quoted[1..quoted.len() - 1];
    if *first == b'`' {
        return Ok(inner.iter().copied().filter(|byte| *byte != b'\r').collect());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (unit, tail) = unquote_char(rest, b'"').ok_or(INVALID)?;
        match unit {
            Unit::Byte(byte) => out.push(byte),
            Unit::Char(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = tail;
    }
    Ok(out)
}

/// One unit of quoted text.
enum Unit {
    Byte(u8),
    Char(char),
}

fn unquote_char(text: &[u8], quote: u8) -> Option<(Unit, &[u8])> {
    let first = *text.first()?;
    if first == quote || first == b'\n' {
        return None;
    }
    if first != b'\\' {
        if first.is_ascii() {
            return Some((Unit::Byte(first), &text[1..]));
        }
        let window = &text[..text.len().min(4)];
        let chunk = window.utf8_chunks().next()?;
        return Some(match chunk.valid().chars().next() {
            Some(character) => (Unit::Char(character), &text[character.len_utf8()..]),
            None => (Unit::Char(char::REPLACEMENT_CHARACTER), &text[1..]),
        });
    }
    let kind = *text.get(1)?;
    let rest = &text[2..];
    let plain = |byte| Some((Unit::Byte(byte), rest));
    match kind {
        b'a' => plain(0x07),
        b'b' => plain(0x08),
        b'f' => plain(0x0c),
        b'n' => plain(b'\n'),
        b'r' => plain(b'\r'),
        b't' => plain(b'\t'),
        b'v' => plain(0x0b),
        b'\\' => plain(b'\\'),
        b'\'' | b'"' if kind == quote => plain(kind),
        b'x' => {
            let value = hexadecimal(rest, 2)?;
            Some((Unit::Byte(u8::try_from(value).ok()?), &rest[2..]))
        }
        b'u' => Some((Unit::Char(char::from_u32(hexadecimal(rest, 4)?)?), &rest[4..])),
        b'U' => Some((Unit::Char(char::from_u32(hexadecimal(rest, 8)?)?), &rest[8..])),
        b'0'..=b'7' => {
            let digits = text.get(1..4)?;
            let octal = |value: u32, digit: &u8| {
                matches!(digit, b'0'..=b'7').then(|| value * 8 + u32::from(digit - b'0'))
            };
            let value = digits.iter().try_fold(0, octal)?;
            Some((Unit::Byte(u8::try_from(value).ok()?), &text[4..]))
        }
        _ => None,
    }
}

fn hexadecimal(text: &[u8], length: usize) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(..length)?).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// A character constant such as `'a'`, which is a number.
pub(crate) fn character(text: &[u8]) -> Result<Number, String> {
    let (unit, tail) = unquote_char(text.get(1..).unwrap_or_default(), b'\'').ok_or(INVALID)?;
    if tail != b"'" {
        return Err(format!("malformed character constant: {}", String::from_utf8_lossy(text)));
    }
    let code = match unit {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Char(character) => u32::from(character),
    };
    Ok(Number {
        text: Str::new(text),
        int: Some(i64::from(code)),
        uint: Some(u64::from(code)),
        float: Some(f64::from(code)),
        ..Number::default()
    })
}

/// A complex constant such as `1+2i`.
pub(crate) fn complex(text: &[u8]) -> Result<Number, String> {
    let shown = String::from_utf8_lossy(text);
    let bytes = shown.as_bytes();
    // The sign of the imaginary part is the last one that does not belong to an exponent.
    let hexadecimal = shown.contains(['x', 'X']);
    let split = (1..bytes.len()).rev().find(|&at| {
        let exponent = if hexadecimal { b"pP" } else { b"eE" };
        matches!(bytes[at], b'+' | b'-') && !exponent.contains(&bytes[at - 1])
    });
    let parts = split.and_then(|at| {
        let imaginary = shown[at..].strip_suffix('i')?;
        Some((float(&shown[..at])?, float(imaginary)?))
    });
    let parts =
        parts.ok_or_else(|| format!("strconv.ParseFloat: parsing {}: {INVALID}", quote::quote(text)))?;
    Ok(simplified(text, parts))
}

/// A plain number: integer, float or imaginary.
pub(crate) fn number(text: &[u8]) -> Result<Number, String> {
    let shown = String::from_utf8_lossy(text);
    if let Some(imaginary) = shown.strip_suffix('i').and_then(float) {
        return Ok(simplified(text, (0.0, imaginary)));
    }
    let mut number = Number { text: Str::new(text), ..Number::default() };
    number.uint = number::parse_uint(&shown, 0).ok();
    number.int = number::parse_int(&shown, 0).ok();
    // `-0` is not an unsigned number by its text, but Go lets it be zero.
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    number.float = match (number.int, number.uint) {
        (Some(int), _) => Some(int as f64),
        (None, Some(uint)) => Some(uint as f64),
        (None, None) => {
            let value = float(&shown);
            // Digits alone that only parse as a float are too large for any integer type. Go refuses them
            // instead of rounding.
            if value.is_some() && !shown.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quote::quote(text)));
            }
            number.int = value.and_then(whole);
            number.uint = value.and_then(whole_unsigned);
            value
        }
    };
    if number.float.is_none() {
        return Err(format!("illegal number syntax: {}", quote::quote(text)));
    }
    Ok(number)
}

/// A complex number without imaginary part can also be used as a real one.
fn simplified(text: &[u8], parts: (f64, f64)) -> Number {
    let real = Some(parts.0).filter(|_| parts.1 == 0.0);
    Number {
        text: Str::new(text),
        complex: Some(parts),
        float: real,
        int: real.and_then(whole),
        uint: real.and_then(whole_unsigned),
        ..Number::default()
    }
}

fn whole(value: f64) -> Option<i64> {
    let fits =
        value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    fits.then_some(value as i64)
}

fn whole_unsigned(value: f64) -> Option<u64> {
    let fits = value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value);
    fits.then_some(value as u64)
}

/// Go's `strconv.ParseFloat`, which rejects numbers that are too large.
fn float(text: &str) -> Option<f64> {
    number::parse_float(text).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_read_as_go_reads_it() {
        assert_eq!(unquote(br#""a\t\x41\u00e9\101\"""#).unwrap(), "a\tAéA\"".as_bytes());
        assert_eq!(unquote(b"`a\\n\r`").unwrap(), b"a\\n");
        assert_eq!(unquote(b"\"\xff\"").unwrap(), "\u{fffd}".as_bytes());
        for bad in [r#""\q""#, r#""\400""#, r#""\ud800""#, r#""\'""#] {
            assert_eq!(unquote(bad.as_bytes()), Err(INVALID.to_owned()), "{bad}");
        }
    }

    #[test]
    fn numbers_take_every_type_that_they_fit() {
        let one = number(b"1.0").unwrap();
        assert_eq!((one.int, one.uint, one.float), (Some(1), Some(1), Some(1.0)));
        assert_eq!(number(b"1_000.5").unwrap().float, Some(1000.5));
        assert_eq!(
            number(b"99999999999999999999").unwrap_err(),
            "integer overflow: \"99999999999999999999\""
        );
        assert_eq!(number(b"08").unwrap_err(), "integer overflow: \"08\"");
        assert_eq!(number(b"0xg").unwrap_err(), "illegal number syntax: \"0xg\"");
        assert_eq!(complex(b"1e+2-3i").unwrap().complex, Some((100.0, -3.0)));
        assert_eq!(character(b"'\\n'").unwrap().int, Some(10));
        assert!(character(b"'ab'").is_err());
    }
}
