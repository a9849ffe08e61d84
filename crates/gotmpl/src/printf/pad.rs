//! Flags, width and precision: how printf lays out text, integers and characters.

use pintle_tree::quote;

/// The flags of one verb.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    /// `%#v`: values in Go syntax.
    pub(super) go_syntax: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// How an integer is written.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    pub(super) bits: u64,
    pub(super) signed: bool,
    pub(super) base: u32,
    pub(super) upper: bool,
    /// `%O`: a `0o` before the digits.
    pub(super) octal_prefix: bool,
}

/// Counts characters as Go counts runes: every invalid byte is one.
pub(super) fn rune_count(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// The first `count` runes.
fn first_runes(text: &[u8], count: usize) -> &[u8] {
    let mut left = count;
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            if left == 0 {
                return &text[..at];
            }
            left -= 1;
            at += character.len_utf8();
        }
        let invalid = chunk.invalid().len();
        if left < invalid {
            return &text[..at + left];
        }
        left -= invalid;
        at += invalid;
    }
    text
}

impl Spec {
    pub(super) fn push_padding(&self, count: usize, out: &mut Vec<u8>) {
        // Zeros on the right would change a number, so `-` wins over `0`.
        let byte = if self.zero && !self.minus { b'0' } else { b' ' };
        out.extend(std::iter::repeat_n(byte, count));
    }

    /// Appends text, padded to the width.
    pub(super) fn pad(&self, text: &[u8], out: &mut Vec<u8>) {
        let padding = match self.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(rune_count(text)),
        };
        if !self.minus {
            self.push_padding(padding, out);
        }
        out.extend_from_slice(text);
        if self.minus {
            self.push_padding(padding, out);
        }
    }

    /// Pads with blanks even if the `0` flag is set.
    fn pad_with_blanks(mut self, text: &[u8], out: &mut Vec<u8>) {
        self.zero = false;
        self.pad(text, out);
    }

    fn truncate<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.precision {
            // Precision counts runes; comparing it with the bytes first only avoids counting in short texts.
            Some(precision) if precision < text.len() => first_runes(text, precision),
            _ => text,
        }
    }

    /// `%s`.
    pub(super) fn push_text(&self, text: &[u8], out: &mut Vec<u8>) {
        self.pad(self.truncate(text), out);
    }

    /// `%q` of a string.
    pub(super) fn push_quoted(&self, text: &[u8], out: &mut Vec<u8>) {
        let text = self.truncate(text);
        if self.sharp && can_backquote(text) {
            self.pad(&[b"`", text, b"`"].concat(), out);
        } else if self.plus {
            self.pad(quote::quote_ascii(text).as_bytes(), out);
        } else {
            self.pad(quote::quote(text).as_bytes(), out);
        }
    }

    /// `%x` and `%X` of bytes.
    pub(super) fn push_hexadecimal(&self, bytes: &[u8], upper: bool, out: &mut Vec<u8>) {
        let length = self.precision.map_or(bytes.len(), |precision| precision.min(bytes.len()));
        let wanted = self.width.unwrap_or(0);
        if length == 0 {
            self.push_padding(wanted, out);
            return;
        }
        let width = match (self.space, self.sharp) {
            (true, true) => 5 * length - 1,
            (true, false) => 3 * length - 1,
            (false, true) => 2 * length + 2,
            (false, false) => 2 * length,
        };
        let padding = wanted.saturating_sub(width);
        if !self.minus {
            self.push_padding(padding, out);
        }
        let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        for (index, byte) in bytes[..length].iter().enumerate() {
            if self.space && index > 0 {
                out.push(b' ');
            }
            if self.sharp && (index == 0 || self.space) {
                out.extend_from_slice(if upper { b"0X" } else { b"0x" });
            }
            out.push(digits[usize::from(byte >> 4)]);
            out.push(digits[usize::from(byte & 15)]);
        }
        if self.minus {
            self.push_padding(padding, out);
        }
    }

    /// Integers in any base.
    pub(super) fn push_integer(&self, integer: Integer, out: &mut Vec<u8>) {
        let negative = integer.signed && (integer.bits as i64) < 0;
        let magnitude = if negative { integer.bits.wrapping_neg() } else { integer.bits };
        let mut least = 0;
        if let Some(precision) = self.precision {
            least = precision;
            if precision == 0 && magnitude == 0 {
                // `%.0d` of zero is nothing but padding, and Go pads it with blanks whatever the flags say.
                out.extend(std::iter::repeat_n(b' ', self.width.unwrap_or(0)));
                return;
            }
        } else if self.zero
            && !self.minus
            && let Some(width) = self.width
        {
            least = width.saturating_sub(usize::from(negative || self.plus || self.space));
        }
        let digits = digits(magnitude, integer.base, integer.upper);
        let mut text = Vec::with_capacity(least.max(digits.len()) + 3);
        if negative {
            text.push(b'-');
        } else if self.plus {
            text.push(b'+');
        } else if self.space {
            text.push(b' ');
        }
        if integer.octal_prefix {
            text.extend_from_slice(b"0o");
        }
        let zeros = least.saturating_sub(digits.len());
        if self.sharp {
            let leading_zero = zeros > 0 || digits.first() == Some(&b'0');
            match integer.base {
                2 => text.extend_from_slice(b"0b"),
                8 if !leading_zero => text.push(b'0'),
                16 => text.extend_from_slice(if integer.upper { b"0X" } else { b"0x" }),
                _ => {}
            }
        }
        text.extend(std::iter::repeat_n(b'0', zeros));
        text.extend_from_slice(&digits);
        self.pad_with_blanks(&text, out);
    }

    /// `%c`.
    pub(super) fn push_character(&self, code: u64, out: &mut Vec<u8>) {
        self.pad(character(code).encode_utf8(&mut [0; 4]).as_bytes(), out);
    }

    /// `%q` of an integer.
    pub(super) fn push_quoted_character(&self, code: u64, out: &mut Vec<u8>) {
        let mut text = String::from("'");
        quote::push_escaped(character(code), '\'', self.plus, &mut text);
        text.push('\'');
        self.pad(text.as_bytes(), out);
    }

    /// `%U`.
    pub(super) fn push_code_point(&self, code: u64, out: &mut Vec<u8>) {
        let digits = digits(code, 16, true);
        let least = self.precision.map_or(4, |precision| precision.max(4));
        let mut text = b"U+".to_vec();
        text.extend(std::iter::repeat_n(b'0', least.saturating_sub(digits.len())));
        text.extend_from_slice(&digits);
        let shown = u32::try_from(code).ok().and_then(char::from_u32).filter(|shown| quote::is_print(*shown));
        if let (true, Some(shown)) = (self.sharp, shown) {
            text.extend_from_slice(format!(" '{shown}'").as_bytes());
        }
        self.pad_with_blanks(&text, out);
    }

    /// A float that `strconv` has formatted with `verb`.
    pub(super) fn push_float(&self, text: &[u8], verb: u8, precision: Option<usize>, out: &mut Vec<u8>) {
        let (mut sign, digits) = match text.split_first() {
            Some((sign @ (b'+' | b'-'), digits)) => (*sign, digits),
            _ => (b'+', text),
        };
        if self.space && sign == b'+' && !self.plus {
            sign = b' ';
        }
        let signed = [&[sign], digits].concat();
        match digits.first() {
            // Infinities and NaN are never padded with zeros.
            Some(b'I') => return self.pad_with_blanks(&signed, out),
            Some(b'N') => {
                let shown = if self.space || self.plus { &signed } else { digits };
                return self.pad_with_blanks(shown, out);
            }
            _ => {}
        }
        let digits =
            if self.sharp && verb != b'b' { with_point(digits, verb, precision) } else { digits.to_vec() };
        if !self.plus && sign == b'+' {
            self.pad(&digits, out);
            return;
        }
        let length = digits.len() + 1;
        match self.width {
            Some(width) if self.zero && !self.minus && width > length => {
                out.push(sign);
                self.push_padding(width - length, out);
                out.extend_from_slice(&digits);
            }
            _ => self.pad(&[&[sign], &digits[..]].concat(), out),
        }
    }
}

/// The character of a code, or U+FFFD.
fn character(code: u64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn digits(mut magnitude: u64, base: u32, upper: bool) -> Vec<u8> {
    if base == 10 {
        return itoa::Buffer::new().format(magnitude).as_bytes().to_vec();
    }
    let mut reversed = Vec::with_capacity(64);
    loop {
        let digit = char::from_digit((magnitude % u64::from(base)) as u32, base).unwrap_or('0') as u8;
        reversed.push(if upper { digit.to_ascii_uppercase() } else { digit });
        magnitude /= u64::from(base);
        if magnitude == 0 {
            break;
        }
    }
    reversed.reverse();
    reversed
}

/// The `#` flag: always a decimal point, and the trailing zeros that `%g` drops.
fn with_point(digits: &[u8], verb: u8, precision: Option<usize>) -> Vec<u8> {
    let exponent_at = digits.iter().position(|byte| match byte {
        b'p' | b'P' => true,
        b'e' | b'E' => !matches!(verb, b'x' | b'X'),
        _ => false,
    });
    let (number, tail) = digits.split_at(exponent_at.unwrap_or(digits.len()));
    let mut missing = match verb {
        // Go's list has `x` but not `X`.
        b'g' | b'G' | b'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let mut out = number.to_vec();
    let significant = number.iter().filter(|byte| **byte != b'.').skip_while(|byte| **byte == b'0').count();
    missing = missing.saturating_sub(significant);
    if !number.contains(&b'.') {
        if number == b"0" {
            missing = missing.saturating_sub(1);
        }
        out.push(b'.');
    }
    out.extend(std::iter::repeat_n(b'0', missing));
    out.extend_from_slice(tail);
    out
}

/// Go's `strconv.CanBackquote`: valid text without control characters (but tabs), backquotes and byte order marks.
fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars().all(|character| match character {
            '\t' => true,
            '`' | '\u{7f}' | '\u{feff}' => false,
            _ => character >= ' ',
        })
    })
}
