//! Formats of dates, times and durations.

use super::format::quoted_character;

type Checked = Result<(), String>;

fn refuse(message: &str) -> Checked {
    Err(message.to_owned())
}

/// `P1Y2M3DT4H5M6S` or `P7W`.
pub(super) fn check_duration(text: &str) -> Checked {
    let Some(body) = text.strip_prefix('P') else { return refuse("must start with P") };
    if body.is_empty() {
        return refuse("nothing after P");
    }
    // Weeks cannot be combined with other units in ISO 8601.
    if let Some(weeks) = body.strip_suffix('W') {
        return match weeks {
            "" => refuse("no number in week"),
            _ if weeks.bytes().all(|byte| byte.is_ascii_digit()) => Ok(()),
            _ => refuse("invalid week"),
        };
    }
    // `M` means months before the `T` and minutes after it.
    for (index, part) in body.split('T').enumerate() {
        if index > 0 && part.is_empty() {
            return refuse("no time elements");
        }
        let all = match index {
            0 => "YMD",
            1 => "HMS",
            _ => return refuse("more than one T"),
        };
        check_elements(part, all)?;
    }
    Ok(())
}

/// Numbers, each followed by a unit from `all`, in that order.
fn check_elements(part: &str, all: &str) -> Checked {
    let mut units = all;
    let mut rest = part;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return refuse("missing number");
        }
        rest = &rest[digits..];
        let Some(&byte) = rest.as_bytes().first() else { return refuse("missing unit") };
        let unit = char::from(byte);
        match units.find(unit) {
            Some(at) => units = &units[at + 1..],
            None if all.contains(unit) => {
                return Err(format!("unit {} out of order", quoted_character(unit)));
            }
            None => return Err(format!("invalid unit {}", quoted_character(unit))),
        }
        rest = &rest[1..];
    }
    Ok(())
}

/// `2006-01-02`, with the error texts of Go's `time.Parse`.
pub(super) fn check_date(text: &str) -> Checked {
    let fail = |at: &str, element: &str| {
        Err(format!(
            "parsing time {} as \"2006-01-02\": cannot parse {} as \"{element}\"",
            quoted(text),
            quoted(at)
        ))
    };
    let digits = |text: &str, count: usize| -> Option<u32> {
        text.get(..count).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let Some(year) = digits(text, 4) else { return fail(text, "2006") };
    let rest = &text[4..];
    let Some(rest) = rest.strip_prefix('-') else { return fail(rest, "-") };
    let Some(month) = digits(rest, 2) else { return fail(rest, "01") };
    if !(1..=12).contains(&month) {
        return Err(format!("parsing time {}: month out of range", quoted(text)));
    }
    let rest = &rest[2..];
    let Some(rest) = rest.strip_prefix('-') else { return fail(rest, "-") };
    let Some(day) = digits(rest, 2) else { return fail(rest, "02") };
    let extra = &rest[2..];
    if !extra.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quoted(text), quoted(extra)));
    }
    if day < 1 || day > days_in(year, month) {
        return Err(format!("parsing time {}: day out of range", quoted(text)));
    }
    Ok(())
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Quotes as Go's `time` package does: non-ASCII bytes in hexadecimal.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            // Go's `time.quote` escapes control characters below the space and non-ASCII bytes, but not DEL.
            b' '..=b'~' | 0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// `15:04:05Z`, with fraction and offset.
pub(super) fn check_time(text: &str) -> Checked {
    if text.len() < 9 {
        return refuse("less than 9 characters long");
    }
    let bytes = text.as_bytes();
    if bytes[2] != b':' || bytes[5] != b':' {
        return refuse("missing colon in correct place");
    }
    let mut parts = [0i64; 3];
    for (part, digits) in parts.iter_mut().zip([&bytes[..2], &bytes[3..5], &bytes[6..8]]) {
        *part = two_digits(digits, "hour/min/sec")?;
    }
    let [hour, minute, second] = parts;
    // 60 is allowed here for leap seconds, which are checked below.
    if hour > 23 || minute > 59 || second > 60 {
        return refuse("hour/min/sec out of range");
    }
    let mut rest = &bytes[8..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return refuse("no digits in second fraction");
        }
        rest = &fraction[digits..];
    }
    let mut minutes = hour * 60 + minute;
    if rest != b"z" && rest != b"Z" {
        minutes += offset(rest)?;
        if minutes < 0 {
            minutes += 24 * 60;
        }
    }
    // A leap second is only possible at 23:59:60 UTC.
    if second >= 60 && minutes != 23 * 60 + 59 { refuse("invalid leap second") } else { Ok(()) }
}

/// Two characters as a number, as Go's `Atoi` reads them.
fn two_digits(digits: &[u8], what: &str) -> Result<i64, String> {
    let text = std::str::from_utf8(digits).unwrap_or_default();
    match pintle_tree::number::parse_int(text, 10) {
        Ok(value) if value < 0 => Err(format!("non-positive {what}")),
        Ok(value) => Ok(value),
        Err(_) => Err(format!("invalid {what}")),
    }
}

/// Parses `+hh:mm`. Returns the minutes to add to a local time to get UTC.
fn offset(text: &[u8]) -> Result<i64, String> {
    if text.len() != 6 {
        return Err("offset must be 6 characters long".to_owned());
    }
    let sign = match text[0] {
        // A positive offset is ahead of UTC, so it is subtracted.
        b'+' => -1,
        b'-' => 1,
        _ => return Err("offset must begin with plus/minus".to_owned()),
    };
    if text[3] != b':' {
        return Err("missing colon in offset in correct place".to_owned());
    }
    let hour = two_digits(&text[1..3], "hour/min in offset")?;
    let minute = two_digits(&text[4..6], "hour/min in offset")?;
    if hour > 23 || minute > 59 {
        return Err("hour/min in offset out of range".to_owned());
    }
    Ok(sign * (hour * 60 + minute))
}

/// A date and a time, separated by `T`.
pub(super) fn check_date_time(text: &str) -> Checked {
    if text.len() < 20 {
        return refuse("less than 20 characters long");
    }
    if !matches!(text.as_bytes()[10], b't' | b'T') {
        return refuse("11th character must be t or T");
    }
    let (Some(date), Some(time)) = (text.get(..10), text.get(11..)) else {
        return refuse("invalid date element: not a date");
    };
    check_date(date).map_err(|reason| format!("invalid date element: {reason}"))?;
    check_time(time).map_err(|reason| format!("invalid time element: {reason}"))
}

/// Two of start, end and duration, separated by a slash.
pub(super) fn check_period(text: &str) -> Checked {
    let Some((start, end)) = text.split_once('/') else { return refuse("missing slash") };
    let duration = |text: &str, which: &str| {
        check_duration(text).map_err(|reason| format!("invalid {which} duration: {reason}"))
    };
    let moment = |text: &str, which: &str| {
        check_date_time(text).map_err(|reason| format!("invalid {which} date-time: {reason}"))
    };
    if start.starts_with('P') {
        duration(start, "start")?;
        return moment(end, "end");
    }
    moment(start, "start")?;
    if end.starts_with('P') { duration(end, "end") } else { moment(end, "end") }
}

/// The units of durations in words, as the API server accepts them besides those of Go.
const DURATION_UNITS: [&str; 29] = [
    "ns",
    "nano",
    "nanos",
    "nanosecond",
    "nanoseconds",
    "us",
    "µs",
    "micro",
    "micros",
    "microsecond",
    "microseconds",
    "ms",
    "milli",
    "millis",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hour",
    "hours",
    "d",
];

/// Checks a duration of a Kubernetes object: `1h30m` as in Go, `3 days`, or ISO 8601.
pub(super) fn check_kubernetes_duration(text: &str) -> Result<(), String> {
    if is_go_duration(text) || is_worded_duration(text) { Ok(()) } else { check_duration(text) }
}

/// Splits a number with an optional fraction from the start of a text.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, rest) = text.split_at(digits);
    let is_number = number.bytes().any(|byte| byte.is_ascii_digit()) && number.matches('.').count() <= 1;
    is_number.then_some((number, rest))
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let Some((_, after)) = split_number(rest) else { return false };
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let fits = |unit: &&&str| {
            after.strip_prefix(**unit).is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
        };
        let Some(unit) = units.iter().find(fits) else { return false };
        rest = &after[unit.len()..];
    }
    !text.is_empty()
}

/// Whether the text is a number with a unit in words; text after the unit is ignored.
fn is_worded_duration(text: &str) -> bool {
    let Some((_, after)) = split_number(text.trim_start()) else { return false };
    let word: String = after.trim_start().chars().take_while(|character| character.is_alphabetic()).collect();
    let word = word.to_lowercase();
    DURATION_UNITS.contains(&word.as_str())
        || ["day", "days", "w", "wk", "week", "weeks"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_checked() {
        assert_eq!(check_date("2024-02-29"), Ok(()));
        assert_eq!(check_date("2023-02-29").unwrap_err(), "parsing time \"2023-02-29\": day out of range");
        let reason = "parsing time \"x\" as \"2006-01-02\": cannot parse \"x\" as \"2006\"";
        assert_eq!(check_date("x").unwrap_err(), reason);
        assert_eq!(check_date_time("2024-01-01T23:59:60Z"), Ok(()));
        assert_eq!(check_time("22:59:60Z").unwrap_err(), "invalid leap second");
        assert_eq!(check_duration("P1DT2H"), Ok(()));
        assert_eq!(check_duration("P1D2Y").unwrap_err(), "unit 'Y' out of order");
    }
}
