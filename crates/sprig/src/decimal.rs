//! Arbitrary-precision decimals, as shopspring/decimal computes them, so that 0.1 + 0.2 is 0.3.

use std::cmp::Ordering;

use pintle_tree::number;

/// The base of the digits.
const BASE: u64 = 1_000_000_000;

/// The decimal digits in one digit of [`BASE`].
const WIDTH: usize = 9;

/// The digits after the point that a quotient has: `DivisionPrecision` of shopspring/decimal.
const PRECISION: i64 = 16;

/// A natural number, lowest digit first, without zeros at the top.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    /// Reads decimal digits.
    fn from_digits(digits: &str) -> Natural {
        let read = |chunk: &[u8]| chunk.iter().fold(0, |value, &digit| value * 10 + u32::from(digit - b'0'));
        Natural(digits.as_bytes().rchunks(WIDTH).map(read).collect()).trimmed()
    }

    fn trimmed(mut self) -> Natural {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn compare(&self, other: &Natural) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn plus(&self, other: &Natural) -> Natural {
        let length = self.0.len().max(other.0.len());
        let mut digits = Vec::with_capacity(length + 1);
        let mut carry = 0;
        for index in 0..length {
            let digit = |number: &Natural| u64::from(number.0.get(index).copied().unwrap_or(0));
            let sum = digit(self) + digit(other) + carry;
            digits.push((sum % BASE) as u32);
            carry = sum / BASE;
        }
        digits.push(carry as u32);
        Natural(digits).trimmed()
    }

    /// The difference to a number that is not larger.
    fn minus(&self, other: &Natural) -> Natural {
        let mut digits = Vec::with_capacity(self.0.len());
        let mut borrow = 0;
        for (index, &digit) in self.0.iter().enumerate() {
            let taken = u64::from(other.0.get(index).copied().unwrap_or(0)) + borrow;
            let digit = u64::from(digit);
            borrow = u64::from(digit < taken);
            digits.push((digit + borrow * BASE - taken) as u32);
        }
        Natural(digits).trimmed()
    }

    fn times(&self, other: &Natural) -> Natural {
        let mut digits = vec![0u32; self.0.len() + other.0.len() + 1];
        for (index, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (offset, &b) in other.0.iter().chain([&0]).enumerate() {
                let digit = &mut digits[index + offset];
                let product = u64::from(a) * u64::from(b) + u64::from(*digit) + carry;
                *digit = (product % BASE) as u32;
                carry = product / BASE;
            }
        }
        Natural(digits).trimmed()
    }

    /// The number times ten to the power of `exponent`.
    fn shifted(&self, exponent: u64) -> Natural {
        let (whole, part) = (exponent as usize / WIDTH, exponent as usize % WIDTH);
        let mut digits = vec![0; whole];
        digits.extend_from_slice(&self.0);
        Natural(digits).times(&Natural(vec![10u32.pow(part as u32)])).trimmed()
    }

    /// Quotient and remainder by a non-zero number. Each digit of the quotient is found by bisection, which is slow
    /// but simple; the numbers here have at most a few hundred digits.
    fn divided(&self, divisor: &Natural) -> (Natural, Natural) {
        let mut quotient = vec![0; self.0.len()];
        let mut remainder = Natural(Vec::new());
        for (index, &digit) in self.0.iter().enumerate().rev() {
            remainder.0.insert(0, digit);
            remainder = remainder.trimmed();
            let (mut low, mut high) = (0, BASE as u32);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if divisor.times(&Natural(vec![middle])).compare(&remainder).is_le() {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            quotient[index] = low;
            remainder = remainder.minus(&divisor.times(&Natural(vec![low]).trimmed()));
        }
        (Natural(quotient).trimmed(), remainder)
    }

    fn digits(&self) -> String {
        let mut text = String::with_capacity(self.0.len() * WIDTH);
        for digit in self.0.iter().rev() {
            text.push_str(&format!("{digit:09}"));
        }
        text
    }
}

/// A decimal number: an integer times a power of ten.
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    negative: bool,
    value: Natural,
    exponent: i64,
}

impl Decimal {
    /// The number with the shortest digits that read back as `value`; NaN and the infinities have none.
    pub(crate) fn from_float(value: f64) -> Result<Decimal, String> {
        if !value.is_finite() {
            return Err(format!("Cannot create a Decimal from {}", number::format_value(value)));
        }
        let (negative, digits, exponent) = number::shortest_digits(value);
        if value == 0.0 {
            return Ok(Decimal { negative: false, value: Natural(Vec::new()), exponent: 0 });
        }
        let exponent = i64::from(exponent) + 1 - digits.len() as i64;
        Ok(Decimal { negative, value: Natural::from_digits(&digits), exponent })
    }

    /// How long the number is, in digits of the base.
    pub(crate) fn digits(&self) -> usize {
        self.value.0.len()
    }

    /// The nearest float.
    pub(crate) fn to_float(&self) -> f64 {
        if self.value.is_zero() {
            return 0.0;
        }
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}e{}", self.value.digits(), self.exponent);
        text.parse().expect("digits with an exponent are a float")
    }

    /// The sum.
    pub(crate) fn plus(&self, other: &Decimal) -> Decimal {
        let exponent = self.exponent.min(other.exponent);
        let a = self.value.shifted(self.exponent.abs_diff(exponent));
        let b = other.value.shifted(other.exponent.abs_diff(exponent));
        let (negative, value) = match (self.negative == other.negative, a.compare(&b)) {
            (true, _) => (self.negative, a.plus(&b)),
            (false, Ordering::Less) => (other.negative, b.minus(&a)),
            (false, _) => (self.negative, a.minus(&b)),
        };
        Decimal { negative, value, exponent }
    }

    /// The difference.
    pub(crate) fn minus(&self, other: &Decimal) -> Decimal {
        self.plus(&Decimal { negative: !other.negative, ..other.clone() })
    }

    /// The product.
    pub(crate) fn times(&self, other: &Decimal) -> Decimal {
        Decimal {
            negative: self.negative != other.negative,
            value: self.value.times(&other.value),
            exponent: self.exponent + other.exponent,
        }
    }

    /// The quotient, rounded to sixteen digits after the point, halves away from zero.
    pub(crate) fn divided(&self, divisor: &Decimal) -> Result<Decimal, String> {
        if divisor.value.is_zero() {
            return Err("decimal division by 0".to_owned());
        }
        let scale = self.exponent - divisor.exponent + PRECISION;
        let (dividend, divisor_value) = if scale < 0 {
            (self.value.clone(), divisor.value.shifted(scale.unsigned_abs()))
        } else {
            (self.value.shifted(scale.unsigned_abs()), divisor.value.clone())
        };
        let (mut value, remainder) = dividend.divided(&divisor_value);
        // Halves away from zero, by comparing twice the remainder instead of computing another digit.
        if remainder.plus(&remainder).compare(&divisor_value).is_ge() {
            value = value.plus(&Natural(vec![1]));
        }
        Ok(Decimal { negative: self.negative != divisor.negative, value, exponent: -PRECISION })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: f64) -> Decimal {
        Decimal::from_float(value).unwrap()
    }

    #[test]
    fn sums_are_exact() {
        assert_eq!(decimal(0.1).plus(&decimal(0.2)).to_float(), 0.3);
        assert_eq!(decimal(1.5).minus(&decimal(4.25)).to_float(), -2.75);
        assert_eq!(decimal(1e308).plus(&decimal(-1e-308)).minus(&decimal(1e308)).to_float(), -1e-308);
    }

    #[test]
    fn products_and_quotients_are_exact_to_sixteen_digits() {
        assert_eq!(decimal(1.1).times(&decimal(1.1)).to_float(), 1.21);
        assert_eq!(decimal(1e300).times(&decimal(1e300)).to_float(), f64::INFINITY);
        assert_eq!(decimal(2.0).divided(&decimal(3.0)).unwrap().to_float(), 0.6666666666666667);
        assert_eq!(decimal(-1.0).divided(&decimal(1e20)).unwrap().to_float(), 0.0);
        assert_eq!(decimal(123456789012.5).divided(&decimal(0.0625)).unwrap().to_float(), 1975308624200.0);
        assert!(decimal(1.0).divided(&decimal(0.0)).is_err());
        assert!(Decimal::from_float(f64::NAN).is_err());
    }
}
