//! What scalars mean to go-yaml v3.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_time::{GoTime, Zone};
use pintle_tree::number::{parse_float, parse_int, parse_uint};
use pintle_yaml::outline::{Kind, NodeRef, Style};

use super::fail;
use crate::error::Result;

/// The meaning of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Nil,
    Bool(bool),
    Int(i64),
    /// An integer above the largest `Int`.
    Uint(u64),
    Float(f64),
    /// A timestamp, as go-yaml writes it.
    Time(String),
    Text(String),
    /// The decoded text of a `!!binary` scalar.
    Binary(String),
}

impl Scalar {
    fn tag(&self) -> &'static str {
        match self {
            Scalar::Nil => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::Uint(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Time(_) => "!!timestamp",
            Scalar::Text(_) => "!!str",
            Scalar::Binary(_) => "!!binary",
        }
    }

    /// As an unsigned integer of so many bits. A fraction is cut off, as Go does it.
    pub(super) fn as_unsigned(&self, bits: u32) -> Option<u64> {
        let number = match self {
            Scalar::Int(value) => u64::try_from(*value).ok()?,
            Scalar::Uint(value) => *value,
            Scalar::Float(value) if *value < 0.0 => (*value as i64).cast_unsigned(),
            Scalar::Float(value) if *value <= u64::MAX as f64 => *value as u64,
            _ => return None,
        };
        (bits >= 64 || number >> bits == 0).then_some(number)
    }

    /// As an integer.
    pub(super) fn as_signed(&self) -> Option<i64> {
        match self {
            Scalar::Int(value) => Some(*value),
            Scalar::Float(value) if *value <= i64::MAX as f64 => Some(*value as i64),
            _ => None,
        }
    }
}

/// The short form of a node's tag, given or resolved.
pub(super) fn short_tag(node: NodeRef<'_>) -> String {
    if let Some(tag) = explicit_tag(node) {
        return tag;
    }
    match node.kind() {
        Kind::Mapping => "!!map",
        Kind::Sequence => "!!seq",
        Kind::Alias => "",
        Kind::Scalar(Style::Plain) => match &*node.text() {
            b"<<" => "!!merge",
            text => plain(&String::from_utf8_lossy(text), true).tag(),
        },
        Kind::Scalar(_) => "!!str",
    }
    .to_owned()
}

/// The explicit tag, unless it is the non-specific `!`.
fn explicit_tag(node: NodeRef<'_>) -> Option<String> {
    let tag = node.tag().filter(|tag| *tag != b"!")?;
    let tag = String::from_utf8_lossy(tag);
    let whole = tag.strip_prefix("!<").and_then(|tag| tag.strip_suffix('>'));
    Some(match whole {
        Some(whole) => whole
            .strip_prefix("tag:yaml.org,2002:")
            .map_or_else(|| whole.to_owned(), |tag| format!("!!{tag}")),
        None => tag.into_owned(),
    })
}

/// The meaning of a scalar, by its tag if it has one.
pub(super) fn resolve(node: NodeRef<'_>) -> Result<Scalar> {
    let bytes = node.text();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let is_plain = node.kind() == Kind::Scalar(Style::Plain);
    let tag = match explicit_tag(node) {
        None if is_plain => return Ok(plain(&text, true)),
        None => return Ok(Scalar::Text(text)),
        Some(tag) => tag,
    };
    let meaning = match tag.as_str() {
        "!!binary" => {
            let decoded = STANDARD.decode(text.replace(['\n', '\r'], ""));
            let Ok(decoded) = decoded else { return fail("!!binary value contains invalid base64 data") };
            return Ok(Scalar::Binary(String::from_utf8_lossy(&decoded).into_owned()));
        }
        "!!bool" | "!!int" | "!!float" | "!!null" => plain(&text, false),
        "!!timestamp" => plain(&text, true),
        _ => return Ok(Scalar::Text(text)),
    };
    match meaning {
        Scalar::Int(value) if tag == "!!float" => Ok(Scalar::Float(value as f64)),
        meaning if meaning.tag() == tag => Ok(meaning),
        meaning => fail(format_args!("cannot decode {} `{text}` as a {tag}", meaning.tag())),
    }
}

/// The meaning of a text without quotes.
fn plain(text: &str, may_be_time: bool) -> Scalar {
    let other = || Scalar::Text(text.to_owned());
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Nil,
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    match text.as_bytes()[0] {
        b'.' => finite(text).map_or_else(other, Scalar::Float),
        b'+' | b'-' | b'0'..=b'9' => {
            let time = if may_be_time { time(text) } else { None };
            time.or_else(|| number(&text.replace('_', ""))).unwrap_or_else(other)
        }
        _ => other(),
    }
}

fn finite(text: &str) -> Option<f64> {
    parse_float(text).filter(|value| value.is_finite())
}

fn number(text: &str) -> Option<Scalar> {
    let integer = |text: &str, base| {
        let signed = parse_int(text, base).ok().map(Scalar::Int);
        signed.or_else(|| parse_uint(text, base).ok().map(Scalar::Uint))
    };
    let based = |prefix: &str, base| match text.strip_prefix('-') {
        Some(negative) => {
            let digits = negative.strip_prefix(prefix)?;
            parse_int(&format!("-{digits}"), base).ok().map(Scalar::Int)
        }
        None => integer(text.strip_prefix(prefix)?, base),
    };
    integer(text, 0)
        .or_else(|| is_decimal(text).then(|| finite(text)).flatten().map(Scalar::Float))
        .or_else(|| based("0b", 2))
        .or_else(|| based("0o", 8))
}

/// Whether a text is a decimal number with digits before or after its point, and perhaps an exponent.
fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (front, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((front, exponent)) => (front, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = front.split_once('.').map_or((front, None), |(whole, rest)| (whole, Some(rest)));
    let has_digits = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    has_digits
        && digits(whole)
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// A point in time in one of the forms that go-yaml knows.
fn time(text: &str) -> Option<Scalar> {
    const LAYOUTS: [&str; 4] = [
        "2006-1-2T15:4:5.999999999Z07:00",
        "2006-1-2t15:4:5.999999999Z07:00",
        "2006-1-2 15:4:5.999999999",
        "2006-1-2",
    ];
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    if year != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let time = LAYOUTS.iter().find_map(|layout| GoTime::parse(layout, text, &Zone::utc()).ok())?;
    Some(Scalar::Time(time.format("2006-01-02T15:04:05.999999999Z07:00")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_mean_what_they_mean_in_go() {
        for (text, expected) in [
            ("yes", Scalar::Text("yes".into())),
            ("0777", Scalar::Int(0o777)),
            ("-0o17", Scalar::Int(-15)),
            ("0b101", Scalar::Int(5)),
            ("1_000", Scalar::Int(1000)),
            ("18446744073709551615", Scalar::Uint(u64::MAX)),
            ("08", Scalar::Float(8.0)),
            ("1e400", Scalar::Text("1e400".into())),
            (".5", Scalar::Float(0.5)),
            ("1.", Scalar::Float(1.0)),
            ("0x", Scalar::Text("0x".into())),
            ("2001-1-2", Scalar::Time("2001-01-02T00:00:00Z".into())),
            ("2001-1-2 3:4:5.5", Scalar::Time("2001-01-02T03:04:05.5Z".into())),
            ("2001-13-01", Scalar::Text("2001-13-01".into())),
        ] {
            assert_eq!(plain(text, true), expected, "{text}");
        }
    }
}
