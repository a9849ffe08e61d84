//! Resource quantities such as `500m` and `1Gi`, with the canonical form that the server stores.

use pintle_tree::Node;

/// The server's error for everything that is not a quantity.
pub(crate) const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The notation of a quantity: it decides which suffix the canonical form has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// A quantity: an integer times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity {
    digits: i128,
    exponent: i32,
    format: Format,
}

impl Quantity {
    /// Parses a quantity. As the server does, it is capped at 10^18 and rounded up to multiples of 10^-9.
    pub(crate) fn parse(text: &str) -> Option<Quantity> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end =
            unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let (base, power, format) = parse_suffix(suffix)?;
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        // An i128 has 38 digits, and a binary suffix multiplies by up to 2^60.
        if significant.len() > 30 {
            return Some(Quantity {
                digits: if text.starts_with('-') { -1 } else { 1 },
                exponent: 18,
                format,
            });
        }
        let mut digits: i128 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
        let mut exponent = -i32::try_from(fraction.len()).ok()?;
        if base == 2 {
            digits = digits.checked_mul(1_i128 << power)?;
        } else {
            exponent = exponent.checked_add(power)?;
        }
        if text.starts_with('-') {
            digits = -digits;
        }
        Some(Quantity { digits, exponent, format }.rounded_up(-9))
    }

    /// Parses the quantity in a field.
    pub(crate) fn from_node(node: &Node) -> Option<Quantity> {
        match node {
            Node::Int(number) => Some(Quantity::from_int(*number)),
            other => Quantity::parse(other.as_str()?),
        }
    }

    /// Rounds away from zero to a multiple of 10^`least`.
    #[must_use]
    pub(crate) fn rounded_up(mut self, least: i32) -> Quantity {
        let mut lost = false;
        while self.exponent < least {
            lost |= self.digits % 10 != 0;
            self.digits /= 10;
            self.exponent += 1;
            if self.digits == 0 && self.exponent < least {
                self.exponent = least;
            }
        }
        if lost {
            self.digits += if self.digits < 0 { -1 } else { 1 };
        }
        self
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits == 0
    }

    pub(crate) fn from_int(number: i64) -> Quantity {
        Quantity { digits: number.into(), exponent: 0, format: Format::Decimal }
    }

    /// The sum, in the notation of the larger summand. Saturates: if it overflows, the left summand is returned.
    #[must_use]
    pub(crate) fn plus(&self, other: &Quantity) -> Quantity {
        let exponent = self.exponent.min(other.exponent);
        let digits = |quantity: &Quantity| {
            let factor = 10_i128.checked_pow((quantity.exponent - exponent).unsigned_abs())?;
            quantity.digits.checked_mul(factor)
        };
        let sum = digits(self).zip(digits(other)).and_then(|(one, two)| one.checked_add(two));
        // The sum of nothing and `1Gi` is `1Gi`, not `1073741824`.
        let format = if self.is_zero() { other.format } else { self.format };
        sum.map_or(*self, |digits| Quantity { digits, exponent, format })
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.digits < 0
    }

    /// Whether it is greater than `other`.
    pub(crate) fn exceeds(&self, other: &Quantity) -> bool {
        let scale = |quantity: &Quantity| {
            // All quantities are multiples of 10^-9, so that whole numbers of nanos can be compared.
            let factor = 10_i128.checked_pow((quantity.exponent + 9).clamp(0, 27).unsigned_abs());
            let most = if quantity.digits < 0 { i128::MIN } else { i128::MAX };
            factor.and_then(|factor| quantity.digits.checked_mul(factor)).unwrap_or(most)
        };
        scale(self) > scale(other)
    }

    /// The nearest float.
    pub(crate) fn as_float(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let digits = self.digits as f64;
        digits * 10_f64.powi(self.exponent)
    }

    /// The integer value, or `None` if it has a fraction.
    pub(crate) fn whole(&self) -> Option<i128> {
        if self.exponent >= 0 {
            return self.digits.checked_mul(10_i128.checked_pow(self.exponent.unsigned_abs())?);
        }
        let divisor = 10_i128.checked_pow(self.exponent.unsigned_abs())?;
        (self.digits % divisor == 0).then(|| self.digits / divisor)
    }

    /// The canonical form, which the server stores whatever was sent.
    pub(crate) fn canonical(&self) -> String {
        if self.format == Format::Binary
            && let Some(whole) = self.whole()
            // Below 1024 the binary notation has no suffix, and numbers are written in decimal notation.
            && whole.abs() >= 1024
        {
            const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            let (mut number, mut step) = (whole, 0);
            while step + 1 < SUFFIXES.len() && number % 1024 == 0 {
                number /= 1024;
                step += 1;
            }
            return format!("{number}{}", SUFFIXES[step]);
        }
        if self.digits == 0 {
            return "0".into();
        }
        let (mut number, mut exponent) = (self.digits, self.exponent);
        while number % 10 == 0 {
            number /= 10;
            exponent += 1;
        }
        while exponent.rem_euclid(3) != 0 {
            number *= 10;
            exponent -= 1;
        }
        let suffix = match (self.format, exponent) {
            (_, 0) => String::new(),
            (Format::Exponent, exponent) => format!("e{exponent}"),
            (_, exponent) => {
                const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
                let at = usize::try_from(exponent / 3 + 3).ok().and_then(|at| SUFFIXES.get(at));
                at.map_or_else(|| format!("e{exponent}"), |suffix| (*suffix).to_owned())
            }
        };
        format!("{number}{suffix}")
    }
}

/// Returns the base, the exponent and the notation of a suffix.
fn parse_suffix(suffix: &str) -> Option<(i32, i32, Format)> {
    let decimal = |power| Some((10, power, Format::Decimal));
    let binary = |power| Some((2, power, Format::Binary));
    match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let power = suffix.strip_prefix(['e', 'E'])?;
            let power: i32 = power.strip_prefix('+').unwrap_or(power).parse().ok()?;
            (-1000..=1000).contains(&power).then_some((10, power, Format::Exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_added() {
        let sum = |one: &str, two: &str| Quantity::parse(one).unwrap().plus(&Quantity::parse(two).unwrap());
        assert_eq!(sum("500m", "1").canonical(), "1500m");
        assert_eq!(sum("0", "1Gi").canonical(), "1Gi");
        assert_eq!(sum("1Gi", "1Gi").canonical(), "2Gi");
    }

    #[test]
    fn quantities_have_one_canonical_form() {
        let cases = [
            ("0.5", "500m"),
            ("2000", "2k"),
            ("1000m", "1"),
            ("1e3", "1e3"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1023Mi", "1023Mi"),
            ("0", "0"),
            ("0.0001", "100u"),
            ("100n", "100n"),
            ("1.1Gi", "1181116006400m"),
            ("1000k", "1M"),
            ("1Ki", "1Ki"),
            ("-1", "-1"),
            ("+5", "5"),
            ("1.0", "1"),
            ("010", "10"),
            ("1e-3", "1e-3"),
            ("0.5Mi", "512Ki"),
            ("1.50", "1500m"),
            ("1Ei", "1Ei"),
            ("512", "512"),
            ("0.1n", "1n"),
            ("1E", "1E"),
        ];
        for (text, wanted) in cases {
            assert_eq!(Quantity::parse(text).unwrap().canonical(), wanted, "{text}");
        }
        for text in ["", "abc", "1x", "1.2.3", "m", "1 Gi", "--1", "1ee3"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn resources_are_rounded_up_to_milli_units() {
        assert_eq!(Quantity::parse("100n").unwrap().rounded_up(-3).canonical(), "1m");
        assert!(Quantity::parse("1Gi").unwrap().exceeds(&Quantity::parse("1G").unwrap()));
    }

    #[test]
    fn absurd_quantities_do_not_overflow() {
        for text in [
            "9".repeat(400),
            format!("1e{}", "9".repeat(30)),
            "1e1000".into(),
            format!("0.{}1", "0".repeat(900)),
        ] {
            if let Some(quantity) = Quantity::parse(&text) {
                let _ = (quantity.canonical(), quantity.whole());
            }
        }
    }
}
