//! `time.Month`, `time.Weekday` and `*time.Location` as templates see them.

use std::any::Any;

use pintle_gotmpl::{CallResult, Encoded, IntKind, Kind, Method, Object, Type, Value};
use pintle_time::{Month, Weekday, Zone};

use super::span::method;

/// The one method that all three have.
const STRING: &[Method] = &[method("String", &[], Type::Str)];

/// A month: a number with a name.
#[derive(Debug)]
pub(super) struct MonthObject(pub(super) Month);

/// A day of the week: a number with a name.
#[derive(Debug)]
pub(super) struct WeekdayObject(pub(super) Weekday);

/// A time zone.
#[derive(Debug)]
pub(super) struct LocationObject(pub(super) Zone);

/// The number of a month or weekday. Conversions know these two, and no other named number.
pub(crate) fn calendar_number(value: &Value) -> Option<i64> {
    let month = value.downcast::<MonthObject>().map(|month| month.0.0.into());
    month.or_else(|| value.downcast::<WeekdayObject>().map(|day| day.0.0.into()))
}

impl Object for MonthObject {
    fn type_name(&self) -> &'static str {
        "time.Month"
    }

    fn kind(&self) -> Kind {
        Kind::Int(IntKind::Int)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        STRING
    }

    fn call(&self, _: &str, _: &[Value]) -> CallResult {
        Ok(Value::from(self.print()))
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::int(self.0.0.into()))
    }
}

impl Object for WeekdayObject {
    fn type_name(&self) -> &'static str {
        "time.Weekday"
    }

    fn kind(&self) -> Kind {
        Kind::Int(IntKind::Int)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        STRING
    }

    fn call(&self, _: &str, _: &[Value]) -> CallResult {
        Ok(Value::from(self.print()))
    }

    /// Sunday is zero.
    fn is_true(&self) -> bool {
        self.0.0 != 0
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::int(self.0.0.into()))
    }
}

impl Object for LocationObject {
    fn type_name(&self) -> &'static str {
        "*time.Location"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        STRING
    }

    fn call(&self, _: &str, _: &[Value]) -> CallResult {
        Ok(Value::from(self.print()))
    }

    fn print(&self) -> String {
        self.0.name().to_owned()
    }

    fn encode(&self) -> Encoded {
        // A struct without exported fields.
        Encoded::Fields(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_and_days_are_numbers_with_names() {
        let month = MonthObject(Month(2));
        assert_eq!((month.print().as_str(), month.kind().name()), ("February", "int"));
        assert!(matches!(month.encode(), Encoded::Value(Value::Int(IntKind::Int, 2))));
        assert!(!WeekdayObject(Weekday(0)).is_true());
        assert_eq!(calendar_number(&Value::object(month)), Some(2));
        assert_eq!(calendar_number(&Value::object(WeekdayObject(Weekday(4)))), Some(4));
        assert_eq!(calendar_number(&Value::object(LocationObject(Zone::utc()))), None);
    }
}
