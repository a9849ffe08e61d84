//! Scanners for the parts of times: numbers, names, fractions, offsets.

use crate::duration::leading_number;
use crate::layout::{OffsetPrecision, OffsetStyle};

/// An error of one element.
pub(crate) enum ScanError {
    /// The text does not match the element.
    Mismatch,
    /// The named part is too large.
    Range(&'static str),
}

pub(crate) type ScanResult<T> = Result<T, ScanError>;

pub(crate) fn take<'a>(value: &mut &'a [u8], length: usize) -> ScanResult<&'a [u8]> {
    let (taken, rest) = value.split_at_checked(length).ok_or(ScanError::Mismatch)?;
    *value = rest;
    Ok(taken)
}

pub(crate) fn within(number: u8, range: std::ops::RangeInclusive<u8>, part: &'static str) -> ScanResult<u8> {
    if range.contains(&number) { Ok(number) } else { Err(ScanError::Range(part)) }
}

/// Reads one or two digits, or exactly two.
pub(crate) fn number(value: &mut &[u8], fixed: bool) -> ScanResult<u8> {
    let (number, rest) = match *value {
        [high @ b'0'..=b'9', low @ b'0'..=b'9', rest @ ..] => ((high - b'0') * 10 + low - b'0', rest),
        [digit @ b'0'..=b'9', rest @ ..] if !fixed => (digit - b'0', rest),
        _ => return Err(ScanError::Mismatch),
    };
    *value = rest;
    Ok(number)
}

/// Reads up to three digits, or exactly three.
pub(crate) fn year_day(value: &mut &[u8], fixed: bool) -> ScanResult<u16> {
    if !fixed {
        // `__2` in a layout: up to two of the three digits may be blanks.
        for _ in 0..2 {
            *value = value.strip_prefix(b" ").unwrap_or(value);
        }
    }
    let length = value.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || (fixed && length != 3) {
        return Err(ScanError::Mismatch);
    }
    let digits = take(value, length)?;
    Ok(digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

/// Parses a text that is all digits, perhaps with a sign.
pub(crate) fn signed_number(text: &[u8]) -> ScanResult<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    match leading_number(digits) {
        Some((number, [])) => {
            let number = i64::try_from(number).map_err(|_| ScanError::Mismatch)?;
            Ok(if negative { -number } else { number })
        }
        _ => Err(ScanError::Mismatch),
    }
}

/// Consumes the name, truncated to `length`, that the value starts with, ignoring case. Returns its index.
pub(crate) fn name(value: &mut &[u8], names: &[&str], length: usize) -> ScanResult<u8> {
    for (index, name) in (0..).zip(names) {
        let name = &name.as_bytes()[..name.len().min(length)];
        if value.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            *value = &value[name.len()..];
            return Ok(index);
        }
    }
    Err(ScanError::Mismatch)
}

/// Length of a point or comma with digits; zero when there is none.
pub(crate) fn fraction_length(value: &[u8]) -> usize {
    match value {
        [b'.' | b',', digits @ ..] => match digits.iter().take_while(|byte| byte.is_ascii_digit()).count() {
            0 => 0,
            count => count + 1,
        },
        _ => 0,
    }
}

/// Parses a fraction with its separator; digits beyond nanoseconds are dropped.
pub(crate) fn nanoseconds(text: &[u8]) -> ScanResult<i64> {
    let [b'.' | b',', digits @ ..] = text else {
        return Err(ScanError::Mismatch);
    };
    let digits = &digits[..digits.len().min(9)];
    // Go reads the fraction with `Atoi`, which takes a sign.
    let number = signed_number(digits)?;
    if number < 0 {
        return Err(ScanError::Range("fractional second"));
    }
    Ok((digits.len()..9).fold(number, |number, _| number * 10))
}

/// Cuts an offset into its sign and its three pairs of digits.
pub(crate) fn split_offset<'a>(value: &mut &'a [u8], style: OffsetStyle) -> ScanResult<(u8, [&'a [u8]; 3])> {
    let zero: &[u8] = b"00";
    let pairs = match style.precision {
        OffsetPrecision::Hours => 1,
        OffsetPrecision::Minutes => 2,
        OffsetPrecision::Seconds => 3,
    };
    let gap = usize::from(style.colon);
    let whole = value.get(..1 + 2 * pairs + gap * (pairs - 1)).ok_or(ScanError::Mismatch)?;
    let mut parts = [zero; 3];
    for (index, part) in parts.iter_mut().take(pairs).enumerate() {
        let start = 1 + index * (2 + gap);
        if index > 0 && style.colon && whole[start - 1] != b':' {
            return Err(ScanError::Mismatch);
        }
        *part = &whole[start..start + 2];
    }
    *value = &value[whole.len()..];
    Ok((whole[0], parts))
}

/// Length of what looks like a zone abbreviation.
pub(crate) fn zone_name_length(value: &[u8]) -> Option<usize> {
    match value {
        _ if value.len() < 3 => None,
        // The only abbreviations with a lower-case letter, by Go's list.
        [b'C', b'h', b'S', b'T', ..] | [b'M', b'e', b'S', b'T', ..] => Some(4),
        [b'G', b'M', b'T', rest @ ..] => Some(3 + signed_hours_length(rest)),
        [b'+' | b'-', ..] => Some(signed_hours_length(value)).filter(|length| *length > 0),
        _ => match value.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count() {
            3 => Some(3),
            4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
            5 if value[4] == b'T' => Some(5),
            _ => None,
        },
    }
}

/// Length of a signed number of hours below 24; zero when there is none.
fn signed_hours_length(value: &[u8]) -> usize {
    let [b'+' | b'-', digits @ ..] = value else {
        return 0;
    };
    match leading_number(digits) {
        Some((0..=23, rest)) if rest.len() != digits.len() => value.len() - rest.len(),
        _ => 0,
    }
}
