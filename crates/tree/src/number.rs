//! Numbers as Go formats and parses them.

use std::num::IntErrorKind;

/// Go's `%v` of a float64, which is also `strconv.FormatFloat(value, 'g', -1, 64)`: the shortest digits that read
/// back, with an exponent when the decimal exponent is below -4 or at least 6 (`1e+06`).
pub fn format_value(value: f64) -> String {
    format_general(value, 6)
}

/// The shortest digits that read back, in exponent form when the decimal exponent is below -4 or at least
/// `threshold`, and plain otherwise.
pub fn format_general(value: f64, threshold: i32) -> String {
    if let Some(special) = special(value) {
        return special.to_owned();
    }
    let (negative, digits, exponent) = shortest_digits(value);
    let mut text = String::with_capacity(24);
    if negative {
        text.push('-');
    }
    if exponent < -4 || exponent >= threshold {
        push_exponent_form(&mut text, &digits, exponent);
    } else {
        push_plain_form(&mut text, &digits, exponent);
    }
    text
}

/// A float as Go's `encoding/json` writes it, or `None` for NaN and the infinities, which JSON cannot hold.
pub fn format_json(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    // Integral numbers of moderate size, by far the most common, need no digit generation.
    if value.fract() == 0.0 && value.abs() < 1e15 && (value != 0.0 || value.is_sign_positive()) {
        return Some(itoa::Buffer::new().format(value as i64).to_owned());
    }
    let (negative, digits, exponent) = shortest_digits(value);
    let mut text = String::with_capacity(24);
    if negative {
        text.push('-');
    }
    let magnitude = value.abs();
    // The bounds of ES6, which encoding/json follows so that JavaScript writes the same text.
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        push_exponent_form(&mut text, &digits, exponent);
        // encoding/json writes e-9, not e-09.
        let length = text.len();
        if length >= 4 && text.as_bytes()[length - 4..length - 1] == *b"e-0" {
            text.remove(length - 2);
        }
    } else {
        push_plain_form(&mut text, &digits, exponent);
    }
    Some(text)
}

/// Go's spelling of NaN and the infinities.
fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value == f64::INFINITY {
        Some("+Inf")
    } else if value == f64::NEG_INFINITY {
        Some("-Inf")
    } else {
        None
    }
}

/// The sign, the shortest significant digits and the decimal exponent of the first digit, for a finite value.
pub fn shortest_digits(value: f64) -> (bool, String, i32) {
    if value == 0.0 {
        return (value.is_sign_negative(), "0".to_owned(), 0);
    }
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(value.abs());
    let (mantissa, power) = match text.split_once('e') {
        Some((mantissa, power)) => (mantissa, power.parse().expect("ryu writes a decimal exponent")),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let leading = all.len() - all.trim_start_matches('0').len();
    let exponent = power + whole.len() as i32 - 1 - leading as i32;
    let digits = all[leading..].trim_end_matches('0').to_owned();
    (value < 0.0, digits, exponent)
}

/// Writes `d.ddde±dd`.
fn push_exponent_form(text: &mut String, digits: &str, exponent: i32) {
    text.push_str(&digits[..1]);
    if digits.len() > 1 {
        text.push('.');
        text.push_str(&digits[1..]);
    }
    text.push('e');
    text.push(if exponent < 0 { '-' } else { '+' });
    let magnitude = exponent.unsigned_abs();
    if magnitude < 10 {
        text.push('0');
    }
    text.push_str(itoa::Buffer::new().format(magnitude));
}

/// Writes digits without an exponent.
fn push_plain_form(text: &mut String, digits: &str, exponent: i32) {
    if exponent < 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        text.push_str(digits);
        return;
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        text.push_str(digits);
        text.extend(std::iter::repeat_n('0', whole - digits.len()));
    } else {
        text.push_str(&digits[..whole]);
        text.push('.');
        text.push_str(&digits[whole..]);
    }
}

/// Why a text is not an integer, in the two ways that Go distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntError {
    /// The text is not a number (`invalid syntax`).
    Syntax,
    /// The number does not fit (`value out of range`).
    Range,
}

/// Reads an unsigned integer as Go's `strconv.ParseUint(text, base, 64)` does; base 0 takes the prefixes `0x`, `0o`,
/// `0b` and `0` and allows underscores between digits.
///
/// # Errors
/// Distinguishes invalid syntax from overflow.
pub fn parse_uint(text: &str, base: u32) -> Result<u64, IntError> {
    let mut digits = text;
    let mut radix = base;
    let mut underscores = false;
    if base == 0 {
        underscores = true;
        (radix, digits) = split_prefix(text);
        if !underscores_are_between_digits(text) {
            return Err(IntError::Syntax);
        }
    }
    if digits.is_empty() {
        return Err(IntError::Syntax);
    }
    let mut value: u64 = 0;
    let mut overflow = false;
    for character in digits.chars() {
        if character == '_' && underscores {
            continue;
        }
        let digit = character.to_digit(radix).ok_or(IntError::Syntax)?;
        match value.checked_mul(u64::from(radix)).and_then(|v| v.checked_add(u64::from(digit))) {
            Some(next) => value = next,
            // Not an error yet: a bad digit further on is a syntax error, which Go reports first.
            None => overflow = true,
        }
    }
    if overflow { Err(IntError::Range) } else { Ok(value) }
}

/// Reads a signed integer as Go's `strconv.ParseInt(text, base, 64)` does.
///
/// # Errors
/// Distinguishes invalid syntax from overflow.
pub fn parse_int(text: &str, base: u32) -> Result<i64, IntError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_uint(digits, base)?;
    if negative {
        if magnitude > 1 << 63 { Err(IntError::Range) } else { Ok((magnitude as i64).wrapping_neg()) }
    } else {
        i64::try_from(magnitude).map_err(|_| IntError::Range)
    }
}

fn split_prefix(text: &str) -> (u32, &str) {
    let bytes = text.as_bytes();
    if bytes.len() >= 3 && bytes[0] == b'0' {
        match bytes[1] {
            b'x' | b'X' => return (16, &text[2..]),
            b'o' | b'O' => return (8, &text[2..]),
            b'b' | b'B' => return (2, &text[2..]),
            _ => {}
        }
    }
    if bytes.len() > 1 && bytes[0] == b'0' { (8, &text[1..]) } else { (10, text) }
}

/// Whether underscores are only between digits, or between a base prefix and a digit.
fn underscores_are_between_digits(text: &str) -> bool {
    if !text.contains('_') {
        return true;
    }
    let bytes = text.trim_start_matches(['+', '-']).as_bytes();
    let hexadecimal = bytes.len() >= 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X');
    let prefixed = bytes.len() >= 2 && bytes[0] == b'0' && matches!(bytes[1] | 0x20, b'x' | b'o' | b'b');
    let rest = if prefixed { &bytes[2..] } else { bytes };
    // The base prefix counts as a digit for what follows it.
    let mut previous = if prefixed { '0' } else { '^' };
    for &byte in rest {
        let digit = byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit());
        let next = if digit {
            '0'
        } else if byte == b'_' {
            '_'
        } else {
            '!'
        };
        if (next == '_' && previous != '0') || (previous == '_' && next != '0') {
            return false;
        }
        previous = next;
    }
    previous != '_'
}

/// Reads a float as Go's `strconv.ParseFloat(text, 64)` does: decimal and hexadecimal forms, underscores
/// between digits, and the words `inf`, `infinity` and `nan`, ignoring case. `None` means bad syntax; a number that is too
/// large gives an infinity.
pub fn parse_float(text: &str) -> Option<f64> {
    let (sign, body) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    let lower = body.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        // NaN has no sign.
        "nan" => return (body.len() == text.len()).then_some(f64::NAN),
        _ => {}
    }
    if lower.starts_with(['+', '-']) || !underscores_are_between_digits(&lower) {
        return None;
    }
    let lower = if lower.contains('_') { lower.replace('_', "") } else { lower };
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return parse_hexadecimal_float(hexadecimal).map(|value| sign * value);
    }
    let numeric = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-');
    if !lower.bytes().all(numeric) || !lower.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    lower.parse::<f64>().ok().map(|value| sign * value)
}

/// Reads `h.hhp±d` after its `0x`. The exponent is required, as in Go.
fn parse_hexadecimal_float(text: &str) -> Option<f64> {
    /// An exponent that makes any number zero or infinite.
    const FAR: i32 = 100_000;
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent = match exponent.parse::<i32>() {
        Ok(exponent) => exponent.clamp(-FAR, FAR),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => FAR,
            IntErrorKind::NegOverflow => -FAR,
            _ => return None,
        },
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0u64;
    let mut scale = exponent;
    let mut sticky = false;
    for (index, character) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(character.to_digit(16)?);
        let in_fraction = index >= whole.len();
        if value >> 58 == 0 {
            value = value << 4 | digit;
            scale -= if in_fraction { 4 } else { 0 };
        } else {
            // Digits beyond 64 bits only affect rounding.
            sticky |= digit != 0;
            scale += if in_fraction { 0 } else { 4 };
        }
    }
    let value = (value | u64::from(sticky)) as f64;
    Some(
        value
            * 2f64.powi(scale.clamp(-1_000, 1_000))
            * 2f64.powi((scale - scale.clamp(-1_000, 1_000)).clamp(-1_000, 1_000)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        for (value, text) in [
            (999999.0, "999999"),
            (1e6, "1e+06"),
            (1234567.5, "1.2345675e+06"),
            (123456.7, "123456.7"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e100, "1e+100"),
            (0.0, "0"),
            (-0.0, "-0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(format_value(value), text);
        }
    }

    #[test]
    fn json_floats_are_plain_between_a_millionth_and_1e21() {
        for (value, text) in [
            (1e6, "1000000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-10, "1.5e-10"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (9007199254740993.0, "9007199254740992"),
        ] {
            assert_eq!(format_json(value).as_deref(), Some(text));
        }
        assert_eq!(format_json(f64::NAN), None);
    }

    #[test]
    fn integers_with_base_zero_follow_their_prefix() {
        for (text, value) in [
            ("0x10", Ok(16)),
            ("017", Ok(15)),
            ("0b101", Ok(5)),
            ("1_000", Ok(1000)),
            ("-5", Ok(-5)),
            ("08", Err(IntError::Syntax)),
            ("1__0", Err(IntError::Syntax)),
            ("_1", Err(IntError::Syntax)),
            ("9223372036854775808", Err(IntError::Range)),
            ("-9223372036854775808", Ok(i64::MIN)),
            ("", Err(IntError::Syntax)),
        ] {
            assert_eq!(parse_int(text, 0), value, "{text}");
        }
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        assert_eq!(parse_float("1e3"), Some(1000.0));
        assert_eq!(parse_float(".5"), Some(0.5));
        assert_eq!(parse_float("1."), Some(1.0));
        assert_eq!(parse_float("0x1p-2"), Some(0.25));
        assert_eq!(parse_float("1_000.5"), Some(1000.5));
        assert_eq!(parse_float("1__0"), None);
        assert_eq!(parse_float("+-1"), None);
        assert_eq!(parse_float("e3"), None);
        assert_eq!(parse_float("1e400"), Some(f64::INFINITY));
        assert_eq!(parse_float("0x1p99999999999999999999"), Some(f64::INFINITY));
        assert_eq!(parse_float("-nan"), None);
    }
}
