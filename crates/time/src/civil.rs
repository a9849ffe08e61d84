//! The calendar: converts between dates and day numbers counted from the far past; valid for every 64-bit second.

use std::fmt;

/// Seconds of a day.
pub(crate) const SECONDS_PER_DAY: u64 = 86_400;

/// The calendar starts on the first of March of the year minus this, so that leap days end a year and a cycle. It is
/// Go's `absoluteYears`: a multiple of 400 so far back that any 64-bit second is a positive number.
const YEARS_BEFORE_ZERO: i64 = 292_277_022_400;

// The days in 400, 100 and 4 years of the Gregorian calendar.
const DAYS_PER_CYCLE: u64 = 146_097;
const DAYS_PER_CENTURY: u64 = 36_524;
const DAYS_PER_FOUR_YEARS: u64 = 1_461;

/// Days from the start of the calendar to the first of January 1970.
const DAYS_TO_UNIX: i64 = YEARS_BEFORE_ZERO / 400 * DAYS_PER_CYCLE as i64 + 719_468;

/// Seconds from the start of the calendar to the Unix epoch.
pub(crate) const SECONDS_TO_UNIX: i64 = DAYS_TO_UNIX * SECONDS_PER_DAY as i64;

/// A month of the year, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month(pub u8);

/// A day of the week; Sunday is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weekday(pub u8);

/// English names of the months.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English names of the days, from Sunday.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Month {
    /// Returns the English name; empty if the number is not a month.
    #[must_use]
    pub fn name(self) -> &'static str {
        MONTHS.get(usize::from(self.0).wrapping_sub(1)).copied().unwrap_or_default()
    }
}

impl Weekday {
    /// Returns the English name; empty if the number is not a weekday.
    #[must_use]
    pub fn name(self) -> &'static str {
        WEEKDAYS.get(usize::from(self.0)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(formatter, "%!Month({})", self.0),
            name => formatter.write_str(name),
        }
    }
}

impl fmt::Display for Weekday {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(formatter, "%!Weekday({})", self.0),
            name => formatter.write_str(name),
        }
    }
}

/// A date of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: Month,
    pub(crate) day: u8,
}

impl Date {
    /// Returns the date of a day counted from the start of the calendar.
    pub(crate) fn from_day(day: u64) -> Self {
        let (cycle, rest) = (day / DAYS_PER_CYCLE, day % DAYS_PER_CYCLE);
        // The last century of a cycle and the last year of four are a day longer, hence the caps.
        let century = (rest / DAYS_PER_CENTURY).min(3);
        let rest = rest - century * DAYS_PER_CENTURY;
        let (fours, rest) = (rest / DAYS_PER_FOUR_YEARS, rest % DAYS_PER_FOUR_YEARS);
        let single = (rest / 365).min(3);
        let year_day = rest - single * 365;
        let years = cycle * 400 + century * 100 + fours * 4 + single;
        // From March on, five months in a row always have 153 days.
        let from_march = (5 * year_day + 2) / 153;
        let day = year_day - (153 * from_march + 2) / 5 + 1;
        let (month, next_year) = if from_march < 10 { (from_march + 3, 0) } else { (from_march - 9, 1) };
        Self { year: years as i64 - YEARS_BEFORE_ZERO + next_year, month: Month(month as u8), day: day as u8 }
    }

    /// Returns the day of the year, counted from one.
    pub(crate) fn year_day(self) -> u16 {
        days_before(self.month.0, self.year) + u16::from(self.day)
    }
}

/// Returns the day of the week of a day counted from the start of the calendar, which is a Wednesday.
pub(crate) fn weekday(day: u64) -> Weekday {
    Weekday(((day % 7 + 3) % 7) as u8)
}

/// Returns whether a year has a leap day.
pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of days in a month.
pub(crate) fn days_in(month: u8, year: i64) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days before a month.
pub(crate) fn days_before(month: u8, year: i64) -> u16 {
    (1..month).map(|earlier| u16::from(days_in(earlier, year))).sum()
}

/// Returns the Unix time of a date and clock in UTC. Parts beyond their usual range carry over.
pub(crate) fn unix_seconds(year: i64, month: i64, day: i64, clock_seconds: i128) -> i64 {
    // 128 bits hold every intermediate value; a time beyond 64 bits wraps as it does in Go.
    let months = i128::from(year) * 12 + i128::from(month) - 1;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let (march_year, from_march) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let (cycle, of_cycle) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let year_day = (153 * from_march + 2) / 5;
    let days =
        cycle * 146_097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + year_day + i128::from(day) - 1;
    ((days - 719_468) * i128::from(SECONDS_PER_DAY) + clock_seconds) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_is_a_thursday_in_january() {
        let day = DAYS_TO_UNIX as u64;
        assert_eq!(Date::from_day(day), Date { year: 1970, month: Month(1), day: 1 });
        assert_eq!(weekday(day), Weekday(4));
    }

    #[test]
    fn days_and_dates_agree_around_leap_days() {
        for (year, month, day) in [(2000, 2, 29), (1900, 3, 1), (-1, 12, 31), (2024, 12, 31), (0, 2, 29)] {
            let unix = unix_seconds(year, month, day, 0);
            let date = Date::from_day((unix.wrapping_add(SECONDS_TO_UNIX)) as u64 / SECONDS_PER_DAY);
            assert_eq!(date, Date { year, month: Month(month as u8), day: day as u8 });
        }
        assert_eq!(Date { year: 2024, month: Month(12), day: 31 }.year_day(), 366);
    }

    #[test]
    fn the_ends_of_time_have_dates() {
        assert_eq!(Date::from_day(0), Date { year: -YEARS_BEFORE_ZERO, month: Month(3), day: 1 });
        assert!(Date::from_day(u64::MAX / SECONDS_PER_DAY).year > 292_277_000_000);
    }
}
