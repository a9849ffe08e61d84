//! Helm's functions for durations: what they accept, and in which units they answer.

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallError, CallResult, Encoded, Function, Kind, Type, Value};
use pintle_time::Duration;
use pintle_tree::number::format_value;
use pintle_tree::quote::quote;

use super::span::DurationObject;
use crate::convert::{read_float, truncated};

const DURATION: Type = Type::Object("time.Duration");

/// The largest number of whole seconds that a duration holds.
const MAX_SECONDS: i64 = i64::MAX / Duration::SECOND.0;

/// The functions of this family. All but `mustToDuration` answer zero to what is no duration.
pub(super) fn functions() -> Vec<Function> {
    use Type::{Any, Float64, Int64};
    vec![
        Function::pure("mustToDuration", &[Any], None, DURATION, |args| {
            Ok(DurationObject::value(duration_of(args.any(0))?))
        }),
        Function::pure("durationSeconds", &[Any], None, Float64, |args| float(args, Duration::seconds)),
        Function::pure("durationMilliseconds", &[Any], None, Int64, |args| {
            whole(args, Duration::milliseconds)
        }),
        Function::pure("durationMicroseconds", &[Any], None, Int64, |args| {
            whole(args, Duration::microseconds)
        }),
        Function::pure("durationNanoseconds", &[Any], None, Int64, |args| whole(args, Duration::nanoseconds)),
        Function::pure("durationMinutes", &[Any], None, Float64, |args| float(args, Duration::minutes)),
        Function::pure("durationHours", &[Any], None, Float64, |args| float(args, Duration::hours)),
        Function::pure("durationDays", &[Any], None, Float64, |args| float(args, days)),
        Function::pure("durationWeeks", &[Any], None, Float64, |args| {
            float(args, |duration| days(duration) / 7.0)
        }),
        Function::pure("durationRoundTo", &[Any, Any], None, DURATION, |args| {
            to_multiple(args, Duration::round)
        }),
        Function::pure("durationTruncateTo", &[Any, Any], None, DURATION, |args| {
            to_multiple(args, Duration::truncate)
        }),
    ]
}

fn days(duration: Duration) -> f64 {
    duration.hours() / 24.0
}

fn float(args: Args<'_>, unit: fn(Duration) -> f64) -> CallResult {
    Ok(Value::Float(unit(duration_of(args.any(0)).unwrap_or_default())))
}

fn whole(args: Args<'_>, unit: fn(Duration) -> i64) -> CallResult {
    Ok(Value::int64(unit(duration_of(args.any(0)).unwrap_or_default())))
}

/// The first argument as a multiple of the second. A second argument that is no duration changes nothing, as one that is
/// not positive.
fn to_multiple(args: Args<'_>, fit: fn(Duration, Duration) -> Duration) -> CallResult {
    let duration = duration_of(args.any(0)).unwrap_or_default();
    let multiple = duration_of(args.any(1)).unwrap_or_default();
    Ok(DurationObject::value(fit(duration, multiple)))
}

/// The duration that a value stands for; a number is a number of seconds.
fn duration_of(value: &Value) -> Result<Duration, CallError> {
    match value {
        Value::Nil => Err("invalid duration".into()),
        Value::Str(text) => from_text(text.as_bytes()),
        Value::Int(kind, seconds) if kind.is_unsigned() => match i64::try_from(*seconds as u64) {
            Ok(seconds) => from_seconds(seconds),
            Err(_) => Err(overflow(&(*seconds as u64).to_string())),
        },
        Value::Int(_, seconds) => from_seconds(*seconds),
        Value::Float(seconds) => from_float(*seconds),
        Value::Object(object) => {
            if let Some(duration) = value.downcast::<DurationObject>() {
                return Ok(duration.0);
            }
            match (object.kind(), object.encode()) {
                // Named integer types, such as months, count as integers.
                (Kind::Int(_), Encoded::Value(number @ Value::Int(..))) => duration_of(&number),
                _ => Err(unsupported(value)),
            }
        }
        _ => Err(unsupported(value)),
    }
}

fn unsupported(value: &Value) -> CallError {
    CallError::new(format!("unsupported duration type {}", value.type_name()))
}

fn overflow(seconds: &str) -> CallError {
    CallError::new(format!("duration seconds overflow: {seconds}"))
}

/// Go's syntax of durations, or a number of seconds.
fn from_text(text: &[u8]) -> Result<Duration, CallError> {
    let trimmed = text.trim_with(char::is_whitespace);
    if trimmed.is_empty() {
        return Err("empty duration".into());
    }
    if let Ok(duration) = Duration::parse(trimmed) {
        return Ok(duration);
    }
    match std::str::from_utf8(trimmed).ok().and_then(read_float) {
        Some(seconds) => from_float(seconds),
        None => Err(CallError::new(format!("could not parse duration {}", quote(text)))),
    }
}

fn from_seconds(seconds: i64) -> Result<Duration, CallError> {
    if (-MAX_SECONDS..=MAX_SECONDS).contains(&seconds) {
        Ok(Duration(seconds * Duration::SECOND.0))
    } else {
        Err(overflow(&seconds.to_string()))
    }
}

fn from_float(seconds: f64) -> Result<Duration, CallError> {
    /// 2^63 nanoseconds. Both ends are included, although the upper one does not fit: it wraps.
    const LIMIT: f64 = i64::MAX as f64 / 1e9;
    if !seconds.is_finite() {
        return Err(CallError::new(format!("invalid duration seconds: {}", format_value(seconds))));
    }
    if !(-LIMIT..=LIMIT).contains(&seconds) {
        return Err(overflow(&format_value(seconds)));
    }
    Ok(Duration(truncated(seconds * 1e9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn must(value: impl Into<Value>) -> String {
        duration_of(&value.into()).map_or_else(|error| error.message, |duration| duration.to_string())
    }

    #[test]
    fn numbers_are_seconds_and_texts_are_durations_or_numbers() {
        for (text, duration) in [
            (" 1h30m\n", "1h30m0s"),
            ("90", "1m30s"),
            (".5s", "500ms"),
            ("0x1p4", "16s"),
            ("1_000", "16m40s"),
        ] {
            assert_eq!(must(text), duration, "{text}");
        }
        assert_eq!(must(Value::int(-5)), "-5s");
        assert_eq!(must(0.000_000_001_5), "1ns");
        // 2^63 nanoseconds pass, and wrap.
        assert_eq!(must(9_223_372_036.854_776), "-2562047h47m16.854775808s");
    }

    #[test]
    fn what_is_no_duration_is_described_as_in_helm() {
        for (text, reason) in [
            ("  ", "empty duration"),
            (" x ", "could not parse duration \" x \""),
            ("1d", "could not parse duration \"1d\""),
            ("1e400", "could not parse duration \"1e400\""),
            ("2562048h", "could not parse duration \"2562048h\""),
            ("1e19", "duration seconds overflow: 1e+19"),
            ("-inf", "invalid duration seconds: -Inf"),
        ] {
            assert_eq!(must(text), reason);
        }
        assert_eq!(must(Value::Nil), "invalid duration");
        assert_eq!(must(Value::Bool(true)), "unsupported duration type bool");
        assert_eq!(must(Value::int(9_223_372_037)), "duration seconds overflow: 9223372037");
        let largest = Value::Int(pintle_gotmpl::IntKind::Uint64, -1);
        assert_eq!(must(largest), "duration seconds overflow: 18446744073709551615");
        assert_eq!(must(9_223_372_036.9), "duration seconds overflow: 9.2233720369e+09");
    }

    #[test]
    fn a_bad_multiple_changes_nothing_and_a_bad_duration_is_zero() {
        let rounded = |value: &str, multiple: &str| {
            let result = to_multiple(Args(&[value.into(), multiple.into()]), Duration::round).unwrap();
            pintle_gotmpl::print::to_str(&result).to_string()
        };
        assert_eq!(rounded("2h15m", "30m"), "2h30m0s");
        assert_eq!(rounded("-2h15m", "30m"), "-2h30m0s");
        assert_eq!(rounded("2h15m", "-30m"), "2h15m0s");
        assert_eq!(rounded("2h15m", "x"), "2h15m0s");
        assert_eq!(rounded("x", "30m"), "0s");
    }
}
