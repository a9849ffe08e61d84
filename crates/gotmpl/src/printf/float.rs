//! Floats in every form of Go's `strconv.FormatFloat`, for the verbs of printf.

use pintle_tree::number;

/// More digits than a float64 can have after the first one, in any form; beyond them there are only zeros. The
/// smallest subnormal has 1,074 digits after the point. The bound keeps `%.1000000f` from taking quadratic time.
const MAX_DIGITS: usize = 1_100;

/// The digits of a number and the position of its decimal point, as Go's formatter keeps them.
struct Decimal {
    digits: Vec<u8>,
    /// The position of the point relative to the first digit.
    point: i32,
}

/// Formats a float with one of the verbs `e E f g G x X b`; no precision means the shortest form.
pub(super) fn format_float(value: f64, verb: u8, precision: Option<usize>) -> Vec<u8> {
    if value.is_nan() {
        return b"NaN".to_vec();
    }
    if value.is_infinite() {
        return if value > 0.0 { b"+Inf".to_vec() } else { b"-Inf".to_vec() };
    }
    let mut out = Vec::with_capacity(24);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = value.abs();
    match verb {
        b'b' => push_binary(magnitude, &mut out),
        b'x' | b'X' => push_hexadecimal(magnitude, verb, precision, &mut out),
        b'e' | b'E' => {
            let decimal = match precision {
                Some(precision) => rounded(magnitude, precision + 1),
                None => shortest(magnitude),
            };
            let precision = precision.unwrap_or(decimal.digits.len().saturating_sub(1));
            push_exponent_form(&decimal, precision, verb, &mut out);
        }
        b'f' => push_plain(magnitude, precision, &mut out),
        _ => push_general(magnitude, verb, precision, &mut out),
    }
    out
}

fn shortest(magnitude: f64) -> Decimal {
    if magnitude == 0.0 {
        return Decimal { digits: Vec::new(), point: 0 };
    }
    let (_, digits, exponent) = number::shortest_digits(magnitude);
    Decimal { digits: digits.into_bytes(), point: exponent + 1 }
}

/// The number rounded to so many significant digits, without trailing zeros.
fn rounded(magnitude: f64, significant: usize) -> Decimal {
    if magnitude == 0.0 {
        return Decimal { digits: Vec::new(), point: 0 };
    }
    let fraction = significant.clamp(1, MAX_DIGITS) - 1;
    let text = format!("{magnitude:.fraction$e}");
    let (mantissa, exponent) = text.split_once('e').expect("exponent form has an exponent");
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let exponent: i32 = exponent.parse().expect("the exponent is a small number");
    Decimal { digits, point: exponent + 1 }
}

fn push_general(magnitude: f64, verb: u8, precision: Option<usize>, out: &mut Vec<u8>) {
    let decimal = match precision {
        Some(precision) => rounded(magnitude, precision.max(1)),
        None => shortest(magnitude),
    };
    let count = decimal.digits.len();
    let threshold = match precision {
        // Go decides the shortest form as if six digits were given: 1000000.0 prints as `1e+06`, which charts
        // meet when a large number in values reaches a template.
        None => 6,
        Some(precision) => {
            let precision = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            let count = i32::try_from(count).unwrap_or(i32::MAX);
            // `%e` is used if the exponent is not smaller than the number of digits that are really there,
            // not than the requested precision (`eprec` in Go's `formatDigits`).
            if precision > count && count >= decimal.point { count } else { precision }
        }
    };
    let exponent = decimal.point - 1;
    if exponent < -4 || exponent >= threshold {
        let letter = if verb == b'G' { b'E' } else { b'e' };
        push_exponent_form(&decimal, count.saturating_sub(1), letter, out);
    } else {
        let fraction =
            usize::try_from(i64::try_from(count).unwrap_or(0) - i64::from(decimal.point)).unwrap_or(0);
        push_digits(&decimal, fraction, out);
    }
}

fn push_exponent_form(decimal: &Decimal, precision: usize, letter: u8, out: &mut Vec<u8>) {
    out.push(decimal.digits.first().copied().unwrap_or(b'0'));
    if precision > 0 {
        out.push(b'.');
        let rest = decimal.digits.get(1..).unwrap_or_default();
        let shown = &rest[..rest.len().min(precision)];
        out.extend_from_slice(shown);
        out.extend(std::iter::repeat_n(b'0', precision - shown.len()));
    }
    out.push(letter);
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    push_signed(exponent, out);
}

/// Writes an exponent with its sign and at least two digits.
fn push_signed(exponent: i32, out: &mut Vec<u8>) {
    out.push(if exponent < 0 { b'-' } else { b'+' });
    let magnitude = exponent.unsigned_abs();
    if magnitude < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(magnitude).as_bytes());
}

/// Writes digits without an exponent, with so many digits after the point.
fn push_digits(decimal: &Decimal, fraction: usize, out: &mut Vec<u8>) {
    let digit = |position: i64| {
        usize::try_from(position).ok().and_then(|at| decimal.digits.get(at)).copied().unwrap_or(b'0')
    };
    let point = i64::from(decimal.point);
    if point > 0 {
        out.extend((0..point).map(digit));
    } else {
        out.push(b'0');
    }
    if fraction > 0 {
        out.push(b'.');
        let end = point.saturating_add(i64::try_from(fraction).unwrap_or(i64::MAX));
        out.extend((point..end).map(digit));
    }
}

fn push_plain(magnitude: f64, precision: Option<usize>, out: &mut Vec<u8>) {
    let Some(precision) = precision else {
        let decimal = shortest(magnitude);
        let fraction = decimal.digits.len() as i64 - i64::from(decimal.point);
        push_digits(&decimal, usize::try_from(fraction).unwrap_or(0), out);
        return;
    };
    let exact = precision.min(MAX_DIGITS);
    out.extend_from_slice(format!("{magnitude:.exact$}").as_bytes());
    out.extend(std::iter::repeat_n(b'0', precision - exact));
}

/// `%b`: the mantissa and the binary exponent.
fn push_binary(magnitude: f64, out: &mut Vec<u8>) {
    let (mantissa, exponent) = parts(magnitude);
    out.extend_from_slice(itoa::Buffer::new().format(mantissa).as_bytes());
    out.push(b'p');
    if exponent >= 0 {
        out.push(b'+');
    }
    out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
}

/// The integer mantissa and the power of two of a finite number.
fn parts(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let biased = ((bits >> 52) & 0x7ff) as i32;
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// `%x`: a hexadecimal mantissa that begins with 1, and the binary exponent.
fn push_hexadecimal(magnitude: f64, verb: u8, precision: Option<usize>, out: &mut Vec<u8>) {
    let (mut mantissa, exponent) = parts(magnitude);
    let mut exponent = if mantissa == 0 { 0 } else { exponent + 52 };
    // The leading one goes to bit 60, so that fifteen hexadecimal digits follow it.
    mantissa <<= 8;
    while mantissa != 0 && mantissa >> 60 == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let shift = precision as u32 * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        // Rounds half to even: a tie has exactly bit 59 set in `extra`, and only an odd mantissa makes the
        // sum larger.
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let upper = verb == b'X';
    let digit = |nibble: u64| {
        let digit = char::from_digit(nibble as u32, 16).unwrap_or('0');
        if upper { digit.to_ascii_uppercase() as u8 } else { digit as u8 }
    };
    out.push(b'0');
    out.push(verb);
    out.push(b'0' + ((mantissa >> 60) & 1) as u8);
    mantissa <<= 4;
    if precision.map_or(mantissa != 0, |precision| precision > 0) {
        out.push(b'.');
        match precision {
            None => {
                while mantissa != 0 {
                    out.push(digit(mantissa >> 60));
                    mantissa <<= 4;
                }
            }
            Some(precision) => {
                for _ in 0..precision {
                    out.push(digit(mantissa >> 60));
                    mantissa <<= 4;
                }
            }
        }
    }
    out.push(if upper { b'P' } else { b'p' });
    push_signed(exponent, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64, verb: u8, precision: Option<usize>) -> String {
        String::from_utf8(format_float(value, verb, precision)).unwrap()
    }

    #[test]
    fn forms_agree_with_strconv() {
        assert_eq!(text(1.0, b'e', Some(6)), "1.000000e+00");
        assert_eq!(text(0.0, b'e', Some(2)), "0.00e+00");
        assert_eq!(text(123456.0, b'g', Some(3)), "1.23e+05");
        assert_eq!(text(100.0, b'g', Some(3)), "100");
        assert_eq!(text(100000.0, b'g', Some(17)), "100000");
        assert_eq!(text(2.5, b'f', Some(0)), "2");
        assert_eq!(text(3.5, b'f', Some(0)), "4");
        assert_eq!(text(0.000001234, b'G', None), "1.234E-06");
        assert_eq!(text(1.0, b'b', None), "4503599627370496p-52");
        assert_eq!(text(1.0, b'x', None), "0x1p+00");
        assert_eq!(text(-3.25, b'x', Some(3)), "-0x1.a00p+01");
        assert_eq!(text(1e21, b'X', None), "0X1.B1AE4D6E2EF5P+69");
        assert_eq!(text(0.0, b'x', None), "0x0p+00");
    }
}
