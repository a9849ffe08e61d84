//! Cron schedules: five fields, or one of the shorthands such as `@daily`. Times are UTC.

use std::time::Duration;

use pintle_time::{GoTime, Zone};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Minutes, hours, days of the month, months, days of the week: one bit per allowed value.
    fields: [u64; 5],
    /// Whether both day fields are restricted. Cron then takes a day that matches either of them.
    either_day: bool,
}

const BOUNDS: [(u64, u64); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// How far ahead the next run is searched: five years, as robfig/cron, which the real controller uses. Schedules that
/// never match, such as 30 February, end there.
const MAX_DAYS_AHEAD: u64 = 366 * 5;

impl Schedule {
    /// Parses a schedule; `None` if it is invalid, which API validation has already reported.
    pub(super) fn parse(text: &str) -> Option<Schedule> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let words: [&str; 5] = words.try_into().ok()?;
        let mut fields = [0; 5];
        for (index, word) in words.iter().enumerate() {
            for part in word.split(',') {
                fields[index] |= range(part, index)?;
            }
        }
        // Sunday is 0 and 7.
        fields[4] |= fields[4] >> 7;
        // `*/2` counts as unrestricted too, as in Vixie cron and robfig/cron.
        let unrestricted = |word: &str| word.starts_with(['*', '?']);
        Some(Schedule { fields, either_day: !unrestricted(words[2]) && !unrestricted(words[4]) })
    }

    /// Returns the first run after `after`.
    pub(super) fn next(&self, after: Duration) -> Option<Duration> {
        let mut minute = after.as_secs() / 60 + 1;
        let end = minute + MAX_DAYS_AHEAD * 24 * 60;
        while minute < end {
            let seconds = i64::try_from(minute * 60).ok()?;
            let time = GoTime::from_unix(seconds, 0, Zone::utc());
            let (_, month, day) = time.date();
            let (hour, minute_of_hour, _) = time.clock();
            // 1 January 1970 was a Thursday.
            let week_day = (minute / (24 * 60) + 4) % 7;
            if !self.is(3, u64::from(month.0)) || !self.is_day(u64::from(day), week_day) {
                minute = (minute / (24 * 60) + 1) * 24 * 60;
            } else if !self.is(1, u64::from(hour)) {
                minute = (minute / 60 + 1) * 60;
            } else if !self.is(0, u64::from(minute_of_hour)) {
                minute += 1;
            } else {
                return Some(Duration::from_secs(minute * 60));
            }
        }
        None
    }

    fn is(&self, field: usize, number: u64) -> bool {
        self.fields[field] & (1 << number) != 0
    }

    fn is_day(&self, day: u64, week_day: u64) -> bool {
        let (month, week) = (self.is(2, day), self.is(4, week_day));
        if self.either_day { month || week } else { month && week }
    }
}

/// Parses one element of a field, such as `1-5` or `*/10`, to bits.
fn range(part: &str, field: usize) -> Option<u64> {
    let (least, most) = BOUNDS[field];
    let (span, step) = match part.split_once('/') {
        Some((span, step)) => (span, step.parse::<u64>().ok().filter(|step| *step > 0)?),
        None => (part, 1),
    };
    let (first, last) = match span.split_once('-') {
        _ if matches!(span, "*" | "?") => (least, most),
        Some((first, last)) => (number(first, field)?, number(last, field)?),
        None if part.contains('/') => (number(span, field)?, most),
        None => (number(span, field)?, number(span, field)?),
    };
    if first < least || last > most || first > last {
        return None;
    }
    let step = usize::try_from(step).ok()?;
    Some((first..=last).step_by(step).fold(0, |bits, number| bits | 1 << number))
}

fn number(word: &str, field: usize) -> Option<u64> {
    let lower = word.to_lowercase();
    let by_name = |names: &[&str], first: usize| {
        names.iter().position(|name| *name == lower).and_then(|index| u64::try_from(index + first).ok())
    };
    word.parse().ok().or_else(|| match field {
        3 => by_name(&MONTHS, 1),
        4 => by_name(&DAYS, 0),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14 22:13:20, a Tuesday.
    const NOW: Duration = Duration::from_secs(1_700_000_000);

    fn next(text: &str) -> String {
        let next = Schedule::parse(text).unwrap().next(NOW).unwrap();
        let seconds = i64::try_from(next.as_secs()).unwrap();
        GoTime::from_unix(seconds, 0, Zone::utc()).format("2006-01-02 15:04")
    }

    #[test]
    fn the_next_run_of_a_schedule_is_computed() {
        assert_eq!(next("*/5 * * * *"), "2023-11-14 22:15");
        assert_eq!(next("@daily"), "2023-11-15 00:00");
        assert_eq!(next("30 3 * * MON-FRI"), "2023-11-15 03:30");
        assert_eq!(next("0 0 1 jan *"), "2024-01-01 00:00");
        assert_eq!(next("0 12 13 * sun"), "2023-11-19 12:00");
        assert_eq!(next("0 0 29 2 *"), "2024-02-29 00:00");
    }

    #[test]
    fn invalid_schedules_are_not_parsed() {
        for text in ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"] {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
        assert_eq!(Schedule::parse("0 0 30 2 *").unwrap().next(NOW), None);
    }
}
