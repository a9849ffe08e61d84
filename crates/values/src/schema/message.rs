//! Validation failures as a tree, and their text.

use pintle_tree::{number, quote};

use super::document::Doc;

/// A validation failure: where and why.
#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    /// The JSON pointer of the value.
    pub(super) at: String,
    pub(super) message: String,
    pub(super) causes: Vec<Failure>,
}

/// How a failure shows its causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FailureKind {
    #[default]
    Plain,
    /// Several failures of one schema.
    Group,
    /// A failure behind a reference; not shown if it has just one cause.
    Reference,
}

impl Failure {
    /// The failures grouped in this one.
    pub(super) fn into_group(self) -> Vec<Failure> {
        if self.kind == FailureKind::Group { self.causes } else { vec![self] }
    }

    /// Writes one line for this failure and one for each cause, indented.
    pub(super) fn write(&self, level: usize, out: &mut String) {
        let hidden = self.kind == FailureKind::Reference && self.causes.len() == 1;
        if !hidden {
            if !out.is_empty() {
                out.push('\n');
            }
            out.extend(std::iter::repeat_n("  ", level));
            out.push_str("- at ");
            out.push_str(&quoted(self.at.as_bytes()));
            out.push_str(": ");
            out.push_str(&self.message);
        }
        for cause in &self.causes {
            cause.write(if hidden { level } else { level + 1 }, out);
        }
    }
}

/// Text in single quotes.
pub(super) fn quoted(text: &[u8]) -> String {
    let text = quote::quote(text);
    // As the library does it: Go's `%q`, with the roles of the two quotes swapped afterwards.
    let inner = text[1..text.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

/// Comma-separated strings in single quotes.
pub(super) fn quoted_list<T: AsRef<[u8]>>(texts: &[T]) -> String {
    texts.iter().map(|text| quoted(text.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A scalar of a schema; anything else is just `value`.
pub(super) fn displayed(doc: &Doc) -> String {
    match doc {
        Doc::Nil => "<nil>".to_owned(),
        Doc::Bool(value) => value.to_string(),
        Doc::Number(text) => text.to_string(),
        Doc::Text(text) => quoted(text.as_bytes()),
        Doc::List(_) | Doc::Map(_) => "value".to_owned(),
    }
}

/// A count with thousands separators, in English.
pub(super) fn count(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(&value.unsigned_abs().to_string()))
}

/// A number as Go's `message.Printer` prints it in English: thousands separators, and powers of ten for very large or
/// small numbers.
pub(super) fn amount(value: f64) -> String {
    let (negative, digits, exponent) = number::shortest_digits(value);
    let sign = if negative { "-" } else { "" };
    // As `%g` with six digits: powers of ten outside of this range.
    if (-4..6).contains(&exponent) {
        let plain = number::format_general(value.abs(), 6);
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let point = if fraction.is_empty() { "" } else { "." };
        return format!("{sign}{}{point}{fraction}", grouped(whole));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let raised_sign = if exponent < 0 { "⁻" } else { "" };
    format!("{sign}{first}{point}{rest}×10{raised_sign}{}", raised(exponent.unsigned_abs()))
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn raised(exponent: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    // At least two digits, as in Go's exponents.
    format!("{exponent:02}").bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_english() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (70000.0, "70,000"),
            (-70000.0, "-70,000"),
            (999999.0, "999,999"),
            (123456.789, "123,456.789"),
            (1e6, "1×10⁰⁶"),
            (1000001.0, "1.000001×10⁰⁶"),
            (0.0001, "0.0001"),
            (0.000012345, "1.2345×10⁻⁰⁵"),
            (1e100, "1×10¹⁰⁰"),
        ] {
            assert_eq!(amount(value), text);
        }
        assert_eq!(count(-1234567), "-1,234,567");
    }

    #[test]
    fn quotes_are_single() {
        assert_eq!(quoted(b"a\"b'c\n"), r#"'a"b\'c\n'"#);
    }
}
