//! Resolves plain scalars by YAML 1.1 as go-yaml does: null, a boolean, a number, or a string.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use pintle_tree::number;

use crate::builder::Builder;
use crate::error::Error;
use crate::timestamp::is_timestamp;

/// The resolved value of a scalar. Strings are not copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Nil,
    Bool(bool),
    Int(i64),
    /// An integer above the largest `Int`.
    Uint(u64),
    Float(f64),
    Text,
}

/// Whether text that starts with this byte may be anything but a string.
#[inline]
pub(crate) fn may_have_meaning(first: u8) -> bool {
    matches!(
        first,
        b'0'..=b'9'
            | b'+'
            | b'-'
            | b'.'
            | b'~'
            | b'y'
            | b'Y'
            | b'n'
            | b'N'
            | b't'
            | b'T'
            | b'f'
            | b'F'
            | b'o'
            | b'O'
    )
}

/// Resolves plain text without a tag.
#[inline]
pub(crate) fn meaning(text: &[u8]) -> Meaning {
    match text.first() {
        None => Meaning::Nil,
        Some(&first) if may_have_meaning(first) => meaning_of_hinted(first, text),
        Some(_) => Meaning::Text,
    }
}

/// Resolves plain text without a tag by the rules that the builder asks for.
#[inline]
pub(crate) fn meaning_for<B: Builder>(text: &[u8]) -> Meaning {
    match meaning(text) {
        // go-yaml 3 knows only these words.
        Meaning::Bool(_)
            if B::VERSION_3
                && !matches!(text, b"true" | b"True" | b"TRUE" | b"false" | b"False" | b"FALSE") =>
        {
            Meaning::Text
        }
        meaning => meaning,
    }
}

fn meaning_of_hinted(first: u8, text: &[u8]) -> Meaning {
    match first {
        b'0'..=b'9' => small_number(text).unwrap_or_else(|| number_or_text(text)),
        b'.' => match text {
            b".nan" | b".NaN" | b".NAN" => Meaning::Float(f64::NAN),
            b".inf" | b".Inf" | b".INF" => Meaning::Float(f64::INFINITY),
            // go-yaml passes numbers that begin with a dot straight to `ParseFloat`, without removing
            // underscores.
            _ => as_str(text).and_then(finite_float).map_or(Meaning::Text, Meaning::Float),
        },
        b'+' | b'-' => match text {
            b"+.inf" | b"+.Inf" | b"+.INF" => Meaning::Float(f64::INFINITY),
            b"-.inf" | b"-.Inf" | b"-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ => number_or_text(text),
        },
        _ => word(text),
    }
}

/// One of the words for null and the booleans, or a string.
fn word(text: &[u8]) -> Meaning {
    match text {
        b"~" | b"null" | b"Null" | b"NULL" => Meaning::Nil,
        b"y" | b"Y" | b"yes" | b"Yes" | b"YES" | b"true" | b"True" | b"TRUE" | b"on" | b"On" | b"ON" => {
            Meaning::Bool(true)
        }
        b"n" | b"N" | b"no" | b"No" | b"NO" | b"false" | b"False" | b"FALSE" | b"off" | b"Off" | b"OFF" => {
            Meaning::Bool(false)
        }
        _ => Meaning::Text,
    }
}

/// The common case: a few decimal digits without a leading zero.
fn small_number(text: &[u8]) -> Option<Meaning> {
    // Eighteen digits always fit in an i64; a leading zero makes a number octal.
    if text.len() > 18 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    let mut value = 0;
    for byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(Meaning::Int(value))
}

fn number_or_text(text: &[u8]) -> Meaning {
    let Some(text) = as_str(text) else { return Meaning::Text };
    let without_underscores;
    // go-yaml removes underscores wherever they are, so `1__0_` is ten.
    let digits = if text.contains('_') {
        without_underscores = text.replace('_', "");
        &without_underscores
    } else {
        text
    };
    // Base 0: `0x`, `0o` and `0b` prefixes count, and so does a leading zero, as octal.
    if let Ok(value) = number::parse_int(digits, 0) {
        return Meaning::Int(value);
    }
    if let Ok(value) = number::parse_uint(digits, 0) {
        return Meaning::Uint(value);
    }
    // `ParseFloat` alone would accept `0x1p-2`, `inf` and `nan`, which go-yaml excludes with a regular
    // expression.
    if is_decimal(digits.as_bytes())
        && let Some(value) = finite_float(digits)
    {
        return Meaning::Float(value);
    }
    // A sign may follow the prefix of a binary number.
    if let Some(binary) = digits.strip_prefix("0b") {
        if let Ok(value) = number::parse_int(binary, 2) {
            return Meaning::Int(value);
        }
        if let Ok(value) = number::parse_uint(binary, 2) {
            return Meaning::Uint(value);
        }
    }
    Meaning::Text
}

/// A float that is not too large; Go's parser treats overflow as an error.
fn finite_float(text: &str) -> Option<f64> {
    number::parse_float(text).filter(|value| value.is_finite())
}

/// Whether the text is a decimal number with an optional sign, fraction and exponent.
fn is_decimal(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"+").or(text.strip_prefix(b"-")).unwrap_or(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if whole + length == 0 {
            return false;
        }
        rest = &fraction[length..];
    } else if whole == 0 {
        return false;
    }
    match rest {
        [] => true,
        [b'e' | b'E', exponent @ ..] => {
            let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

fn as_str(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

/// The effect of a tag on a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tagged {
    /// A resolved value.
    Plain(Meaning),
    /// Bytes that the text encodes.
    Bytes(Vec<u8>),
}

/// Resolves text with an expanded tag.
pub(crate) fn tagged(tag: &[u8], text: &[u8]) -> Result<Tagged, Error> {
    let Some(name) = tag.strip_prefix(b"tag:yaml.org,2002:") else { return Ok(Tagged::Plain(Meaning::Text)) };
    let wanted = match name {
        b"bool" => "!!bool",
        b"int" => "!!int",
        b"float" => "!!float",
        b"null" => "!!null",
        b"timestamp" => "!!timestamp",
        b"binary" => return decode_base64(text).map(Tagged::Bytes),
        _ => return Ok(Tagged::Plain(Meaning::Text)),
    };
    let meaning = meaning(text);
    let found = match meaning {
        Meaning::Nil => "!!null",
        Meaning::Bool(_) => "!!bool",
        Meaning::Int(_) | Meaning::Uint(_) => "!!int",
        Meaning::Float(_) => "!!float",
        Meaning::Text if wanted == "!!timestamp" && is_timestamp(text) => "!!timestamp",
        Meaning::Text => "!!str",
    };
    if found == wanted {
        return Ok(Tagged::Plain(meaning));
    }
    // The only conversion between tags that go-yaml makes.
    if let (Meaning::Int(value), "!!float") = (meaning, wanted) {
        return Ok(Tagged::Plain(Meaning::Float(value as f64)));
    }
    let text = String::from_utf8_lossy(text);
    Err(Error::new(format!("yaml: cannot decode {found} `{text}` as a {wanted}")))
}

fn decode_base64(text: &[u8]) -> Result<Vec<u8>, Error> {
    // Go's decoder ignores line breaks and trailing bits.
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&STANDARD, config);
    let text: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    engine.decode(text).map_err(|_| Error::new("yaml: !!binary value contains invalid base64 data"))
}

/// Whether a writer may omit quotes: the text must resolve to a string, also for YAML 1.1 readers.
#[inline]
pub(crate) fn is_plainly_text(text: &[u8]) -> bool {
    match text.first() {
        None => false,
        Some(first) if !may_have_meaning(*first) => true,
        Some(first) => {
            meaning(text) == Meaning::Text
                && !(first.is_ascii_digit() && is_timestamp(text))
                && !is_sexagesimal(text)
        }
    }
}

/// Whether the text is a base-60 number, such as `1:30`.
fn is_sexagesimal(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"+").or(text.strip_prefix(b"-")).unwrap_or(text);
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
    let (number, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    let mut parts = number.split(|&byte| byte == b':');
    let first = parts.next().unwrap_or_default();
    let mut further = 0;
    let all = parts.all(|part| {
        further += 1;
        matches!(part, [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    further > 0 && all && first.iter().all(digits) && fraction.iter().all(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_yaml_1_1_and_go() {
        for (text, expected) in [
            ("0", Meaning::Int(0)),
            ("0777", Meaning::Int(511)),
            ("0o777", Meaning::Int(511)),
            ("0o8", Meaning::Text),
            ("08", Meaning::Float(8.0)),
            ("1_000", Meaning::Int(1000)),
            ("+5", Meaning::Int(5)),
            ("0b-101", Meaning::Int(-5)),
            ("18446744073709551615", Meaning::Uint(u64::MAX)),
            ("1e3", Meaning::Float(1000.0)),
            ("1.", Meaning::Float(1.0)),
            (".5", Meaning::Float(0.5)),
            ("1e400", Meaning::Text),
            ("1:30", Meaning::Text),
            ("tRue", Meaning::Text),
            ("Off", Meaning::Bool(false)),
            ("", Meaning::Nil),
        ] {
            assert_eq!(meaning(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn text_that_could_be_mistaken_is_not_plain() {
        for text in ["", "y", "1", "1:30", "190:20:30.15", "2020-01-01", "0x1F", "~", ".inf"] {
            assert!(!is_plainly_text(text.as_bytes()), "{text}");
        }
        for text in ["x", "1:60", "1:3a", "2020-13-01", "yEs", "a: b", "-"] {
            assert!(is_plainly_text(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_tag_demands_its_kind() {
        let error = tagged(b"tag:yaml.org,2002:null", b"x").unwrap_err();
        assert_eq!(error.to_string(), "yaml: cannot decode !!str `x` as a !!null");
        assert_eq!(tagged(b"tag:yaml.org,2002:float", b"1").unwrap(), Tagged::Plain(Meaning::Float(1.0)));
        assert_eq!(tagged(b"tag:yaml.org,2002:binary", b"aGk=").unwrap(), Tagged::Bytes(b"hi".to_vec()));
        assert_eq!(tagged(b"!local", b"1").unwrap(), Tagged::Plain(Meaning::Text));
    }
}
