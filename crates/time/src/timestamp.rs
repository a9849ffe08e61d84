//! Timestamps in files and records: RFC 3339 with nanoseconds, in the time zone in which they were written, parsed as
//! strictly as Go's JSON decoder does.

use std::cmp::Ordering;
use std::fmt;

use crate::RFC3339;
use crate::quote::quote;

/// Unix time of Go's zero time, the start of year 1.
const ZERO: i64 = -62_135_596_800;

/// A point in time with its UTC offset. The default is Go's zero time; where Helm means "never" by it, records have
/// `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanosecond: u32,
    /// Minutes east of UTC.
    offset: i32,
}

impl Default for Timestamp {
    fn default() -> Self {
        Timestamp::ZERO
    }
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
        let mut reader = Reader { text, at: 0 };
        let year = reader.number(4, "2006")?;
        reader.literal("-")?;
        let month = reader.number(2, "01")?;
        reader.literal("-")?;
        let day = reader.number(2, "02")?;
        reader.literal("T")?;
        // Go accepts a one-digit hour, although RFC 3339 does not.
        let digits = if reader.rest().as_bytes().get(1) == Some(&b':') { 1 } else { 2 };
        let hour = reader.number(digits, "15")?;
        reader.literal(":")?;
        let minute = reader.number(2, "04")?;
        reader.literal(":")?;
        let second = reader.number(2, "05")?;
        let nanosecond = reader.fraction();
        let offset = reader.offset()?;
        if reader.at < text.len() {
            let extra = quote(reader.rest().as_bytes());
            return Err(format!("parsing time {}: extra text: {extra}", quote(text.as_bytes())));
        }
        for (wrong, what) in [
            (!(1..=12).contains(&month), "month"),
            (day == 0 || day > days_in(year, month), "day"),
            (hour > 23, "hour"),
            (minute > 59, "minute"),
            (second > 59, "second"),
        ] {
            if wrong {
                return Err(format!("parsing time {}: {what} out of range", quote(text.as_bytes())));
            }
        }
        let time = i64::from(hour * 3600 + minute * 60 + second);
        let seconds = days_since_1970(year, month, day) * 86_400 + time - i64::from(offset) * 60;
        Ok(Timestamp { seconds, nanosecond, offset })
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

/// Go's `RFC3339Nano`: without fraction if it is zero, and without trailing zeros.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.seconds.saturating_add(i64::from(self.offset) * 60);
        let (year, month, day) = civil(local.div_euclid(86_400));
        let time = local.rem_euclid(86_400);
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanosecond > 0 {
            let digits = format!("{:09}", self.nanosecond);
            write!(formatter, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return formatter.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        write!(formatter, "{sign}{:02}:{:02}", self.offset.abs() / 60, self.offset.abs() % 60)
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

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn mismatch<T>(&self, element: &str) -> Result<T, String> {
        let (text, rest) = (quote(self.text.as_bytes()), quote(self.rest().as_bytes()));
        Err(format!(
            "parsing time {text} as {}: cannot parse {rest} as {}",
            quote(RFC3339.as_bytes()),
            quote(element.as_bytes())
        ))
    }

    fn digits(&self, count: usize) -> Option<u32> {
        let digits = self.rest().as_bytes().get(..count)?;
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
        })
    }

    fn number(&mut self, count: usize, element: &str) -> Result<u32, String> {
        let Some(number) = self.digits(count) else { return self.mismatch(element) };
        self.at += count;
        Ok(number)
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        if !self.rest().starts_with(literal) {
            return self.mismatch(literal);
        }
        self.at += literal.len();
        Ok(())
    }

    /// An optional fraction. Digits beyond nanoseconds are dropped.
    fn fraction(&mut self) -> u32 {
        let rest = self.rest().as_bytes();
        let count = match rest.first() {
            Some(b'.' | b',') => rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        let digits = rest.get(1..=count).unwrap_or_default();
        let mut padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
        let nanosecond = padded.by_ref().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        self.at += if count > 0 { count + 1 } else { 0 };
        nanosecond
    }

    /// `Z` or `±hh:mm`, in minutes.
    fn offset(&mut self) -> Result<i32, String> {
        if self.rest().starts_with('Z') {
            self.at += 1;
            return Ok(0);
        }
        let sign = match self.rest().as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return self.mismatch("Z07:00"),
        };
        let zone = self.at;
        self.at += 1;
        let parsed = self.digits(2).and_then(|hours| {
            self.at += 2;
            self.rest().starts_with(':').then_some(hours)
        });
        let minutes = parsed.and_then(|hours| {
            self.at += 1;
            self.digits(2).map(|minutes| (hours, minutes))
        });
        match minutes {
            Some((hours, minutes)) => {
                // Go accepts offsets of up to 24 hours.
                let wrong = if hours > 24 { Some("hour") } else { (minutes > 60).then_some("minute") };
                if let Some(part) = wrong {
                    let text = quote(self.text.as_bytes());
                    return Err(format!("parsing time {text}: time zone offset {part} out of range"));
                }
                self.at += 2;
                Ok(sign * (hours * 60 + minutes) as i32)
            }
            None => {
                self.at = zone;
                self.mismatch("Z07:00")
            }
        }
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a Gregorian date.
fn days_since_1970(year: u32, month: u32, day: u32) -> i64 {
    let years = i64::from(year) - 1;
    let before = years * 365 + years / 4 - years / 100 + years / 400;
    let in_year: u32 = (1..month).map(|earlier| days_in(year, earlier)).sum();
    before + i64::from(in_year + day) - 1 - 719_162
}

/// The date `days` after 1970-01-01.
fn civil(days: i64) -> (u32, u32, u32) {
    // RFC 3339 is limited to the years 1 to 9999.
    // The days from the first of January of the year 1 to 1970, and from there to the end of 9999.
    let days = days.clamp(-719_162, 2_932_896) + 719_162;
    let mut year = (days / 366) as u32 + 1;
    while days_since_1970(year + 1, 1, 1) + 719_162 <= days {
        year += 1;
    }
    let mut rest = (days - days_since_1970(year, 1, 1) - 719_162) as u32;
    let mut month = 1;
    while rest >= days_in(year, month) {
        rest -= days_in(year, month);
        month += 1;
    }
    (year, month, rest + 1)
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

    #[test]
    fn times_are_read_and_written_as_go_does() {
        for (text, written, unix) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0),
            ("2024-02-29T12:30:15.500+02:00", "2024-02-29T12:30:15.5+02:00", 1_709_202_615),
            ("2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00Z", 1_577_836_800),
            ("1960-01-01T00:00:00-07:30", "1960-01-01T00:00:00-07:30", -315_592_200),
            ("1970-01-01T1:00:00,5Z", "1970-01-01T01:00:00.5Z", 3600),
        ] {
            let time = Timestamp::parse(text).expect("a good time");
            assert_eq!((time.to_string().as_str(), time.unix()), (written, unix));
        }
    }

    #[test]
    fn seconds_and_dates_agree_both_ways() {
        for seconds in [0, -1, 951_782_399, 951_782_400, 4_102_444_799, -62_135_596_800, 1_709_251_199] {
            assert_eq!(Timestamp::from_unix(seconds, 0).unix(), seconds);
        }
        assert_eq!(Timestamp::from_unix(1_709_164_800, 0).to_string(), "2024-02-29T00:00:00Z");
    }

    #[test]
    fn errors_are_go_s() {
        for (text, error) in [
            ("abc", r#"parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006""#),
            ("2020-13-01T00:00:00Z", r#"parsing time "2020-13-01T00:00:00Z": month out of range"#),
            (
                "2020-12-01 00:00:00Z",
                r#"parsing time "2020-12-01 00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#,
            ),
            ("2020-12-01T00:00:00Zx", r#"parsing time "2020-12-01T00:00:00Zx": extra text: "x""#),
            ("2021-02-29T00:00:00Z", r#"parsing time "2021-02-29T00:00:00Z": day out of range"#),
            ("", r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#),
        ] {
            assert_eq!(Timestamp::parse(text).expect_err("a bad time"), error);
        }
    }
}
