//! `time.Duration` as templates see it.

use std::any::Any;

use pintle_gotmpl::{Args, CallError, CallResult, Encoded, IntKind, Kind, Method, Object, Type, Value};
use pintle_time::Duration;

/// A duration between two times.
#[derive(Debug)]
pub(super) struct DurationObject(pub(super) Duration);

const DURATION: Type = Type::Object("time.Duration");

/// The type of a duration parameter.
pub(super) const SPAN: Type = Type::NamedInt("time.Duration");

/// A method that takes a fixed number of arguments.
pub(super) const fn method(name: &'static str, params: &'static [Type], result: Type) -> Method {
    Method { name, params, variadic: None, result }
}

const METHODS: &[Method] = &[
    method("Abs", &[], DURATION),
    method("Hours", &[], Type::Float64),
    method("Microseconds", &[], Type::Int64),
    method("Milliseconds", &[], Type::Int64),
    method("Minutes", &[], Type::Float64),
    method("Nanoseconds", &[], Type::Int64),
    method("Round", &[SPAN], DURATION),
    method("Seconds", &[], Type::Float64),
    method("String", &[], Type::Str),
    method("Truncate", &[SPAN], DURATION),
];

/// The duration in an argument of the type [`SPAN`]: an object, or nanoseconds as a constant.
pub(super) fn span(value: &Value) -> Duration {
    match value {
        Value::Int(IntKind::Int, nanoseconds) => Duration(*nanoseconds),
        _ => value.downcast::<DurationObject>().map(|duration| duration.0).unwrap_or_default(),
    }
}

impl DurationObject {
    /// A duration for templates.
    pub(super) fn value(duration: Duration) -> Value {
        Value::object(DurationObject(duration))
    }
}

impl Object for DurationObject {
    fn type_name(&self) -> &'static str {
        DURATION.name()
    }

    fn kind(&self) -> Kind {
        Kind::Int(IntKind::Int64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, method: &str, arguments: &[Value]) -> CallResult {
        let duration = self.0;
        let argument = || span(Args(arguments).any(0));
        Ok(match method {
            "String" => Value::from(duration.to_string()),
            "Hours" => Value::Float(duration.hours()),
            "Minutes" => Value::Float(duration.minutes()),
            "Seconds" => Value::Float(duration.seconds()),
            "Milliseconds" => Value::int64(duration.milliseconds()),
            "Microseconds" => Value::int64(duration.microseconds()),
            "Nanoseconds" => Value::int64(duration.nanoseconds()),
            "Abs" => DurationObject::value(duration.abs()),
            "Round" => DurationObject::value(duration.round(argument())),
            "Truncate" => DurationObject::value(duration.truncate(argument())),
            _ => return Err(CallError::new(format!("no method {method}"))),
        })
    }

    fn is_true(&self) -> bool {
        self.0.0 != 0
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::int64(self.0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_and_print() {
        let duration = DurationObject(Duration(3_723_500_000_000));
        let rounded = duration.call("Round", &[Value::int(Duration::MINUTE.0)]).unwrap();
        assert_eq!(pintle_gotmpl::print::to_str(&rounded), "1h2m0s");
        assert!(matches!(duration.encode(), Encoded::Value(Value::Int(IntKind::Int64, 3_723_500_000_000))));
        assert!(!DurationObject(Duration(0)).is_true());
    }
}
