//! Timestamps of releases: RFC 3339 with nanoseconds, in the time zone in which they were written.

use std::cmp::Ordering;
use std::fmt;

use pintle_chart::metadata::Timestamp as ChartTimestamp;

/// Unix time of Go's zero time, the start of year 1.
const ZERO: i64 = -62_135_596_800;

/// A point in time with its UTC offset. Go's zero time is a valid value; where Helm means "never" by it, records have
/// `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanosecond: u32,
    /// Minutes east of UTC.
    offset: i32,
}

impl Timestamp {
    /// Go's zero time.
    pub const ZERO: Timestamp = Timestamp { seconds: ZERO, nanosecond: 0, offset: 0 };

    /// Returns the timestamp for Unix time, in UTC.
    pub fn from_unix(seconds: i64, nanosecond: u32) -> Self {
        Timestamp { seconds, nanosecond: nanosecond.min(999_999_999), offset: 0 }
    }

    /// The same instant in a time zone `minutes` east of UTC.
    #[must_use]
    pub fn with_offset(self, minutes: i32) -> Self {
        Timestamp { offset: minutes.clamp(-1440, 1440), ..self }
    }

    /// Parses RFC 3339 as Go's `encoding/json` does.
    ///
    /// # Errors
    /// Go's message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let seconds = ChartTimestamp::parse(text)?.unix();
        Ok(Timestamp { seconds, nanosecond: nanosecond_of(text), offset: offset_of(text) })
    }

    /// Unix time in seconds.
    pub fn unix(&self) -> i64 {
        self.seconds
    }

    /// Unix time in milliseconds; 0 before 1970.
    pub fn unix_millis(&self) -> u64 {
        u64::try_from(self.seconds).unwrap_or(0) * 1000 + u64::from(self.nanosecond / 1_000_000)
    }

    /// The nanoseconds within the second.
    pub fn nanosecond(&self) -> u32 {
        self.nanosecond
    }

    /// Minutes east of UTC.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// Whether this is Go's zero time.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO && self.nanosecond == 0
    }

    /// `None` for Go's zero time.
    pub fn non_zero(self) -> Option<Self> {
        (!self.is_zero()).then_some(self)
    }

    /// Adds seconds.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Timestamp { seconds: self.seconds.saturating_add(seconds), ..self }
    }
}

/// The fraction of a valid text in nanoseconds; further digits are dropped.
fn nanosecond_of(text: &str) -> u32 {
    let Some((_, rest)) = text.split_once(['.', ',']) else { return 0 };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).chain(std::iter::repeat(b'0'));
    digits.take(9).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

/// The offset of a valid text, in minutes.
fn offset_of(text: &str) -> i32 {
    let zone = text.len().checked_sub(6).and_then(|start| text.get(start..));
    let Some((sign, (hours, minutes))) =
        zone.and_then(|zone| Some((zone.get(..1)?, zone.get(1..)?.split_once(':')?)))
    else {
        return 0;
    };
    match (sign, hours.parse::<i32>(), minutes.parse::<i32>()) {
        ("+", Ok(hours), Ok(minutes)) => hours * 60 + minutes,
        ("-", Ok(hours), Ok(minutes)) => -(hours * 60 + minutes),
        _ => 0,
    }
}

/// Go's `RFC3339Nano`: without fraction if it is zero, and without trailing zeros.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.seconds.saturating_add(i64::from(self.offset) * 60);
        let text = ChartTimestamp::from_unix(local, self.nanosecond).to_string();
        if self.offset == 0 {
            return formatter.write_str(&text);
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (self.offset.abs() / 60, self.offset.abs() % 60);
        write!(formatter, "{}{sign}{hours:02}:{minutes:02}", text.trim_end_matches('Z'))
    }
}

/// Ordered by instant; the offset only breaks ties, to be consistent with equality.
impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanosecond, self.offset).cmp(&(other.seconds, other.nanosecond, other.offset))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_go_writes_them() {
        for (text, written) in [
            ("2024-02-29T13:04:05.123456789Z", "2024-02-29T13:04:05.123456789Z"),
            ("2024-03-01T10:00:00.50+05:30", "2024-03-01T10:00:00.5+05:30"),
            ("2024-03-01T10:00:00-07:00", "2024-03-01T10:00:00-07:00"),
            ("2024-03-01T10:00:00+00:00", "2024-03-01T10:00:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::parse(text).expect("a good time").to_string(), written);
        }
    }

    #[test]
    fn the_zone_does_not_change_the_instant() {
        let here = Timestamp::parse("2024-03-01T10:00:00+02:00").expect("a good time");
        let there = Timestamp::parse("2024-03-01T08:00:00Z").expect("a good time");
        assert_eq!(here.unix(), there.unix());
        assert_eq!(there.with_offset(120), here);
        assert!(Timestamp::ZERO.non_zero().is_none() && here.non_zero().is_some());
    }

    #[test]
    fn an_invalid_time_has_gos_message() {
        let error = Timestamp::parse("bad").expect_err("no time");
        assert_eq!(
            error,
            r#"parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006""#
        );
    }
}
