//! Cron schedules: five fields, one of the shorthands such as `@daily`, or `@every` and a duration.

use std::time::Duration;

use pintle_time::{Duration as GoDuration, GoTime, Zone};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    Fields(Fields),
    /// A time after the last run, whole seconds and at least one, as in robfig/cron.
    Every(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
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
const MAX_MINUTES_AHEAD: i64 = 366 * 5 * 24 * 60;

impl Schedule {
    /// Parses a schedule; `None` if it is invalid, which API validation has already reported.
    pub(super) fn parse(text: &str) -> Option<Schedule> {
        let text = text.trim();
        if let Some(period) = text.strip_prefix("@every ") {
            let seconds = GoDuration::parse(period).ok()?.nanoseconds() / 1_000_000_000;
            return Some(Schedule::Every(Duration::from_secs(u64::try_from(seconds).unwrap_or(0).max(1))));
        }
        Fields::parse(text).map(Schedule::Fields)
    }

    /// Returns the first run after `after`, with fields in the time zone of the CronJob.
    pub(super) fn next(&self, after: Duration, zone: &Zone) -> Option<Duration> {
        match self {
            Schedule::Fields(fields) => fields.next(after, zone),
            Schedule::Every(period) => {
                after.checked_add(*period).map(|next| Duration::from_secs(next.as_secs()))
            }
        }
    }
}

impl Fields {
    fn parse(text: &str) -> Option<Fields> {
        let text = match text {
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
        Some(Fields { fields, either_day: !unrestricted(words[2]) && !unrestricted(words[4]) })
    }

    fn next(&self, after: Duration, zone: &Zone) -> Option<Duration> {
        let mut minute = i64::try_from(after.as_secs() / 60).ok()? + 1;
        let end = minute + MAX_MINUTES_AHEAD;
        while minute < end {
            let time = GoTime::from_unix(minute * 60, 0, zone.clone());
            let (_, month, day) = time.date();
            let (hour, minute_of_hour, _) = time.clock();
            // 1 January 1970 was a Thursday.
            let week_day = ((minute + i64::from(time.offset()) / 60).div_euclid(24 * 60) + 4).rem_euclid(7);
            let is_day = self.is(3, month.0) && self.is_day(day, u8::try_from(week_day).ok()?);
            if is_day && self.is(1, hour) && self.is(0, minute_of_hour) {
                return u64::try_from(minute * 60).ok().map(Duration::from_secs);
            }
            // Not further than an hour at once: days have 23 and 25 hours when clocks change.
            let rest_of_hour = 60 - i64::from(minute_of_hour);
            minute += if is_day && self.is(1, hour) { 1 } else { rest_of_hour };
        }
        None
    }

    fn is(&self, field: usize, number: u8) -> bool {
        self.fields[field] & (1 << number) != 0
    }

    fn is_day(&self, day: u8, week_day: u8) -> bool {
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
        next_in(text, "UTC")
    }

    fn next_in(text: &str, zone: &str) -> String {
        let next = Schedule::parse(text).unwrap().next(NOW, &Zone::named(zone).unwrap()).unwrap();
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
        assert_eq!(next("@every 1h30m"), "2023-11-14 23:43");
    }

    #[test]
    fn fields_are_those_of_the_time_zone() {
        assert_eq!(next_in("0 9 * * *", "America/New_York"), "2023-11-15 14:00");
        assert_eq!(next_in("30 0 * * wed", "Asia/Kolkata"), "2023-11-21 19:00");
        // The clocks go forward on 31 March 2024 at 1:00 UTC.
        assert_eq!(next_in("0 3 31 3 *", "Europe/Berlin"), "2024-03-31 01:00");
    }

    #[test]
    fn invalid_schedules_are_not_parsed() {
        for text in ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"] {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
        assert_eq!(Schedule::parse("0 0 30 2 *").unwrap().next(NOW, &Zone::utc()), None);
    }
}
