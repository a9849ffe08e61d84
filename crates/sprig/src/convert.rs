//! Conversions between numbers, strings and booleans that never fail: what cannot be converted is zero.

use pintle_gotmpl::{Args, CallResult, Function, Type, Value, print};
use pintle_tree::number::{self, IntError};

use crate::dates::calendar_number;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Float64, Int, Int64, Str};
    vec![
        Function::pure("int", &[Any], None, Int, |args| Ok(Value::int(to_int(args.any(0))))),
        Function::pure("int64", &[Any], None, Int64, |args| Ok(Value::int64(to_int(args.any(0))))),
        Function::pure("float64", &[Any], None, Float64, |args| Ok(Value::Float(to_float(args.any(0))))),
        Function::pure("atoi", &[Str], None, Int, atoi),
        Function::pure("toDecimal", &[Any], None, Int64, to_decimal),
    ]
}

/// An integer, as spf13/cast converts it. Strings may have a base prefix, underscores and a zero fraction.
pub(crate) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(_, value) => *value,
        Value::Float(value) => truncated(*value),
        Value::Bool(value) => i64::from(*value),
        Value::Str(text) => {
            text.as_str().and_then(|text| number::parse_int(without_zero_fraction(text), 0).ok()).unwrap_or(0)
        }
        _ => calendar_number(value).unwrap_or(0),
    }
}

/// A float truncated to an integer as on amd64 in Go: out of range is the lowest number.
pub(crate) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    // Go leaves this to the processor: amd64 gives the lowest number, arm64 the nearest. Results must not
    // depend on the machine, so they are those of amd64 everywhere.
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

fn without_zero_fraction(text: &str) -> &str {
    // spf13/cast cuts `1.0` and `1.00` to `1`, but not `1.50`.
    let kept = text.trim_end_matches('0');
    if kept.len() < text.len() { kept.strip_suffix('.').unwrap_or(text) } else { text }
}

/// A float, as spf13/cast converts it.
pub(crate) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Int(kind, value) if kind.is_unsigned() => *value as u64 as f64,
        Value::Int(_, value) => *value as f64,
        Value::Float(value) => *value,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Str(text) => text.as_str().and_then(read_float).unwrap_or(0.0),
        _ => calendar_number(value).unwrap_or(0) as f64,
    }
}

/// Parses a float. A number too large is an error in Go, an explicit infinity is not.
pub(crate) fn read_float(text: &str) -> Option<f64> {
    let spelled_out = || text.bytes().any(|byte| byte.eq_ignore_ascii_case(&b'i'));
    number::parse_float(text).filter(|value| !value.is_infinite() || spelled_out())
}

/// Invalid numbers are 0; numbers out of range are the largest, because Go returns that with its error.
fn atoi(args: Args<'_>) -> CallResult {
    let text = args.str(0);
    let Some(text) = text.as_str() else { return Ok(Value::int(0)) };
    Ok(Value::int(match number::parse_int(text, 10) {
        Ok(number) => number,
        Err(IntError::Range) if text.starts_with('-') => i64::MIN,
        Err(IntError::Range) => i64::MAX,
        Err(_) => 0,
    }))
}

/// Reads octal digits.
fn to_decimal(args: Args<'_>) -> CallResult {
    let text = print::to_str(args.any(0));
    Ok(Value::int64(text.as_str().and_then(|text| number::parse_int(text, 8).ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoi_takes_the_nearest_number_for_what_is_too_large() {
        let read = |text: &str| match atoi(Args(&[Value::str(text)])).unwrap() {
            Value::Int(_, number) => Some(number),
            _ => None,
        };
        assert_eq!(read("9223372036854775808"), Some(i64::MAX));
        assert_eq!(read("-99999999999999999999"), Some(i64::MIN));
        assert_eq!(read("+9223372036854775807"), Some(i64::MAX));
        assert_eq!(
            (read("1e3"), read("0x10"), read("1_0"), read(" 1")),
            (Some(0), Some(0), Some(0), Some(0))
        );
    }

    #[test]
    fn texts_become_integers_with_go_prefixes() {
        for (text, value) in [
            ("12", 12),
            ("1.00", 1),
            ("1.50", 0),
            ("0x1F", 31),
            ("017", 15),
            ("1_000", 1000),
            ("x", 0),
            ("100", 100),
        ] {
            assert_eq!(to_int(&text.into()), value, "{text}");
        }
    }

    #[test]
    fn floats_that_do_not_fit_become_the_lowest_integer() {
        assert_eq!(to_int(&Value::Float(1e21)), i64::MIN);
        assert_eq!(to_int(&Value::Float(f64::NAN)), i64::MIN);
        assert_eq!(to_int(&Value::Float(-2.9)), -2);
    }

    #[test]
    fn texts_become_floats() {
        for (text, value) in
            [("1_0.5", 10.5), ("1e400", 0.0), ("_1", 0.0), ("--1", 0.0), ("1__0", 0.0), ("1e-3", 0.001)]
        {
            assert_eq!(to_float(&text.into()), value, "{text}");
        }
        assert_eq!(to_float(&"-Inf".into()), f64::NEG_INFINITY);
    }
}
