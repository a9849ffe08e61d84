//! Dates and times of TOML, which remember whether they have a date, a time or a zone.

use std::any::Any;

use pintle_gotmpl::{Encoded, Object, Value};

/// A date, a time or both. To templates it is Go's `time.Time`.
#[derive(Debug)]
pub(super) struct Moment {
    /// As TOML writes it.
    pub(super) toml: String,
    /// As JSON writes it, always with date, time and zone.
    pub(super) rfc3339: String,
    /// As `%v` prints it.
    printed: String,
}

/// The parts of a moment, as they were read.
#[derive(Default)]
struct Parts<'t> {
    date: Option<&'t str>,
    time: Option<&'t str>,
    zone: Option<&'t str>,
}

impl Moment {
    /// Reads the spelling of TOML, with `T` and `Z` already in capitals.
    pub(super) fn read(text: &str) -> Option<Moment> {
        let parts = split(text)?;
        if let Some(date) = parts.date {
            check_date(date)?;
        }
        let clock = match parts.time {
            Some(time) => check_time(time)?,
            None => "00:00:00".to_owned(),
        };
        let zone = parts.zone.unwrap_or("Z");
        check_zone(zone)?;
        let date = parts.date.unwrap_or("0000-01-01");
        let (offset, name) = match (parts.zone, parts.date, parts.time) {
            (Some("Z"), ..) => ("+0000".to_owned(), "UTC".to_owned()),
            (Some(zone), ..) => (zone.replace(':', ""), zone.replace(':', "")),
            (None, Some(_), Some(_)) => ("+0000".to_owned(), "datetime-local".to_owned()),
            (None, Some(_), None) => ("+0000".to_owned(), "date-local".to_owned()),
            (None, None, _) => ("+0000".to_owned(), "time-local".to_owned()),
        };
        let toml = match (parts.zone, parts.date, parts.time) {
            (None, Some(_), None) => date.to_owned(),
            (None, None, _) => clock.clone(),
            (None, ..) => format!("{date}T{clock}"),
            (Some(_), ..) => format!("{date}T{clock}{zone}"),
        };
        Some(Moment {
            toml,
            rfc3339: format!("{date}T{clock}{zone}"),
            printed: format!("{date} {clock} {offset} {name}"),
        })
    }
}

fn split(text: &str) -> Option<Parts<'_>> {
    let mut parts = Parts::default();
    let clock = match text.split_once('T') {
        Some((date, clock)) => {
            parts.date = Some(date);
            clock
        }
        None if text.contains(':') => text,
        None => {
            parts.date = Some(text);
            return Some(parts);
        }
    };
    let zone = clock.find(['Z', '+', '-']);
    let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
    parts.time = Some(clock);
    if !zone.is_empty() {
        // A zone makes sense only with a date.
        parts.date?;
        parts.zone = Some(zone);
    }
    Some(parts)
}

/// Two digits below `limit` at `index`.
fn two_digits(text: &str, index: usize, limit: u32) -> Option<u32> {
    let digits = text.get(index..index + 2)?;
    let value = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (value < limit).then_some(value)
}

fn check_date(date: &str) -> Option<()> {
    let bytes = date.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = two_digits(date, 0, 100)? * 100 + two_digits(date, 2, 100)?;
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match two_digits(date, 5, 13)? {
        0 => return None,
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1..=days).contains(&two_digits(date, 8, 32)?).then_some(())
}

/// The time with seconds, and with its fraction if that is not zero.
fn check_time(time: &str) -> Option<String> {
    let (hour, minute) = (two_digits(time, 0, 24)?, two_digits(time, 3, 60)?);
    let bytes = time.as_bytes();
    if bytes[2] != b':' {
        return None;
    }
    if bytes.len() == 5 {
        return Some(format!("{hour:02}:{minute:02}:00"));
    }
    let second = two_digits(time, 6, 60)?;
    let fraction = match time.get(8..)? {
        "" => "",
        rest => rest.strip_prefix(['.', ',']).filter(|digits| !digits.is_empty())?,
    };
    if bytes[5] != b':' || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.get(..9).unwrap_or(fraction).trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{hour:02}:{minute:02}:{second:02}{point}{fraction}"))
}

fn check_zone(zone: &str) -> Option<()> {
    if zone == "Z" {
        return Some(());
    }
    let shape = zone.len() == 6 && zone.as_bytes()[3] == b':';
    (shape && two_digits(zone, 1, 25).is_some() && two_digits(zone, 4, 61).is_some()).then_some(())
}

impl Object for Moment {
    fn type_name(&self) -> &'static str {
        "time.Time"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn print(&self) -> String {
        self.printed.clone()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::str(self.rfc3339.as_str()))
    }
}
