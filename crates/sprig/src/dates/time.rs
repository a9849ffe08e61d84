//! `time.Time` as templates see it.

use std::any::Any;

use pintle_gotmpl::{Args, CallError, CallResult, Encoded, IntKind, Method, Object, Type, Value};
use pintle_time::{GoTime, Zone};

use super::TIME;
use super::calendar::{LocationObject, MonthObject, WeekdayObject};
use super::span::{DurationObject, SPAN, method, span};

/// A point in time.
#[derive(Debug)]
pub(super) struct TimeObject(pub(super) GoTime);

const LOCATION: Type = Type::Object("*time.Location");

// Go's templates cannot call methods that return more than one value and an error.
const METHODS: &[Method] = &[
    method("Add", &[SPAN], TIME),
    method("AddDate", &[Type::Int, Type::Int, Type::Int], TIME),
    method("After", &[TIME], Type::Bool),
    method("AppendFormat", &[Type::Bytes, Type::Str], Type::Bytes),
    method("AppendText", &[Type::Bytes], Type::Bytes),
    method("Before", &[TIME], Type::Bool),
    method("Clock", &[], Type::Refused("function Clock has 3 return values; should be 1 or 2")),
    method("Compare", &[TIME], Type::Int),
    method("Date", &[], Type::Refused("function Date has 3 return values; should be 1 or 2")),
    method("Day", &[], Type::Int),
    method("Equal", &[TIME], Type::Bool),
    method("Format", &[Type::Str], Type::Str),
    method("GoString", &[], Type::Str),
    method("Hour", &[], Type::Int),
    method(
        "ISOWeek",
        &[],
        Type::Refused("invalid function signature for ISOWeek: second return value should be error; is int"),
    ),
    method("In", &[LOCATION], TIME),
    method("IsDST", &[], Type::Bool),
    method("IsZero", &[], Type::Bool),
    method("Local", &[], TIME),
    method("Location", &[], LOCATION),
    method("MarshalJSON", &[], Type::Bytes),
    method("MarshalText", &[], Type::Bytes),
    method("Minute", &[], Type::Int),
    method("Month", &[], Type::Object("time.Month")),
    method("Nanosecond", &[], Type::Int),
    method("Round", &[SPAN], TIME),
    method("Second", &[], Type::Int),
    method("String", &[], Type::Str),
    method("Sub", &[TIME], Type::Object("time.Duration")),
    method("Truncate", &[SPAN], TIME),
    method("UTC", &[], TIME),
    method("Unix", &[], Type::Int64),
    method("UnixMicro", &[], Type::Int64),
    method("UnixMilli", &[], Type::Int64),
    method("UnixNano", &[], Type::Int64),
    method("Weekday", &[], Type::Object("time.Weekday")),
    method("Year", &[], Type::Int),
    method("YearDay", &[], Type::Int),
    method(
        "Zone",
        &[],
        Type::Refused("invalid function signature for Zone: second return value should be error; is int"),
    ),
    method(
        "ZoneBounds",
        &[],
        Type::Refused(
            "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
        ),
    ),
];

impl TimeObject {
    /// A time for templates.
    pub(super) fn value(time: GoTime) -> Value {
        Value::object(TimeObject(time))
    }

    /// The time in an argument.
    pub(super) fn of(args: Args<'_>, index: usize) -> GoTime {
        args.any(index).downcast::<TimeObject>().map(|time| time.0.clone()).unwrap_or_default()
    }

    /// Methods that give another time.
    fn derived(&self, method: &str, args: Args<'_>) -> Option<Result<GoTime, CallError>> {
        let time = &self.0;
        Some(Ok(match method {
            "Add" | "Round" | "Truncate" => {
                let span = span(args.any(0));
                match method {
                    "Add" => time.add(span),
                    "Round" => time.round(span),
                    _ => time.truncate(span),
                }
            }
            "AddDate" => time.add_date(args.int(0), args.int(1), args.int(2)),
            "UTC" => time.utc(),
            "Local" => time.in_zone(Zone::local()),
            "In" => match args.any(0).downcast::<LocationObject>() {
                Some(location) => time.in_zone(location.0.clone()),
                None => return Some(Err("time: missing Location in call to Time.In".into())),
            },
            _ => return None,
        }))
    }

    /// Methods that give a number.
    fn number(&self, method: &str) -> Option<Value> {
        let time = &self.0;
        Some(match method {
            "Year" => Value::int(time.year()),
            "Day" => Value::int(time.day().into()),
            "YearDay" => Value::int(time.year_day().into()),
            "Hour" => Value::int(time.hour().into()),
            "Minute" => Value::int(time.minute().into()),
            "Second" => Value::int(time.second().into()),
            "Nanosecond" => Value::int(time.nanosecond().into()),
            "Unix" => Value::int64(time.unix()),
            "UnixMilli" => Value::int64(time.unix_milli()),
            "UnixMicro" => Value::int64(time.unix_micro()),
            "UnixNano" => Value::int64(time.unix_nano()),
            _ => return None,
        })
    }

    /// Methods that compare with another time.
    fn comparison(&self, method: &str, args: Args<'_>) -> Option<Value> {
        let order = || self.0.compare(&TimeObject::of(args, 0));
        Some(match method {
            "After" => Value::Bool(order().is_gt()),
            "Before" => Value::Bool(order().is_lt()),
            "Equal" => Value::Bool(order().is_eq()),
            "Compare" => Value::Int(IntKind::Int, order() as i64),
            "IsZero" => Value::Bool(self.0.is_zero()),
            "IsDST" => Value::Bool(self.0.is_dst()),
            _ => return None,
        })
    }
}

/// The bytes of the first argument, which may be nil, and a text after them.
fn appended(args: Args<'_>, text: &[u8]) -> Value {
    let before = match args.any(0) {
        Value::Bytes(bytes) => bytes.as_bytes(),
        _ => &[],
    };
    Value::Bytes([before, text].concat().into())
}

impl Object for TimeObject {
    fn type_name(&self) -> &'static str {
        TIME.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, method: &str, arguments: &[Value]) -> CallResult {
        let args = Args(arguments);
        let time = &self.0;
        if let Some(result) = self.number(method).or_else(|| self.comparison(method, args)) {
            return Ok(result);
        }
        if let Some(time) = self.derived(method, args) {
            return time.map(TimeObject::value);
        }
        Ok(match method {
            "Format" => Value::str(time.format_bytes(args.text(0))),
            "String" => Value::from(time.to_string()),
            "GoString" => Value::from(time.go_string()),
            "Month" => Value::object(MonthObject(time.month())),
            "Weekday" => Value::object(WeekdayObject(time.weekday())),
            "Location" => Value::object(LocationObject(time.zone().clone())),
            "Sub" => DurationObject::value(time.sub(&TimeObject::of(args, 0))),
            "MarshalText" => {
                // The texts differ only in the name of the method.
                let text =
                    time.to_json_text().map_err(|error| error.replace("MarshalJSON", "MarshalText"))?;
                Value::Bytes(text.into())
            }
            "MarshalJSON" => Value::Bytes(format!("\"{}\"", time.to_json_text()?).into()),
            "AppendFormat" => appended(args, &time.format_bytes(args.text(1))),
            "AppendText" => {
                let text = time.to_json_text().map_err(|error| error.replace("MarshalJSON", "AppendText"))?;
                appended(args, text.as_bytes())
            }
            _ => return Err(CallError::new(format!("no method {method}"))),
        })
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn encode(&self) -> Encoded {
        match self.0.to_json_text() {
            Ok(text) => Encoded::Value(Value::from(text)),
            Err(error) => {
                // Go's encoder formats times itself, but says that it called the method of a pointer.
                let reason = error.strip_prefix("Time.MarshalJSON: ").unwrap_or(&error);
                Encoded::Error(format!("json: error calling MarshalJSON for type *time.Time: {reason}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_time::Duration;

    use super::*;

    fn day(year: i64, month: i64, day: i64) -> TimeObject {
        TimeObject(GoTime::from_civil((year, month, day), (13, 4, 5), 0, Zone::utc()))
    }

    fn shown(result: CallResult) -> String {
        pintle_gotmpl::print::to_str(&result.unwrap()).to_string()
    }

    #[test]
    fn times_are_taken_apart_and_moved() {
        let time = day(2024, 2, 29);
        for (method, expected) in [
            ("Month", "February"),
            ("Weekday", "Thursday"),
            ("YearDay", "60"),
            ("Unix", "1709211845"),
            ("Location", "UTC"),
            ("String", "2024-02-29 13:04:05 +0000 UTC"),
        ] {
            assert_eq!(shown(time.call(method, &[])), expected);
        }
        let later = [Value::int(0), Value::int(1), Value::int(1)];
        assert_eq!(shown(time.call("AddDate", &later)), "2024-03-30 13:04:05 +0000 UTC");
        let minute = Value::object(DurationObject(Duration::MINUTE));
        assert_eq!(shown(time.call("Truncate", &[minute])), "2024-02-29 13:04:00 +0000 UTC");
    }

    #[test]
    fn the_difference_of_times_is_a_duration() {
        let difference = day(2024, 3, 1).call("Sub", &[Value::object(day(2024, 2, 28))]).unwrap();
        assert_eq!(difference.type_name(), "time.Duration");
        let Value::Object(object) = &difference else { panic!("no object") };
        assert_eq!(shown(object.call("Hours", &[])), "48");
        assert!(day(2024, 1, 1).call("Before", &[Value::object(day(2024, 1, 2))]).unwrap().is_true());
    }

    #[test]
    fn every_method_that_is_announced_exists() {
        for method in METHODS.iter().filter(|method| !matches!(method.result, Type::Refused(_))) {
            let arguments: Vec<Value> =
                method.params.iter().map(|_| Value::object(day(2024, 1, 1))).collect();
            if let Err(error) = day(2024, 1, 1).call(method.name, &arguments) {
                assert!(!error.message.starts_with("no method"), "{}", method.name);
            }
        }
    }
}
