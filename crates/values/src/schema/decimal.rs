//! Exact decimal numbers, so that `0.3` is a multiple of `0.1` and large integers are distinct.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use pintle_tree::{Node, number};

/// A number as digits and a power of ten.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    /// Decimal digits without leading and trailing zeros; empty for zero.
    digits: Vec<u8>,
    /// The power of ten.
    exponent: i64,
}

impl Decimal {
    /// Parses a JSON number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, body) = match text.strip_prefix('-') {
            Some(body) => (true, body),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, power) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        // The bound keeps `1e999999999` from being worked on digit by digit.
        let power = power.parse::<i64>().ok()?.clamp(-1_000_000, 1_000_000);
        let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        Some(Decimal::new(negative, &digits, power - fraction.len() as i64))
    }

    /// The number in a node.
    pub(super) fn from_node(node: &Node) -> Option<Self> {
        match node {
            Node::Int(value) => Decimal::parse(&value.to_string()),
            Node::Float(value) if value.is_finite() => {
                // The shortest digits, not the exact binary value: `0.1` in a file must equal `0.1` in the
                // schema.
                let (negative, digits, first) = number::shortest_digits(*value);
                Some(Decimal::new(negative, digits.as_bytes(), i64::from(first) - digits.len() as i64 + 1))
            }
            _ => None,
        }
    }

    fn new(negative: bool, digits: &[u8], mut exponent: i64) -> Self {
        let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        let mut digits = digits[leading..].to_vec();
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        let zero = digits.is_empty();
        Decimal { negative: negative && !zero, digits, exponent: if zero { 0 } else { exponent } }
    }

    /// The number of digits processed by [`is_multiple_of`](Self::is_multiple_of), for the work budget.
    pub(super) fn distance(&self, unit: &Decimal) -> u64 {
        self.digits.len() as u64 + self.exponent.abs_diff(unit.exponent)
    }

    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The number as an integer; `None` if it does not fit in 64 bits.
    pub(super) fn to_i64(&self) -> Option<i64> {
        let mut value: i64 = 0;
        for digit in
            self.digits.iter().copied().chain(std::iter::repeat_n(b'0', self.exponent.min(20) as usize))
        {
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        }
        Some(if self.negative { -value } else { value })
    }

    /// The nearest float, for messages.
    pub(super) fn to_f64(&self) -> f64 {
        let digits = std::str::from_utf8(&self.digits).unwrap_or_default();
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}0{digits}e{}", self.exponent).parse().unwrap_or(0.0)
    }

    /// Whether the number is a whole multiple of `unit`. Nothing is a multiple of zero.
    pub(super) fn is_multiple_of(&self, unit: &Decimal) -> bool {
        if unit.digits.is_empty() {
            return false;
        }
        if self.digits.is_empty() {
            return true;
        }
        let lowest = self.exponent.min(unit.exponent);
        let unit_zeros = unit.exponent - lowest;
        if unit.digits.len() as i64 + unit_zeros > self.digits.len() as i64 + self.exponent - lowest {
            return false;
        }
        // The unit has at most as many digits as the number here, which fits unless the schema is hostile.
        let zeros = std::iter::repeat_n(&b'0', unit_zeros as usize);
        let divisor = unit.digits.iter().chain(zeros).try_fold(0u128, |value, digit| {
            value.checked_mul(10)?.checked_add(u128::from(digit - b'0')).filter(|&value| value < 1 << 120)
        });
        let Some(divisor) = divisor else { return self.to_f64() % unit.to_f64() == 0.0 };
        let zeros = std::iter::repeat_n(&b'0', (self.exponent - lowest) as usize);
        self.digits
            .iter()
            .chain(zeros)
            .fold(0u128, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % divisor)
            == 0
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let magnitude = |number: &Decimal| number.digits.len() as i64 + number.exponent;
        sign(self).cmp(&sign(other)).then_with(|| {
            let larger = magnitude(self).cmp(&magnitude(other)).then_with(|| self.digits.cmp(&other.digits));
            if self.negative { larger.reverse() } else { larger }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

// Equal numbers have equal digits and exponents; the sign and exponent of zero are ignored.
impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digits.hash(state);
        if !self.digits.is_empty() {
            (self.negative, self.exponent).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_compare_by_value() {
        assert!(number("1.0") == number("1"));
        assert!(number("-2") < number("-1.5"));
        assert!(number("10") > number("9.99"));
        assert!(number("1e3") == number("1000"));
        assert!(number("0.0") == number("-0"));
        assert!(number("12345678901234567890") < number("12345678901234567891"));
    }

    #[test]
    fn multiples_are_exact() {
        assert!(number("0.3").is_multiple_of(&number("0.1")));
        assert!(number("1e300").is_multiple_of(&number("0.01")));
        assert!(!number("11").is_multiple_of(&number("2")));
        assert!(!number("1").is_multiple_of(&number("1e300")));
        assert!(number("0").is_multiple_of(&number("7")));
    }
}
