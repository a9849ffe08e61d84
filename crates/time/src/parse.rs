//! Parses times by a layout, with Go's errors.

use crate::civil::{MONTHS, WEEKDAYS, days_before, days_in, is_leap};
use crate::layout::{Element, FractionStyle, OffsetStyle, next_chunk};
use crate::quote::quote;
use crate::scan::{
    ScanError, ScanResult, fraction_length, name, nanoseconds, number, signed_number, split_offset, take,
    within, year_day, zone_name_length,
};
use crate::time::GoTime;
use crate::zone::Zone;

impl GoTime {
    /// Parses a time; without a zone in the text it is in the given zone.
    ///
    /// # Errors
    /// With Go's text, if the text does not match the layout or is not a valid time.
    pub fn parse_in(layout: impl AsRef<[u8]>, text: impl AsRef<[u8]>, zone: &Zone) -> Result<Self, String> {
        parse(layout.as_ref(), text.as_ref(), zone, zone)
    }

    /// Parses a time; without a zone in the text it is in UTC. An offset or abbreviation that the local zone uses selects
    /// the local zone.
    ///
    /// # Errors
    /// With Go's text, if the text does not match the layout or is not a valid time.
    pub fn parse(layout: impl AsRef<[u8]>, text: impl AsRef<[u8]>, local: &Zone) -> Result<Self, String> {
        parse(layout.as_ref(), text.as_ref(), &Zone::utc(), local)
    }
}

/// What has been read so far.
#[derive(Default)]
struct Fields<'a> {
    year: i64,
    month: Option<u8>,
    day: Option<u8>,
    year_day: Option<u16>,
    hour: u8,
    minute: u8,
    second: u8,
    nanosecond: i64,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i32>,
    zone_name: &'a [u8],
}

fn parse(layout: &[u8], text: &[u8], default: &Zone, local: &Zone) -> Result<GoTime, String> {
    let message = |message: String| format!("parsing time {}: {message}", quote(text));
    let mismatch = |rest: &[u8], element: &[u8]| {
        let (text, layout) = (quote(text), quote(layout));
        format!("parsing time {text} as {layout}: cannot parse {} as {}", quote(rest), quote(element))
    };
    let mut fields = Fields::default();
    let (mut value, mut rest) = (text, layout);
    loop {
        let chunk = next_chunk(rest);
        if let Err(at) = skip(&mut value, chunk.prefix) {
            return Err(mismatch(at, chunk.prefix));
        }
        let Some((element, spelling)) = chunk.element else {
            break;
        };
        rest = chunk.suffix;
        let before = value;
        match fields.read(element, &mut value, rest) {
            Ok(()) => {}
            Err(ScanError::Mismatch) => return Err(mismatch(before, spelling)),
            Err(ScanError::Range(part)) => return Err(message(format!("{part} out of range"))),
        }
    }
    if !value.is_empty() {
        return Err(message(format!("extra text: {}", quote(value))));
    }
    fields.finalize().map_err(|fault| message(fault.to_owned()))?;
    Ok(fields.time(default, local))
}

/// Consumes plain text; a run of spaces matches a run of any length. The error is the rest of the value at the mismatch.
fn skip<'a>(value: &mut &'a [u8], mut prefix: &[u8]) -> Result<(), &'a [u8]> {
    while let Some((&expected, after)) = prefix.split_first() {
        if expected == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            prefix = trim_spaces(prefix);
            *value = trim_spaces(value);
            continue;
        }
        match value.split_first() {
            Some((&byte, rest)) if byte == expected => *value = rest,
            _ => return Err(value),
        }
        prefix = after;
    }
    Ok(())
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

impl<'a> Fields<'a> {
    /// Reads one element off the value; `rest` is the layout after it.
    fn read(&mut self, element: Element, value: &mut &'a [u8], rest: &[u8]) -> ScanResult<()> {
        use Element as E;
        match element {
            E::ShortYear => {
                let year = signed_number(take(value, 2)?)?;
                // Go's pivot: Unix time starts in 1969 west of Greenwich.
                self.year = year + if year >= 69 { 1_900 } else { 2_000 };
            }
            E::LongYear if value.first().is_some_and(u8::is_ascii_digit) => {
                self.year = signed_number(take(value, 4)?)?;
            }
            E::LongYear => return Err(ScanError::Mismatch),
            E::LongMonth => self.month = Some(name(value, &MONTHS, usize::MAX)? + 1),
            E::ShortMonth => self.month = Some(name(value, &MONTHS, 3)? + 1),
            E::Month | E::ZeroMonth => {
                let month = number(value, element == E::ZeroMonth)?;
                self.month = Some(within(month, 1..=12, "month")?);
            }
            E::LongWeekday => drop(name(value, &WEEKDAYS, usize::MAX)?),
            E::ShortWeekday => drop(name(value, &WEEKDAYS, 3)?),
            E::Day | E::SpaceDay | E::ZeroDay => {
                if element == E::SpaceDay {
                    *value = value.strip_prefix(b" ").unwrap_or(value);
                }
                self.day = Some(number(value, element == E::ZeroDay)?);
            }
            E::SpaceYearDay | E::ZeroYearDay => {
                self.year_day = Some(year_day(value, element == E::ZeroYearDay)?)
            }
            E::Hour => self.hour = within(number(value, false)?, 0..=23, "hour")?,
            E::Hour12 | E::ZeroHour12 => {
                self.hour = within(number(value, element == E::ZeroHour12)?, 0..=12, "hour")?;
            }
            E::Minute | E::ZeroMinute => {
                self.minute = within(number(value, element == E::ZeroMinute)?, 0..=59, "minute")?;
            }
            E::Second | E::ZeroSecond => {
                self.second = within(number(value, element == E::ZeroSecond)?, 0..=59, "second")?;
                self.read_extra_fraction(value, rest)?;
            }
            E::UpperPm => self.read_half_day(value, b"AM", b"PM")?,
            E::LowerPm => self.read_half_day(value, b"am", b"pm")?,
            E::ZoneName => self.read_zone_name(value)?,
            E::Offset(style) => self.read_offset(value, style)?,
            E::Fraction(style) => self.read_fraction(value, style)?,
        }
        Ok(())
    }

    /// A fraction may follow the seconds even if the layout has none.
    fn read_extra_fraction(&mut self, value: &mut &'a [u8], rest: &[u8]) -> ScanResult<()> {
        let length = fraction_length(value);
        let is_in_layout = || matches!(next_chunk(rest).element, Some((Element::Fraction(_), _)));
        if length > 0 && !is_in_layout() {
            self.nanosecond = nanoseconds(take(value, length)?)?;
        }
        Ok(())
    }

    fn read_fraction(&mut self, value: &mut &'a [u8], style: FractionStyle) -> ScanResult<()> {
        let length = if style.trimmed { fraction_length(value) } else { style.digits + 1 };
        if length > 0 {
            self.nanosecond = nanoseconds(take(value, length)?)?;
        }
        Ok(())
    }

    fn read_half_day(&mut self, value: &mut &'a [u8], morning: &[u8], afternoon: &[u8]) -> ScanResult<()> {
        let half = take(value, 2)?;
        if half != morning && half != afternoon {
            return Err(ScanError::Mismatch);
        }
        // Both AM and PM may occur; PM then wins.
        self.afternoon = Some(half == afternoon || self.afternoon == Some(true));
        Ok(())
    }

    fn read_zone_name(&mut self, value: &mut &'a [u8]) -> ScanResult<()> {
        if let Some(rest) = value.strip_prefix(b"UTC") {
            self.utc = true;
            *value = rest;
            return Ok(());
        }
        let length = zone_name_length(value).ok_or(ScanError::Mismatch)?;
        self.zone_name = take(value, length)?;
        Ok(())
    }

    fn read_offset(&mut self, value: &mut &'a [u8], style: OffsetStyle) -> ScanResult<()> {
        if let Some(rest) = value.strip_prefix(b"Z").filter(|_| style.zulu) {
            self.utc = true;
            *value = rest;
            return Ok(());
        }
        let (sign, parts) = split_offset(value, style)?;
        let mut numbers = [0_i32; 3];
        let mut fault = None;
        for (number, digits) in numbers.iter_mut().zip(parts) {
            match digits {
                [high @ b'0'..=b'9', low @ b'0'..=b'9'] => {
                    *number = i32::from((high - b'0') * 10 + low - b'0')
                }
                _ => {
                    fault = Some(ScanError::Mismatch);
                    break;
                }
            }
        }
        let [hours, minutes, seconds] = numbers;
        // 24 and 60 are accepted because people write them. Of several errors the last one is reported.
        for (number, limit, part) in [
            (hours, 24, "time zone offset hour"),
            (minutes, 60, "time zone offset minute"),
            (seconds, 60, "time zone offset second"),
        ] {
            if number > limit {
                fault = Some(ScanError::Range(part));
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        let offset = hours * 3_600 + minutes * 60 + seconds;
        self.offset = Some(match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(ScanError::Mismatch),
        });
        Ok(())
    }

    /// Finalizes hour, month and day, or reports what is wrong with them.
    fn finalize(&mut self) -> Result<(), &'static str> {
        match self.afternoon {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        if let Some(year_day) = self.year_day {
            self.resolve_year_day(year_day)?;
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in(month, self.year) {
            return Err("day out of range");
        }
        (self.month, self.day) = (Some(month), Some(day));
        Ok(())
    }

    fn resolve_year_day(&mut self, year_day: u16) -> Result<(), &'static str> {
        if year_day < 1 || year_day > 365 + u16::from(is_leap(self.year)) {
            return Err("day-of-year out of range");
        }
        let mut months = (1..=12).rev();
        let month = months.find(|month| days_before(*month, self.year) < year_day).unwrap_or(1);
        let day = (year_day - days_before(month, self.year)) as u8;
        if self.month.is_some_and(|given| given != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|given| given != day) {
            return Err("day-of-year does not match day");
        }
        (self.month, self.day) = (Some(month), Some(day));
        Ok(())
    }

    fn in_zone(&self, zone: Zone) -> GoTime {
        let date = (self.year, self.month.unwrap_or(1).into(), self.day.unwrap_or(1).into());
        let clock = (self.hour.into(), self.minute.into(), self.second.into());
        GoTime::from_civil(date, clock, self.nanosecond, zone)
    }

    fn time(&self, default: &Zone, local: &Zone) -> GoTime {
        if self.utc {
            return self.in_zone(Zone::utc());
        }
        let zone_name = String::from_utf8_lossy(self.zone_name);
        // Go marks a missing offset by minus one, so this offset counts as missing.
        if let Some(offset) = self.offset.filter(|offset| *offset != -1) {
            let unix = self.in_zone(Zone::utc()).unix() - i64::from(offset);
            let named = zone_name.is_empty() || local.abbreviation(unix) == zone_name;
            let zone = if named && local.offset(unix) == offset {
                local.clone()
            } else {
                Zone::fixed(zone_name, offset)
            };
            return GoTime::from_unix(unix, self.nanosecond, zone);
        }
        if zone_name.is_empty() {
            return self.in_zone(default.clone());
        }
        let clock = self.in_zone(Zone::utc());
        if let Some(offset) = local.offset_of_abbreviation(&zone_name, clock.unix()) {
            return GoTime::from_unix(clock.unix() - i64::from(offset), self.nanosecond, local.clone());
        }
        let hours =
            // An unknown abbreviation has the offset zero, except that `GMT-8` contains its offset.
            self.zone_name.strip_prefix(b"GMT").and_then(|hours| signed_number(hours).ok()).unwrap_or(0);
        clock.in_zone(Zone::fixed(zone_name, hours as i32 * 3_600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RFC3339;

    fn failure(layout: &str, text: &str) -> String {
        GoTime::parse_in(layout, text, &Zone::utc()).expect_err(text)
    }

    #[test]
    fn texts_are_read_by_their_layout() {
        let read = |layout: &str, text: &str| {
            GoTime::parse_in(layout, text, &Zone::utc()).map(|time| time.to_string())
        };
        let expected = "2024-02-29 15:04:05.25 +0100 +0100";
        assert_eq!(read(RFC3339, "2024-02-29T15:04:05.25+01:00").as_deref(), Ok(expected));
        assert_eq!(read("3:04pm", "3:04pm").as_deref(), Ok("0000-01-01 15:04:00 +0000 UTC"));
        assert_eq!(read("2006 002", "2024 366").as_deref(), Ok("2024-12-31 00:00:00 +0000 UTC"));
        assert_eq!(
            read("Jan _2 06 MST", "feb  3 70 GMT-8").as_deref(),
            Ok("1970-02-02 16:00:00 -0800 GMT-8")
        );
    }

    #[test]
    fn names_of_the_zone_itself_are_understood() {
        let zone = Zone::named("Europe/Rome").expect("in the database");
        let time = GoTime::parse_in("2006-01-02 15:04 MST", "2024-07-01 12:00 CEST", &zone).expect("a time");
        assert_eq!(time.unix(), 1_719_828_000);
        assert_eq!(time.zone(), &zone);
    }

    #[test]
    fn failures_have_the_texts_of_go() {
        let text = r#"parsing time "x" as "2006-01-02": cannot parse "x" as "2006""#;
        assert_eq!(failure("2006-01-02", "x"), text);
        assert_eq!(failure("2006-01-02", "2024-13-01"), r#"parsing time "2024-13-01": month out of range"#);
        assert_eq!(failure("2006-01-02", "2023-02-29"), r#"parsing time "2023-02-29": day out of range"#);
        assert_eq!(failure("15:04", "10:20é"), r#"parsing time "10:20\xc3\xa9": extra text: "\xc3\xa9""#);
    }
}
