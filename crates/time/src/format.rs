//! Formats times: by a layout, in Go's debugging form, and as JSON.

use std::fmt;
use std::io::Write;

use crate::RFC3339_NANO;
use crate::civil;
use crate::layout::{Element, FractionStyle, OffsetPrecision, OffsetStyle, next_chunk};
use crate::quote::quote;
use crate::time::GoTime;

impl GoTime {
    /// Writes the time by a layout.
    #[must_use]
    pub fn format(&self, layout: &str) -> String {
        // Elements are ASCII, so the rest of the layout stays valid UTF-8.
        String::from_utf8_lossy(&self.format_bytes(layout.as_bytes())).into_owned()
    }

    /// Writes the time by a layout that need not be UTF-8.
    #[must_use]
    pub fn format_bytes(&self, mut layout: &[u8]) -> Vec<u8> {
        let mut output = Vec::with_capacity(layout.len() + 16);
        let moment = Moment::of(self);
        loop {
            let chunk = next_chunk(layout);
            output.extend_from_slice(chunk.prefix);
            let Some((element, _)) = chunk.element else {
                return output;
            };
            moment.append(&mut output, element);
            layout = chunk.suffix;
        }
    }

    /// Returns the text of the time as JSON has it, without the quotes.
    ///
    /// # Errors
    /// With Go's text when RFC 3339 cannot express the time.
    pub fn to_json_text(&self) -> Result<String, String> {
        let text = self.format(RFC3339_NANO);
        if !(0..=9_999).contains(&self.year()) {
            return Err("Time.MarshalJSON: year outside of range [0,9999]".to_owned());
        }
        if self.offset().unsigned_abs() / 3_600 >= 24 {
            return Err("Time.MarshalJSON: timezone hour outside of range [0,23]".to_owned());
        }
        Ok(text)
    }

    /// Returns the time as a Go expression, which is what `%#v` prints.
    #[must_use]
    pub fn go_string(&self) -> String {
        let (year, month, day) = self.date();
        let (hour, minute, second) = self.clock();
        let zone = match self.zone().name() {
            _ if self.zone().is_utc() => "time.UTC".to_owned(),
            "Local" => "time.Local".to_owned(),
            name => format!("time.Location({})", quote(name.as_bytes())),
        };
        let nanosecond = self.nanosecond();
        format!("time.Date({year}, time.{month}, {day}, {hour}, {minute}, {second}, {nanosecond}, {zone})")
    }
}

impl fmt::Display for GoTime {
    /// Writes the form that Go prints for debugging, with the monotonic clock reading if there is one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.format("2006-01-02 15:04:05.999999999 -0700 MST"))?;
        let Some(reading) = self.monotonic() else {
            return Ok(());
        };
        let sign = if reading < 0 { '-' } else { '+' };
        let reading = reading.unsigned_abs();
        write!(formatter, " m={sign}{}.{:09}", reading / 1_000_000_000, reading % 1_000_000_000)
    }
}

/// A time taken apart once for all elements of a layout.
struct Moment<'a> {
    time: &'a GoTime,
    date: civil::Date,
    day: u64,
    clock: u32,
    offset: i32,
}

impl<'a> Moment<'a> {
    fn of(time: &'a GoTime) -> Self {
        let (date, day, clock) = time.civil();
        Self { time, date, day, clock, offset: time.offset() }
    }

    fn append(&self, output: &mut Vec<u8>, element: Element) {
        use Element as E;
        let date = self.date;
        let (hour, minute, second) = (self.clock / 3_600, self.clock / 60 % 60, self.clock % 60);
        let hour12 = (hour + 11) % 12 + 1;
        // Writing into a Vec cannot fail.
        let _ = match element {
            E::LongYear if date.year < 0 => write!(output, "-{:04}", date.year.unsigned_abs()),
            E::LongYear => write!(output, "{:04}", date.year),
            E::ShortYear => write!(output, "{:02}", date.year.unsigned_abs() % 100),
            E::LongMonth => output.write_all(date.month.name().as_bytes()),
            E::ShortMonth => output.write_all(&date.month.name().as_bytes()[..3]),
            E::Month => write!(output, "{}", date.month.0),
            E::ZeroMonth => write!(output, "{:02}", date.month.0),
            E::LongWeekday => output.write_all(civil::weekday(self.day).name().as_bytes()),
            E::ShortWeekday => output.write_all(&civil::weekday(self.day).name().as_bytes()[..3]),
            E::Day => write!(output, "{}", date.day),
            E::SpaceDay => write!(output, "{:2}", date.day),
            E::ZeroDay => write!(output, "{:02}", date.day),
            E::SpaceYearDay => write!(output, "{:3}", date.year_day()),
            E::ZeroYearDay => write!(output, "{:03}", date.year_day()),
            E::Hour => write!(output, "{hour:02}"),
            E::Hour12 => write!(output, "{hour12}"),
            E::ZeroHour12 => write!(output, "{hour12:02}"),
            E::Minute => write!(output, "{minute}"),
            E::ZeroMinute => write!(output, "{minute:02}"),
            E::Second => write!(output, "{second}"),
            E::ZeroSecond => write!(output, "{second:02}"),
            E::UpperPm => output.write_all(if hour >= 12 { b"PM" } else { b"AM" }),
            E::LowerPm => output.write_all(if hour >= 12 { b"pm" } else { b"am" }),
            E::ZoneName => self.append_zone_name(output),
            E::Offset(style) => self.append_offset(output, style),
            E::Fraction(style) => append_fraction(output, self.time.nanosecond(), style),
        };
    }

    fn append_zone_name(&self, output: &mut Vec<u8>) -> std::io::Result<()> {
        let name = self.time.abbreviation();
        if !name.is_empty() {
            return output.write_all(name.as_bytes());
        }
        let style = OffsetStyle { zulu: false, colon: false, precision: OffsetPrecision::Minutes };
        self.append_offset(output, style)
    }

    fn append_offset(&self, output: &mut Vec<u8>, style: OffsetStyle) -> std::io::Result<()> {
        if style.zulu && self.offset == 0 {
            return output.write_all(b"Z");
        }
        // The sign is that of the whole minutes; less than a minute west of UTC, the seconds carry it.
        let minutes = self.offset / 60;
        let (sign, seconds) = if minutes < 0 { ('-', -self.offset % 60) } else { ('+', self.offset % 60) };
        let minutes = minutes.unsigned_abs();
        let colon = if style.colon { ":" } else { "" };
        write!(output, "{sign}{:02}", minutes / 60)?;
        if style.precision != OffsetPrecision::Hours {
            write!(output, "{colon}{:02}", minutes % 60)?;
        }
        if style.precision == OffsetPrecision::Seconds {
            let minus = if seconds < 0 { "-" } else { "" };
            write!(output, "{colon}{minus}{:02}", seconds.unsigned_abs())?;
        }
        Ok(())
    }
}

fn append_fraction(output: &mut Vec<u8>, nanosecond: u32, style: FractionStyle) -> std::io::Result<()> {
    let digits = format!("{nanosecond:09}");
    let mut digits = &digits[..style.digits.min(9)];
    if style.trimmed {
        digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return Ok(());
        }
    }
    output.push(style.separator);
    output.write_all(digits.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::{GoTime, Zone};

    fn time() -> GoTime {
        GoTime::from_unix(1_136_214_245, 120_000_000, Zone::fixed("", -7 * 3_600 - 1_800))
    }

    #[test]
    fn every_element_is_written() {
        let layout = "Monday Mon January Jan 2006 06 01 1 02 2 _2 002 __2 15 03 3 04 4 05 5 PM pm .000 ,999";
        let expected =
            "Monday Mon January Jan 2006 06 01 1 02 2  2 002   2 07 07 7 34 34 05 5 AM am .120 ,12";
        assert_eq!(time().format(layout), expected);
    }

    #[test]
    fn offsets_are_written_in_every_style() {
        assert_eq!(
            time().format("Z07:00 Z0700 Z07 -07:00:00 -070000 MST"),
            "-07:30 -0730 -07 -07:30:00 -073000 -0730"
        );
        assert_eq!(time().utc().format("Z07:00 -0700 MST"), "Z +0000 UTC");
    }

    #[test]
    fn the_debugging_form_has_no_name_for_a_nameless_zone() {
        assert_eq!(time().to_string(), "2006-01-02 07:34:05.12 -0730 -0730");
        assert_eq!(GoTime::default().to_string(), "0001-01-01 00:00:00 +0000 UTC");
    }

    #[test]
    fn json_refuses_what_rfc_3339_cannot_represent() {
        assert_eq!(time().to_json_text().as_deref(), Ok("2006-01-02T07:34:05.12-07:30"));
        let far = GoTime::from_unix(1 << 40, 0, Zone::utc()).to_json_text();
        assert_eq!(far, Err("Time.MarshalJSON: year outside of range [0,9999]".to_owned()));
    }
}
