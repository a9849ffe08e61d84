//! Parses the values of flags in Go's syntax, with Go's error texts.

use std::collections::BTreeMap;

use pintle_tree::number::{IntError, parse_float, parse_int, parse_uint};
use pintle_tree::quote::quote;

use super::{Flag, Kind, csv};

/// A flag's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    /// A text, a strategy or a name.
    Text(String),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A 32-bit float.
    Float32(f32),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A list.
    List(Vec<String>),
    /// Pairs; the last of equal keys wins.
    Pairs(BTreeMap<String, String>),
}

/// Parses `text` as the next value of `flag`; `previous` is its value so far.
///
/// # Errors
///
/// Only the reason, in Go's text; the parser adds the flag and the value.
pub(crate) fn read(flag: &Flag, previous: Option<Value>, text: &str) -> Result<Value, String> {
    Ok(match flag.kind {
        Kind::Verification if text == "cosign" => Value::Text(text.to_owned()),
        Kind::Bool | Kind::Verification => Value::Bool(read_bool(text)?),
        Kind::Text | Kind::Revision => Value::Text(text.to_owned()),
        Kind::Format => match text {
            // Helm does not know `wide`, and `run` refuses it under its name.
            "table" | "json" | "yaml" | "wide" => Value::Text(text.to_owned()),
            _ => return Err("invalid format type".to_owned()),
        },
        Kind::Int => Value::Int(parse_int(text, 0).map_err(|error| bad_number("ParseInt", text, error))?),
        Kind::Uint => Value::Uint(parse_uint(text, 0).map_err(|error| bad_number("ParseUint", text, error))?),
        Kind::Float32 => Value::Float32(read_float32(text)?),
        Kind::Duration => Value::Duration(read_duration(text)?),
        Kind::List => {
            Value::List(append(previous, if text.is_empty() { vec![] } else { csv::record(text)? }))
        }
        Kind::Array | Kind::PostRendererArgument => Value::List(append(previous, vec![text.to_owned()])),
        Kind::Pairs => Value::Pairs(read_pairs(previous, text)?),
        Kind::WaitStrategy => Value::Text(read_wait_strategy(text)?),
        Kind::PostRenderer => Value::List(append(previous, vec![text.to_owned()])),
    })
}

fn append(previous: Option<Value>, mut more: Vec<String>) -> Vec<String> {
    match previous {
        Some(Value::List(mut list)) => {
            list.append(&mut more);
            list
        }
        _ => more,
    }
}

fn quoted(text: &str) -> String {
    quote(text.as_bytes())
}

/// Go's error for a text that is not a number.
pub(crate) fn bad_number(function: &str, text: &str, error: IntError) -> String {
    let reason = match error {
        IntError::Syntax => "invalid syntax",
        IntError::Range => "value out of range",
    };
    format!("strconv.{function}: parsing {}: {reason}", quoted(text))
}

/// Parses a boolean as Go's `strconv.ParseBool` does.
pub(crate) fn read_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(bad_number("ParseBool", text, IntError::Syntax)),
    }
}

fn read_float32(text: &str) -> Result<f32, String> {
    let number = parse_float(text).ok_or_else(|| bad_number("ParseFloat", text, IntError::Syntax))?;
    let narrow = number as f32;
    let written_as_infinity = text.to_ascii_lowercase().contains("inf");
    if narrow.is_infinite() && !written_as_infinity {
        return Err(bad_number("ParseFloat", text, IntError::Range));
    }
    Ok(narrow)
}

fn read_pairs(previous: Option<Value>, text: &str) -> Result<BTreeMap<String, String>, String> {
    let malformed = |pair: &str| format!("{pair} must be formatted as key=value");
    let parts = match text.matches('=').count() {
        0 => return Err(malformed(text)),
        1 => vec![text.trim_matches('"').to_owned()],
        _ => csv::record(text)?,
    };
    let mut pairs = match previous {
        Some(Value::Pairs(pairs)) => pairs,
        _ => BTreeMap::new(),
    };
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| malformed(&part))?;
        pairs.insert(key.to_owned(), value.to_owned());
    }
    Ok(pairs)
}

/// Parses a wait strategy. The deprecated booleans are kept as they are, so that the command can warn.
fn read_wait_strategy(text: &str) -> Result<String, String> {
    match text {
        "watcher" | "legacy" | "hookOnly" | "ordered" | "true" | "false" => Ok(text.to_owned()),
        _ => Err(format!(
            "invalid wait input {}. Valid inputs are watcher, hookOnly, and legacy",
            quoted(text)
        )),
    }
}

/// Parses a duration as Go's `time.ParseDuration` does, in nanoseconds.
pub(crate) fn read_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(whole_end);
        let fraction_end = after
            .strip_prefix('.')
            .map_or(0, |digits| 1 + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
        let (fraction, after) = after.split_at(fraction_end);
        if whole.is_empty() && fraction.len() <= 1 {
            return Err(invalid());
        }
        let unit_end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quoted(text)));
        }
        let scale = unit_in_nanoseconds(unit)
            .ok_or_else(|| format!("time: unknown unit {} in duration {}", quoted(unit), quoted(text)))?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part = whole.checked_mul(scale).filter(|part| *part <= 1 << 63).ok_or_else(invalid)?;
        total = total.checked_add(part + fraction_of(fraction, scale)).ok_or_else(invalid)?;
        if total > 1 << 63 {
            return Err(invalid());
        }
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (true, _) => Ok((total as i64).wrapping_neg()),
        (false, Ok(total)) => Ok(total),
        (false, Err(_)) => Err(invalid()),
    }
}

fn unit_in_nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn fraction_of(fraction: &str, scale: u64) -> u64 {
    let mut share = scale as f64;
    let mut sum = 0.0;
    for digit in fraction.bytes().skip(1).take(20) {
        share /= 10.0;
        sum += f64::from(digit - b'0') * share;
    }
    sum as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_refused_as_go_does() {
        assert_eq!(read_duration("1h2m3.5s").unwrap(), 3_723_500_000_000);
        assert_eq!(read_duration("-1s").unwrap(), -1_000_000_000);
        assert_eq!(read_duration("0").unwrap(), 0);
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            (".s", "time: invalid duration \".s\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1..2s", "time: missing unit in duration \"1..2s\""),
            ("1x", "time: unknown unit \"x\" in duration \"1x\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
        ] {
            assert_eq!(read_duration(text).unwrap_err(), error);
        }
    }

    #[test]
    fn pairs_with_one_equals_sign_may_stand_in_quotes() {
        let pairs = |text| read_pairs(None, text);
        assert_eq!(pairs("\"a=b\"").unwrap()["a"], "b");
        assert_eq!(pairs("a=b,c=d").unwrap().len(), 2);
        assert_eq!(pairs("foo").unwrap_err(), "foo must be formatted as key=value");
        assert_eq!(pairs("a=b,c=d,e").unwrap_err(), "e must be formatted as key=value");
    }

    #[test]
    fn a_float_too_large_for_32_bits_is_out_of_range() {
        assert_eq!(
            read_float32("1e99").unwrap_err(),
            "strconv.ParseFloat: parsing \"1e99\": value out of range"
        );
        assert_eq!(read_float32("0x1p4").unwrap(), 16.0);
        assert!(read_float32("inf").unwrap().is_infinite());
    }
}
