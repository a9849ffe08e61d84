//! Layouts: which parts of a text such as `Jan _2 15:04` stand for parts of a time.

/// A part of a time in a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    LongYear,
    ShortYear,
    LongMonth,
    ShortMonth,
    Month,
    ZeroMonth,
    LongWeekday,
    ShortWeekday,
    Day,
    SpaceDay,
    ZeroDay,
    SpaceYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(OffsetStyle),
    Fraction(FractionStyle),
}

/// How the UTC offset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetStyle {
    /// `Z` stands for UTC.
    pub(crate) zulu: bool,
    /// Colons between the numbers.
    pub(crate) colon: bool,
    pub(crate) precision: OffsetPrecision,
}

/// Which parts of the UTC offset are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OffsetPrecision {
    Hours,
    Minutes,
    Seconds,
}

/// How the fraction of a second is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FractionStyle {
    pub(crate) separator: u8,
    pub(crate) digits: usize,
    /// Trailing zeros are left out.
    pub(crate) trimmed: bool,
}

/// The first element of a layout with the text around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    /// Plain text before the element.
    pub(crate) prefix: &'a [u8],
    /// The element, and how it is written; `None` when there is only plain text.
    pub(crate) element: Option<(Element, &'a [u8])>,
    /// What follows the element.
    pub(crate) suffix: &'a [u8],
}

/// Finds the first element of a layout.
pub(crate) fn next_chunk(layout: &[u8]) -> Chunk<'_> {
    for start in 0..layout.len() {
        let Some((element, length)) = leading_element(&layout[start..]) else {
            continue;
        };
        let end = start + length;
        return Chunk {
            prefix: &layout[..start],
            element: Some((element, &layout[start..end])),
            suffix: &layout[end..],
        };
    }
    Chunk { prefix: layout, element: None, suffix: &[] }
}

/// Parses an element at the very beginning of a text, with its length.
fn leading_element(text: &[u8]) -> Option<(Element, usize)> {
    use Element as E;
    let found = match text {
        [b'J', b'a', b'n', b'u', b'a', b'r', b'y', ..] => (E::LongMonth, 7),
        // `Janet` is not a month.
        [b'J', b'a', b'n', rest @ ..] if !starts_lower(rest) => (E::ShortMonth, 3),
        [b'M', b'o', b'n', b'd', b'a', b'y', ..] => (E::LongWeekday, 6),
        [b'M', b'o', b'n', rest @ ..] if !starts_lower(rest) => (E::ShortWeekday, 3),
        [b'M', b'S', b'T', ..] => (E::ZoneName, 3),
        [b'0', b'1', ..] => (E::ZeroMonth, 2),
        [b'0', b'2', ..] => (E::ZeroDay, 2),
        [b'0', b'3', ..] => (E::ZeroHour12, 2),
        [b'0', b'4', ..] => (E::ZeroMinute, 2),
        [b'0', b'5', ..] => (E::ZeroSecond, 2),
        [b'0', b'6', ..] => (E::ShortYear, 2),
        [b'0', b'0', b'2', ..] => (E::ZeroYearDay, 3),
        [b'1', b'5', ..] => (E::Hour, 2),
        [b'1', ..] => (E::Month, 1),
        [b'2', b'0', b'0', b'6', ..] => (E::LongYear, 4),
        [b'2', ..] => (E::Day, 1),
        // Here the underscore is plain text before a year.
        [b'_', b'2', b'0', b'0', b'6', ..] => return None,
        [b'_', b'2', ..] => (E::SpaceDay, 2),
        [b'_', b'_', b'2', ..] => (E::SpaceYearDay, 3),
        [b'3', ..] => (E::Hour12, 1),
        [b'4', ..] => (E::Minute, 1),
        [b'5', ..] => (E::Second, 1),
        [b'P', b'M', ..] => (E::UpperPm, 2),
        [b'p', b'm', ..] => (E::LowerPm, 2),
        [sign @ (b'-' | b'Z'), rest @ ..] => leading_offset(*sign == b'Z', rest)?,
        [separator @ (b'.' | b','), rest @ ..] => leading_fraction(*separator, rest)?,
        _ => return None,
    };
    Some(found)
}

fn starts_lower(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase)
}

fn leading_offset(zulu: bool, text: &[u8]) -> Option<(Element, usize)> {
    use OffsetPrecision::{Hours, Minutes, Seconds};
    const SPELLINGS: [(&[u8], bool, OffsetPrecision); 5] = [
        (b"070000", false, Seconds),
        (b"07:00:00", true, Seconds),
        (b"0700", false, Minutes),
        (b"07:00", true, Minutes),
        (b"07", false, Hours),
    ];
    let (spelling, colon, precision) =
        SPELLINGS.into_iter().find(|(spelling, ..)| text.starts_with(spelling))?;
    Some((Element::Offset(OffsetStyle { zulu, colon, precision }), spelling.len() + 1))
}

/// A run of zeros or nines is a fraction unless another digit follows.
fn leading_fraction(separator: u8, text: &[u8]) -> Option<(Element, usize)> {
    let digit = *text.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
    let length = text.iter().take_while(|byte| **byte == digit).count();
    if text.get(length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    // Go keeps the number of digits in twelve bits.
    let style = FractionStyle { separator, digits: length & 0xfff, trimmed: digit == b'9' };
    Some((Element::Fraction(style), length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_only_begin_like_elements_are_plain_text() {
        assert!(next_chunk(b"Month Janet").element.is_none());
        assert_eq!(next_chunk(b"x.0001").element, Some((Element::ZeroMonth, &b"01"[..])));
    }

    #[test]
    fn an_underscore_before_a_year_is_plain_text() {
        let chunk = next_chunk(b"_2006");
        assert_eq!((chunk.prefix, chunk.element), (&b"_"[..], Some((Element::LongYear, &b"2006"[..]))));
    }
}
