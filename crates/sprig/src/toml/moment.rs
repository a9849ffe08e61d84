//! Dates and times of TOML: Go's `time.Time` in zones whose names say that there was no date, no time or no zone.

use pintle_time::{GoTime, Zone};

/// The zones of BurntSushi's library, and the layouts that it writes times in them with.
const LOCAL_ZONES: [(&str, &str); 3] = [
    ("datetime-local", "2006-01-02T15:04:05.999999999"),
    ("date-local", "2006-01-02"),
    ("time-local", "15:04:05.999999999"),
];

/// The parts of a time, as they were read.
#[derive(Default)]
struct Parts<'t> {
    date: Option<&'t str>,
    time: Option<&'t str>,
    zone: Option<&'t str>,
}

/// Reads the spelling of TOML, with `T` and `Z` already in capitals.
pub(super) fn read(text: &str) -> Option<GoTime> {
    let parts = split(text)?;
    let date = check_date(parts.date.unwrap_or("0000-01-01"))?;
    let (clock, nanoseconds) = parts.time.map_or(Some(((0, 0, 0), 0)), check_time)?;
    let [(both, _), (date_only, _), (time_only, _)] = LOCAL_ZONES;
    let zone = match (parts.zone, parts.date, parts.time) {
        (Some("Z"), ..) => Zone::utc(),
        (Some(zone), ..) => Zone::fixed("", check_zone(zone)?),
        (None, Some(_), Some(_)) => Zone::fixed(both, 0),
        (None, Some(_), None) => Zone::fixed(date_only, 0),
        (None, None, _) => Zone::fixed(time_only, 0),
    };
    Some(GoTime::from_civil(date, clock, nanoseconds, zone))
}

/// The spelling of TOML for a time that was read without a date, a time or a zone.
pub(super) fn written_locally(time: &GoTime) -> Option<String> {
    let zone = time.zone();
    let (_, layout) = LOCAL_ZONES.iter().find(|(name, _)| *name == zone.name())?;
    Some(time.format(layout))
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

fn check_date(date: &str) -> Option<(i64, i64, i64)> {
    let bytes = date.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = two_digits(date, 0, 100)? * 100 + two_digits(date, 2, 100)?;
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let month = two_digits(date, 5, 13)?;
    let days = match month {
        0 => return None,
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let day = two_digits(date, 8, 32)?;
    (1..=days).contains(&day).then_some((year.into(), month.into(), day.into()))
}

/// A clock and its nanoseconds.
fn check_time(time: &str) -> Option<((i64, i64, i64), i64)> {
    let (hour, minute) = (two_digits(time, 0, 24)?, two_digits(time, 3, 60)?);
    let bytes = time.as_bytes();
    if bytes[2] != b':' {
        return None;
    }
    if bytes.len() == 5 {
        return Some(((hour.into(), minute.into(), 0), 0));
    }
    let second = two_digits(time, 6, 60)?;
    let fraction = match time.get(8..)? {
        "" => "",
        // Go accepts a comma as well.
        rest => rest.strip_prefix(['.', ',']).filter(|digits| !digits.is_empty())?,
    };
    if bytes[5] != b':' || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds = format!("{:0<9}", fraction.get(..9).unwrap_or(fraction)).parse().ok()?;
    Some(((hour.into(), minute.into(), second.into()), nanoseconds))
}

/// The offset of a zone in seconds.
fn check_zone(zone: &str) -> Option<i32> {
    if zone.len() != 6 || zone.as_bytes()[3] != b':' {
        return None;
    }
    // 24 hours and 60 minutes are allowed, as in Go's `time.Parse`.
    let (hours, minutes) = (two_digits(zone, 1, 25)?, two_digits(zone, 4, 61)?);
    let seconds = i32::try_from(hours * 3_600 + minutes * 60).ok()?;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}
