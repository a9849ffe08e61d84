//! A span of time in nanoseconds, parsed and formatted as in Go.

use std::fmt;

use crate::quote::quote;

/// The largest magnitude that the parser lets an intermediate value have: that of the smallest `i64`, so that the most
/// negative duration can be read.
const MAGNITUDE_LIMIT: u64 = 1 << 63;

/// A span of time in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

impl Duration {
    /// A thousandth of a second.
    pub const MILLISECOND: Self = Self(1_000_000);
    /// A second.
    pub const SECOND: Self = Self(1_000_000_000);
    /// A minute.
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);
    /// An hour.
    pub const HOUR: Self = Self(60 * Self::MINUTE.0);

    /// Parses a duration such as `1h15m30.5s`.
    ///
    /// # Errors
    /// With Go's text when the duration is malformed or does not fit.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, String> {
        let original = text.as_ref();
        let invalid = || failure("invalid duration", original);
        let (negative, mut rest) = match original {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        // The one number that needs no unit.
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (value, after) = term(rest, original)?;
            // Twice the limit wraps to zero, in Go as well.
            total = total.wrapping_add(value);
            if total > MAGNITUDE_LIMIT {
                return Err(invalid());
            }
            rest = after;
        }
        match (negative, i64::try_from(total)) {
            (false, Ok(nanoseconds)) => Ok(Self(nanoseconds)),
            (false, Err(_)) => Err(invalid()),
            (true, _) => Ok(Self(0_i64.wrapping_sub_unsigned(total))),
        }
    }

    /// Returns whole nanoseconds.
    #[must_use]
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Returns whole microseconds.
    #[must_use]
    pub fn microseconds(self) -> i64 {
        self.0 / 1_000
    }

    /// Returns whole milliseconds.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0 / 1_000_000
    }

    /// Returns seconds with their fraction.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.in_units(Self::SECOND)
    }

    /// Returns minutes with their fraction.
    #[must_use]
    pub fn minutes(self) -> f64 {
        self.in_units(Self::MINUTE)
    }

    /// Returns hours with their fraction.
    #[must_use]
    pub fn hours(self) -> f64 {
        self.in_units(Self::HOUR)
    }

    fn in_units(self, unit: Self) -> f64 {
        // Whole units and the rest apart: a plain division would round differently.
        (self.0 / unit.0) as f64 + (self.0 % unit.0) as f64 / unit.0 as f64
    }

    /// Returns the magnitude; the smallest duration becomes the largest.
    #[must_use]
    pub fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// Rounds towards zero to a multiple; a multiple that is not positive changes nothing.
    #[must_use]
    pub fn truncate(self, multiple: Self) -> Self {
        if multiple.0 <= 0 { self } else { Self(self.0 - self.0 % multiple.0) }
    }

    /// Rounds to the nearest multiple, halves away from zero.
    #[must_use]
    pub fn round(self, multiple: Self) -> Self {
        if multiple.0 <= 0 {
            return self;
        }
        let rest = self.0 % multiple.0;
        let down = self.0 - rest;
        if rest.unsigned_abs() * 2 < multiple.0.unsigned_abs() {
            return Self(down);
        }
        Self(if self.0 < 0 { down.saturating_sub(multiple.0) } else { down.saturating_add(multiple.0) })
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            formatter.write_str("-")?;
        }
        let total = self.0.unsigned_abs();
        match total {
            0 => formatter.write_str("0s"),
            1..1_000 => write!(formatter, "{total}ns"),
            1_000..1_000_000 => write_fraction(formatter, total, 3, "µs"),
            1_000_000..1_000_000_000 => write_fraction(formatter, total, 6, "ms"),
            _ => {
                let minutes = total / 60_000_000_000;
                if minutes >= 60 {
                    write!(formatter, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(formatter, "{}m", minutes % 60)?;
                }
                write_fraction(formatter, total % 60_000_000_000, 9, "s")
            }
        }
    }
}

/// Writes a number with its last digits after the point, without trailing zeros.
fn write_fraction(formatter: &mut fmt::Formatter<'_>, value: u64, digits: u32, unit: &str) -> fmt::Result {
    let scale = 10_u64.pow(digits);
    let (whole, mut fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return write!(formatter, "{whole}{unit}");
    }
    let mut width = digits as usize;
    while fraction % 10 == 0 {
        fraction /= 10;
        width -= 1;
    }
    write!(formatter, "{whole}.{fraction:0width$}{unit}")
}

fn failure(message: &str, original: &[u8]) -> String {
    format!("time: {message} {}", quote(original))
}

/// Reads one number with its unit.
fn term<'a>(text: &'a [u8], original: &[u8]) -> Result<(u64, &'a [u8]), String> {
    let invalid = || failure("invalid duration", original);
    let (whole, mut rest) = leading_number(text).ok_or_else(invalid)?;
    let mut has_digits = rest.len() != text.len();
    let (mut fraction, mut scale) = (0, 1.0);
    if let Some(after) = rest.strip_prefix(b".") {
        (fraction, scale, rest) = leading_fraction(after);
        has_digits |= rest.len() != after.len();
    }
    if !has_digits {
        return Err(invalid());
    }
    let length = rest.iter().take_while(|byte| **byte != b'.' && !byte.is_ascii_digit()).count();
    if length == 0 {
        return Err(failure("missing unit in duration", original));
    }
    let (name, rest) = rest.split_at(length);
    let unit =
        unit(name).ok_or_else(|| failure(&format!("unknown unit {} in duration", quote(name)), original))?;
    if whole > MAGNITUDE_LIMIT / unit {
        return Err(invalid());
    }
    let mut value = whole * unit;
    if fraction > 0 {
        // In floating point as in Go, so that the last digits agree.
        value += (fraction as f64 * (unit as f64 / scale)) as u64;
        if value > MAGNITUDE_LIMIT {
            return Err(invalid());
        }
    }
    Ok((value, rest))
}

fn unit(name: &[u8]) -> Option<u64> {
    Some(match std::str::from_utf8(name).ok()? {
        "ns" => 1,
        // The micro sign and the Greek letter look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Reads digits; `None` when they exceed the limit.
pub(crate) fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value: u64 = 0;
    for (index, byte) in text.iter().enumerate() {
        if !byte.is_ascii_digit() {
            return Some((value, &text[index..]));
        }
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        if value > MAGNITUDE_LIMIT {
            return None;
        }
    }
    Some((value, &[]))
}

/// Reads digits as a fraction; digits beyond what fits add no precision.
fn leading_fraction(text: &[u8]) -> (u64, f64, &[u8]) {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (mut value, mut scale) = (0_u64, 1.0);
    for byte in &text[..length] {
        if value > (MAGNITUDE_LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(byte - b'0');
        if next > MAGNITUDE_LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value, scale, &text[length..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_and_read_back() {
        for (nanoseconds, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_723_500_000_000, "1h2m3.5s"),
            (-60_000_000_000, "-1m0s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(Duration(nanoseconds).to_string(), text);
            assert_eq!(Duration::parse(text), Ok(Duration(nanoseconds)));
        }
    }

    #[test]
    fn failures_have_the_texts_of_go() {
        let failure = |text: &str| Duration::parse(text).expect_err(text);
        assert_eq!(failure(""), r#"time: invalid duration """#);
        assert_eq!(failure("3"), r#"time: missing unit in duration "3""#);
        assert_eq!(failure("1d"), r#"time: unknown unit "d" in duration "1d""#);
        assert_eq!(failure("1é"), r#"time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9""#);
        assert_eq!(failure("9223372036854775808ns"), r#"time: invalid duration "9223372036854775808ns""#);
    }

    #[test]
    fn rounding_goes_away_from_zero_and_stays_in_range() {
        assert_eq!(Duration(1_500).round(Duration(1_000)), Duration(2_000));
        assert_eq!(Duration(-1_500).round(Duration(1_000)), Duration(-2_000));
        assert_eq!(Duration(i64::MAX).round(Duration::HOUR), Duration(i64::MAX));
        assert_eq!(Duration(1_999).truncate(Duration(1_000)), Duration(1_000));
    }
}
