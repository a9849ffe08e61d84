//! A point in time in a zone: construction, parts, arithmetic and comparison.

use std::cmp::Ordering;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::civil::{self, Date, Month, SECONDS_PER_DAY, SECONDS_TO_UNIX, Weekday};
use crate::duration::Duration;
use crate::zone::Zone;

/// Seconds from the beginning of the year one to the Unix epoch.
const YEAR_ONE_TO_UNIX: i64 = 62_135_596_800;

const NANOSECONDS: i64 = 1_000_000_000;

/// A point in time in a zone, like Go's `time.Time`.
///
/// Two values are equal if time and zone are the same; [`GoTime::compare`] compares the time only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoTime {
    /// Seconds since the beginning of the year one.
    seconds: i64,
    nanoseconds: u32,
    zone: Zone,
    /// The monotonic clock reading in nanoseconds, if this time was read from the clock.
    monotonic: Option<i64>,
}

impl Default for GoTime {
    /// The beginning of the year one, which Go calls the zero time.
    fn default() -> Self {
        Self { seconds: 0, nanoseconds: 0, zone: Zone::utc(), monotonic: None }
    }
}

impl GoTime {
    /// Reads the clock.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "what the template function `now` is for")]
    pub fn now(zone: Zone) -> Self {
        // As in Go, the monotonic reading counts from the start of the process.
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let start = *START;
        let (seconds, nanoseconds) = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => (since.as_secs() as i64, i64::from(since.subsec_nanos())),
            Err(before) => {
                let before = before.duration();
                (-(before.as_secs() as i64), -i64::from(before.subsec_nanos()))
            }
        };
        let mut time = Self::from_unix(seconds, nanoseconds, zone);
        // One more, because Go's reading is never zero either.
        time.monotonic =
            i64::try_from(start.elapsed().as_nanos()).ok().map(|elapsed| elapsed.saturating_add(1));
        time
    }

    /// Creates a time from seconds and nanoseconds since the Unix epoch; the latter may be of any size.
    #[must_use]
    pub fn from_unix(seconds: i64, nanoseconds: i64, zone: Zone) -> Self {
        let seconds = seconds.wrapping_add(nanoseconds.div_euclid(NANOSECONDS));
        Self {
            seconds: seconds.wrapping_add(YEAR_ONE_TO_UNIX),
            nanoseconds: nanoseconds.rem_euclid(NANOSECONDS) as u32,
            zone,
            monotonic: None,
        }
    }

    /// Creates a time from a date and a clock in a zone. Parts beyond their usual range carry over.
    #[must_use]
    pub fn from_civil(date: (i64, i64, i64), clock: (i64, i64, i64), nanoseconds: i64, zone: Zone) -> Self {
        let (hours, minutes, seconds) = (i128::from(clock.0), i128::from(clock.1), i128::from(clock.2));
        let clock = hours * 3_600 + minutes * 60 + seconds + i128::from(nanoseconds.div_euclid(NANOSECONDS));
        let mut unix = civil::unix_seconds(date.0, date.1, date.2, clock);
        // The offset is looked up as if the clock were UTC, then for the time this leads to, as Go's `Date` does.
        let offset = zone.offset(unix);
        if offset != 0 {
            let offset = zone.offset(unix.wrapping_sub(i64::from(offset)));
            unix = unix.wrapping_sub(i64::from(offset));
        }
        Self::from_unix(unix, nanoseconds.rem_euclid(NANOSECONDS), zone)
    }

    /// Returns the same moment in another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self { zone, monotonic: None, ..self.clone() }
    }

    /// Returns the same moment in the zone of a name.
    ///
    /// # Errors
    /// With Go's text when there is no such zone.
    pub fn in_zone_named(&self, name: &str) -> Result<Self, String> {
        Zone::named(name).map(|zone| self.in_zone(zone))
    }

    /// Returns the same moment in UTC.
    #[must_use]
    pub fn utc(&self) -> Self {
        self.in_zone(Zone::utc())
    }

    /// Returns the zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the seconds east of UTC that the zone has at this moment.
    #[must_use]
    pub fn offset(&self) -> i32 {
        self.zone.offset(self.unix())
    }

    /// Returns the abbreviation of the zone at this moment.
    #[must_use]
    pub fn abbreviation(&self) -> String {
        self.zone.abbreviation(self.unix())
    }

    /// Returns whether the zone has daylight saving time at this moment.
    #[must_use]
    pub fn is_dst(&self) -> bool {
        self.zone.is_dst(self.unix())
    }

    /// Returns the monotonic clock reading in nanoseconds, if there is one.
    #[must_use]
    pub fn monotonic(&self) -> Option<i64> {
        self.monotonic
    }

    /// Returns whether this is the first moment of the year one.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.seconds == 0 && self.nanoseconds == 0
    }

    /// Returns seconds since the Unix epoch.
    #[must_use]
    pub fn unix(&self) -> i64 {
        self.seconds.wrapping_sub(YEAR_ONE_TO_UNIX)
    }

    /// Returns milliseconds since the Unix epoch; a result beyond 64 bits wraps.
    #[must_use]
    pub fn unix_milli(&self) -> i64 {
        self.unix().wrapping_mul(1_000).wrapping_add(i64::from(self.nanoseconds / 1_000_000))
    }

    /// Returns microseconds since the Unix epoch; a result beyond 64 bits wraps.
    #[must_use]
    pub fn unix_micro(&self) -> i64 {
        self.unix().wrapping_mul(1_000_000).wrapping_add(i64::from(self.nanoseconds / 1_000))
    }

    /// Returns nanoseconds since the Unix epoch; a result beyond 64 bits wraps.
    #[must_use]
    pub fn unix_nano(&self) -> i64 {
        self.unix().wrapping_mul(NANOSECONDS).wrapping_add(i64::from(self.nanoseconds))
    }

    /// Seconds of local time since the start of the calendar.
    fn calendar_seconds(&self) -> u64 {
        let unix = self.unix();
        unix.wrapping_add(i64::from(self.zone.offset(unix))).wrapping_add(SECONDS_TO_UNIX) as u64
    }

    /// The date, its day number, and the clock, with one zone lookup.
    pub(crate) fn civil(&self) -> (Date, u64, u32) {
        let seconds = self.calendar_seconds();
        let day = seconds / SECONDS_PER_DAY;
        (Date::from_day(day), day, (seconds % SECONDS_PER_DAY) as u32)
    }

    /// Returns year, month and day.
    #[must_use]
    pub fn date(&self) -> (i64, Month, u8) {
        let (date, ..) = self.civil();
        (date.year, date.month, date.day)
    }

    /// Returns hour, minute and second.
    #[must_use]
    pub fn clock(&self) -> (u8, u8, u8) {
        let (.., clock) = self.civil();
        ((clock / 3_600) as u8, (clock / 60 % 60) as u8, (clock % 60) as u8)
    }

    /// Returns the year.
    #[must_use]
    pub fn year(&self) -> i64 {
        self.date().0
    }

    /// Returns the month.
    #[must_use]
    pub fn month(&self) -> Month {
        self.date().1
    }

    /// Returns the day of the month.
    #[must_use]
    pub fn day(&self) -> u8 {
        self.date().2
    }

    /// Returns the day of the week.
    #[must_use]
    pub fn weekday(&self) -> Weekday {
        civil::weekday(self.civil().1)
    }

    /// Returns the day of the year, counted from one.
    #[must_use]
    pub fn year_day(&self) -> u16 {
        self.civil().0.year_day()
    }

    /// Returns year and week by ISO 8601, where the week belongs to the year of its Thursday.
    #[must_use]
    pub fn iso_week(&self) -> (i64, u8) {
        let (_, day, _) = self.civil();
        let monday_based = (u64::from(civil::weekday(day).0) + 6) % 7;
        let thursday = Date::from_day((day - monday_based.min(day)).wrapping_add(3));
        (thursday.year, ((thursday.year_day() - 1) / 7 + 1) as u8)
    }

    /// Returns the hour of the day.
    #[must_use]
    pub fn hour(&self) -> u8 {
        self.clock().0
    }

    /// Returns the minute of the hour.
    #[must_use]
    pub fn minute(&self) -> u8 {
        self.clock().1
    }

    /// Returns the second of the minute.
    #[must_use]
    pub fn second(&self) -> u8 {
        self.clock().2
    }

    /// Returns the nanosecond of the second.
    #[must_use]
    pub fn nanosecond(&self) -> u32 {
        self.nanoseconds
    }

    /// Compares the moments, whatever the zones.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.monotonic, other.monotonic) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds)),
        }
    }

    /// Returns this time plus a duration.
    #[must_use]
    pub fn add(&self, duration: Duration) -> Self {
        let nanoseconds = i64::from(self.nanoseconds) + duration.0 % NANOSECONDS;
        let seconds = duration.0 / NANOSECONDS + nanoseconds.div_euclid(NANOSECONDS);
        Self {
            // As in Go, the lower limit is `-i64::MAX`, not `i64::MIN`.
            seconds: self.seconds.checked_add(seconds).unwrap_or(seconds.signum() * i64::MAX),
            nanoseconds: nanoseconds.rem_euclid(NANOSECONDS) as u32,
            zone: self.zone.clone(),
            monotonic: self.monotonic.and_then(|reading| reading.checked_add(duration.0)),
        }
    }

    /// Returns this time plus years, months and days of the calendar.
    #[must_use]
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let (date, _, clock) = self.civil();
        let date = (
            date.year.wrapping_add(years),
            i64::from(date.month.0).wrapping_add(months),
            i64::from(date.day).wrapping_add(days),
        );
        let clock = (0, 0, i64::from(clock));
        Self::from_civil(date, clock, i64::from(self.nanoseconds), self.zone.clone())
    }

    /// Returns the duration from another time to this one, saturated if it does not fit.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Duration {
        if let (Some(left), Some(right)) = (self.monotonic, other.monotonic) {
            return Duration(left.saturating_sub(right));
        }
        let difference = self.since_year_one() - other.since_year_one();
        Duration(difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Rounds down to a multiple of a duration, counted from the year one.
    #[must_use]
    pub fn truncate(&self, multiple: Duration) -> Self {
        // Drops the monotonic reading, as Go's `Round` and `Truncate` do.
        let time = self.in_zone(self.zone.clone());
        if multiple.0 <= 0 {
            return time;
        }
        time.add(Duration(-time.remainder(multiple)))
    }

    /// Rounds to the nearest multiple of a duration, counted from the year one; halves go up.
    #[must_use]
    pub fn round(&self, multiple: Duration) -> Self {
        let time = self.in_zone(self.zone.clone());
        if multiple.0 <= 0 {
            return time;
        }
        let rest = time.remainder(multiple);
        let less_than_half = rest.unsigned_abs() * 2 < multiple.0.unsigned_abs();
        time.add(Duration(if less_than_half { -rest } else { multiple.0 - rest }))
    }

    fn since_year_one(&self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOSECONDS) + i128::from(self.nanoseconds)
    }

    fn remainder(&self, multiple: Duration) -> i64 {
        self.since_year_one().rem_euclid(i128::from(multiple.0)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_time_is_the_year_one() {
        let zero = GoTime::default();
        assert!(zero.is_zero());
        assert_eq!((zero.date(), zero.weekday()), ((1, Month(1), 1), Weekday(1)));
        assert_eq!(zero.unix(), -62_135_596_800);
    }

    #[test]
    fn no_moment_is_out_of_range() {
        for seconds in [i64::MIN, i64::MIN + YEAR_ONE_TO_UNIX, i64::MAX - YEAR_ONE_TO_UNIX, i64::MAX] {
            let time = GoTime::from_unix(seconds, -1, Zone::named("Europe/Rome").expect("in the database"));
            let later = time.add(Duration(i64::MAX)).add_date(i64::MAX, i64::MIN, 1).round(Duration::HOUR);
            assert!(later.format("2006-01-02 002 MST").len() > 8 && later.iso_week().1 > 0);
        }
    }

    #[test]
    fn a_clock_that_is_skipped_by_summer_time_means_a_neighbouring_moment() {
        let zone = Zone::named("America/New_York").expect("in the database");
        let time = GoTime::from_civil((2011, 3, 13), (2, 15, 0), 0, zone);
        assert_eq!(time.format("15:04 MST"), "01:15 EST");
    }

    #[test]
    fn differences_that_do_not_fit_are_the_longest_there_are() {
        let (early, late) = (GoTime::default(), GoTime::from_unix(1_700_000_000, 0, Zone::utc()));
        assert_eq!(late.sub(&early), Duration(i64::MAX));
        assert_eq!(early.sub(&late), Duration(i64::MIN));
        assert_eq!(late.add(Duration::HOUR).sub(&late), Duration::HOUR);
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        let week =
            |year, month, day| GoTime::from_civil((year, month, day), (0, 0, 0), 0, Zone::utc()).iso_week();
        assert_eq!(week(2021, 1, 3), (2020, 53));
        assert_eq!(week(2024, 12, 30), (2025, 1));
    }
}
