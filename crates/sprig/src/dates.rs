//! Date and duration functions. They return the objects of the submodules to templates.

mod calendar;
mod durations;
mod span;
mod time;

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, IntKind, Type, Value};
use pintle_time::{Duration, GoTime, Zone};
use pintle_tree::number::{IntError, parse_int};

pub(crate) use calendar::calendar_number;
use time::TimeObject;

/// A time for templates, with the methods of Go's `time.Time`.
pub fn time(time: GoTime) -> Value {
    TimeObject::value(time)
}

/// The time that a value is, if it is one.
pub(crate) fn time_of(value: &Value) -> Option<&GoTime> {
    value.downcast::<TimeObject>().map(|object| &object.0)
}

const TIME: Type = Type::Object("time.Time");

/// The layout of a date field of an HTML form.
const HTML: &[u8] = b"2006-01-02";

/// The cost of loading a time zone, in steps: its file is read.
const ZONE_STEPS: u64 = 60;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Str};
    const IN_ZONE: &[Type] = &[Type::Str, Type::Any, Type::Str];
    const MODIFY: &[Type] = &[Type::Str, TIME];
    const PARSE: &[Type] = &[Type::Str, Type::Str];
    let mut functions = vec![
        Function::pure("now", &[], None, TIME, |_| Ok(TimeObject::value(now()))),
        Function::pure("date", &[Str, Any], None, Str, |args| {
            Ok(formatted(args.text(0), args.any(1), Zone::local()))
        }),
        Function::pure("htmlDate", &[Any], None, Str, |args| Ok(formatted(HTML, args.any(0), Zone::local()))),
        Function::metered("htmlDateInZone", &[Any, Str], None, Str, |fuel, args| {
            fuel.spend(ZONE_STEPS)?;
            Ok(formatted(HTML, args.any(0), zone(args, 1)))
        }),
        Function::metered("dateInZone", IN_ZONE, None, Str, date_in_zone),
        Function::metered("date_in_zone", IN_ZONE, None, Str, date_in_zone),
        Function::pure("dateModify", MODIFY, None, TIME, modify),
        Function::pure("date_modify", MODIFY, None, TIME, modify),
        Function::pure("mustDateModify", MODIFY, None, TIME, must_modify),
        Function::pure("must_date_modify", MODIFY, None, TIME, must_modify),
        Function::pure("toDate", PARSE, None, TIME, |args| {
            Ok(TimeObject::value(parse(args).unwrap_or_default()))
        }),
        Function::pure("mustToDate", PARSE, None, TIME, |args| Ok(TimeObject::value(parse(args)?))),
        Function::pure("unixEpoch", &[TIME], None, Str, |args| {
            Ok(Value::from(TimeObject::of(args, 0).unix().to_string()))
        }),
        Function::pure("ago", &[Any], None, Str, ago),
        Function::pure("duration", &[Any], None, Str, duration),
        Function::pure("durationRound", &[Any], None, Str, duration_round),
    ];
    functions.extend(durations::functions());
    functions
}

/// The current time of reproducible renders, in seconds since the Unix epoch: the start of 2026 in UTC.
const REPEATABLE_NOW: i64 = 1_767_225_600;

/// The clock functions of this family, made deterministic.
pub(crate) fn repeatable() -> Vec<Function> {
    fn fixed() -> GoTime {
        GoTime::from_unix(REPEATABLE_NOW, 0, Zone::utc())
    }
    vec![
        Function::pure("now", &[], None, TIME, |_| Ok(TimeObject::value(fixed()))),
        Function::pure("ago", &[Type::Any], None, Type::Str, |args| {
            let since = match args.any(0) {
                Value::Int(IntKind::Int64 | IntKind::Int, seconds) => {
                    GoTime::from_unix(*seconds, 0, Zone::utc())
                }
                value => value.downcast::<TimeObject>().map_or_else(fixed, |time| time.0.clone()),
            };
            Ok(Value::from(fixed().sub(&since).round(Duration::SECOND).to_string()))
        }),
    ]
}

fn now() -> GoTime {
    GoTime::now(Zone::local())
}

/// The time that a value stands for: a time, or Unix seconds in one of the given types; anything else is now.
fn moment(value: &Value, kinds: &[IntKind]) -> GoTime {
    match value {
        Value::Int(kind, seconds) if kinds.contains(kind) => GoTime::from_unix(*seconds, 0, Zone::local()),
        _ => value.downcast::<TimeObject>().map_or_else(now, |time| time.0.clone()),
    }
}

/// The zone that an argument names; UTC if it is unknown.
fn zone(args: Args<'_>, index: usize) -> Zone {
    args.str(index).as_str().and_then(|name| Zone::named(name).ok()).unwrap_or_else(Zone::utc)
}

fn formatted(layout: &[u8], date: &Value, zone: Zone) -> Value {
    let time = moment(date, &[IntKind::Int64, IntKind::Int, IntKind::Int32]);
    Value::str(time.in_zone(zone).format_bytes(layout))
}

fn date_in_zone(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    fuel.spend(ZONE_STEPS)?;
    Ok(formatted(args.text(0), args.any(1), zone(args, 2)))
}

fn modify(args: Args<'_>) -> CallResult {
    // An invalid duration leaves the date unchanged.
    must_modify(args).or_else(|_| Ok(args.any(1).clone()))
}

fn must_modify(args: Args<'_>) -> CallResult {
    let duration = Duration::parse(args.text(0))?;
    Ok(TimeObject::value(TimeObject::of(args, 1).add(duration)))
}

fn parse(args: Args<'_>) -> Result<GoTime, CallError> {
    Ok(GoTime::parse_in(args.text(0), args.text(1), &Zone::local())?)
}

fn ago(args: Args<'_>) -> CallResult {
    let since = moment(args.any(0), &[IntKind::Int64, IntKind::Int]);
    Ok(Value::from(now().sub(&since).round(Duration::SECOND).to_string()))
}

/// Seconds as hours, minutes and seconds. An `int` is not supported, only an `int64` or a string.
fn duration(args: Args<'_>) -> CallResult {
    let seconds = match args.any(0) {
        Value::Int(IntKind::Int64, seconds) => *seconds,
        Value::Str(text) => {
            let text = text.to_str_lossy();
            match parse_int(&text, 10) {
                Ok(seconds) => seconds,
                Err(IntError::Range) if text.starts_with('-') => i64::MIN,
                Err(IntError::Range) => i64::MAX,
                Err(IntError::Syntax) => 0,
            }
        }
        _ => 0,
    };
    Ok(Value::from(Duration(seconds.wrapping_mul(Duration::SECOND.0)).to_string()))
}

/// The largest unit of a duration, rounded down.
fn duration_round(args: Args<'_>) -> CallResult {
    const HOUR: u64 = 3_600_000_000_000;
    const UNITS: [(u64, &str); 6] = [
        (365 * 24 * HOUR, "y"),
        (30 * 24 * HOUR, "mo"),
        (24 * HOUR, "d"),
        (HOUR, "h"),
        (HOUR / 60, "m"),
        (HOUR / 3600, "s"),
    ];
    let duration = match args.any(0) {
        Value::Str(text) => Duration::parse(text.as_bytes()).unwrap_or_default(),
        Value::Int(IntKind::Int64, nanoseconds) => Duration(*nanoseconds),
        value => value.downcast::<TimeObject>().map(|time| now().sub(&time.0)).unwrap_or_default(),
    };
    let length = duration.0.unsigned_abs();
    // More than, not at least: exactly one day is `24h` in sprig.
    let unit = UNITS.iter().find(|(unit, _)| length > *unit);
    Ok(Value::from(unit.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", length / unit))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuel() -> Fuel {
        Fuel::new(pintle_gotmpl::Limits::default())
    }

    fn text(result: CallResult) -> String {
        result.unwrap().as_text().map(ToString::to_string).expect("a string")
    }

    #[test]
    fn a_bad_zone_is_utc_and_other_types_are_now() {
        let args = [Value::str("2006 MST"), Value::int(0), Value::str("No/Where")];
        assert_eq!(text(date_in_zone(&mut fuel(), Args(&args))), "1970 UTC");
        let args = [Value::str("2006"), Value::Float(0.0), Value::str("UTC")];
        assert_ne!(text(date_in_zone(&mut fuel(), Args(&args))), "1970");
    }

    #[test]
    fn a_bad_duration_leaves_the_date() {
        let date = TimeObject::value(GoTime::from_unix(5, 0, Zone::utc()));
        let seconds = |value: &Value| value.downcast::<TimeObject>().map(|time| time.0.unix());
        let modified = |text: &str| modify(Args(&[Value::str(text), date.clone()])).unwrap();
        assert_eq!(seconds(&modified("1m")), Some(65));
        assert_eq!(seconds(&modified("x")), Some(5));
        let error = must_modify(Args(&[Value::str("x"), date.clone()])).unwrap_err();
        assert_eq!(error.message, "time: invalid duration \"x\"");
    }

    #[test]
    fn durations_take_int64_and_texts() {
        assert_eq!(text(duration(Args(&[Value::int64(95)]))), "1m35s");
        assert_eq!(text(duration(Args(&[Value::int(95)]))), "0s");
        assert_eq!(text(duration(Args(&[Value::str("3600")]))), "1h0m0s");
        assert_eq!(text(duration_round(Args(&[Value::str("2h10m5s")]))), "2h");
        assert_eq!(text(duration_round(Args(&[Value::str("-9000h")]))), "1y");
        assert_eq!(text(duration_round(Args(&[Value::str("1h")]))), "60m");
    }
}
