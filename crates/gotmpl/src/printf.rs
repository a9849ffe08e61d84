//! Go's `fmt.Sprintf`: parses the format string; the verbs are in the submodules.
//! Mistakes in the format are not errors in Go but text in the output (`%!d(string=x)`), which charts then
//! carry into manifests; every one of them is reproduced.

mod float;
mod pad;
mod verbs;

use verbs::Printer;

use crate::print::{MAX_BYTES, TRUNCATED};
use crate::value::Value;

/// The largest width or precision that Go accepts.
const MAX_NUMBER: i64 = 1_000_000;

/// Formats `values` by `format`.
pub(crate) fn format(format: &[u8], values: &[Value]) -> Vec<u8> {
    let mut reader = Reader {
        format,
        at: 0,
        values,
        next: 0,
        reordered: false,
        index_is_good: true,
        after_index: false,
        last_close: None,
    };
    let mut printer = Printer::new(Vec::with_capacity(format.len() + 16 * values.len()));
    reader.run(&mut printer);
    reader.extra(&mut printer);
    printer.out
}

/// The position in a format string and among its operands.
struct Reader<'a> {
    format: &'a [u8],
    at: usize,
    values: &'a [Value],
    next: usize,
    /// An operand was chosen by `[n]`, so unused ones are not an error.
    reordered: bool,
    index_is_good: bool,
    after_index: bool,
    /// The offset of the last `]`, computed on first use, so that many `[` do not each scan the whole format.
    last_close: Option<Option<usize>>,
}

impl Reader<'_> {
    fn run(&mut self, printer: &mut Printer) {
        while self.at < self.format.len() {
            if printer.out.len() >= MAX_BYTES {
                printer.out.extend_from_slice(TRUNCATED);
                break;
            }
            self.index_is_good = true;
            let rest = &self.format[self.at..];
            let plain = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            printer.out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            if self.at >= self.format.len() {
                break;
            }
            self.at += 1;
            self.directive(printer);
        }
    }

    fn byte(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn directive(&mut self, printer: &mut Printer) {
        if self.plain_directive(printer) {
            return;
        }
        printer.spec = pad::Spec::default();
        self.flags(printer);
        self.index();
        self.width(printer);
        self.precision(printer);
        if !self.after_index {
            self.index();
        }
        let Some(verb) = self.verb() else {
            printer.out.extend_from_slice(b"%!(NOVERB)");
            return;
        };
        match verb {
            '%' => printer.out.push(b'%'),
            _ if !self.index_is_good => complain(printer, verb, "(BADINDEX)"),
            _ if self.next >= self.values.len() => complain(printer, verb, "(MISSING)"),
            _ => {
                if matches!(verb, 'v' | 'w') {
                    // For `%v` the flags `#` and `+` select a style of the whole value (Go's `sharpV` and
                    // `plusV`); left set, they would also change how numbers inside of it are printed.
                    printer.spec.go_syntax = printer.spec.sharp;
                    printer.spec.sharp = false;
                    printer.spec.plus = false;
                }
                printer.operand(&self.values[self.next], verb);
                self.next += 1;
            }
        }
    }

    /// `%s`, `%d` and `%v` without flags, by far the most common, when the operand prints the same way under `%v`.
    fn plain_directive(&mut self, printer: &mut Printer) -> bool {
        let (Some(verb), Some(value)) = (self.byte(), self.values.get(self.next)) else {
            return false;
        };
        let plain = match value {
            Value::Str(_) => matches!(verb, b's' | b'v'),
            Value::Int(..) => matches!(verb, b'd' | b'v'),
            Value::Float(_) | Value::Bool(_) => verb == b'v',
            _ => false,
        };
        if plain {
            crate::print::push_value(value, &mut printer.out);
            self.at += 1;
            self.next += 1;
        }
        plain
    }

    fn flags(&mut self, printer: &mut Printer) {
        while let Some(byte) = self.byte() {
            match byte {
                b'#' => printer.spec.sharp = true,
                b'0' => printer.spec.zero = true,
                b'+' => printer.spec.plus = true,
                b'-' => printer.spec.minus = true,
                b' ' => printer.spec.space = true,
                _ => break,
            }
            self.at += 1;
        }
    }

    fn width(&mut self, printer: &mut Printer) {
        if self.byte() == Some(b'*') {
            self.at += 1;
            match self.number_from_operand() {
                None => printer.out.extend_from_slice(b"%!(BADWIDTH)"),
                Some(width) => {
                    printer.spec.width = Some(width.unsigned_abs() as usize);
                    // A negative width from an operand means left-justified, and zeros never pad on the
                    // right.
                    if width < 0 {
                        printer.spec.minus = true;
                        printer.spec.zero = false;
                    }
                }
            }
            self.after_index = false;
        } else {
            printer.spec.width = self.number();
            if self.after_index && printer.spec.width.is_some() {
                self.index_is_good = false;
            }
        }
    }

    fn precision(&mut self, printer: &mut Printer) {
        // Go requires something after the dot (`i+1 < end`); in a format that ends in `%.` the dot is the
        // verb.
        if self.byte() != Some(b'.') || self.at + 1 >= self.format.len() {
            return;
        }
        self.at += 1;
        if self.after_index {
            self.index_is_good = false;
        }
        self.index();
        if self.byte() == Some(b'*') {
            self.at += 1;
            printer.spec.precision =
                self.number_from_operand().and_then(|number| usize::try_from(number).ok());
            if printer.spec.precision.is_none() {
                printer.out.extend_from_slice(b"%!(BADPREC)");
            }
            self.after_index = false;
        } else {
            // `%.f` means precision zero.
            printer.spec.precision = Some(self.number().unwrap_or(0));
        }
    }

    /// A decimal number in the format. As in Go, one that is too large consumes the rest of the format.
    fn number(&mut self) -> Option<usize> {
        let (number, end) = decimal(self.format, self.at, self.format.len());
        self.at = end;
        number
    }

    fn number_from_operand(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        match value {
            Value::Int(kind, number) if !(kind.is_unsigned() && *number < 0) => {
                Some(*number).filter(|number| (-MAX_NUMBER..=MAX_NUMBER).contains(number))
            }
            _ => None,
        }
    }

    /// An operand chosen by `[n]`.
    fn index(&mut self) {
        self.after_index = false;
        if self.byte() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let format = self.format;
        let last = *self.last_close.get_or_insert_with(|| format.iter().rposition(|byte| *byte == b']'));
        let close =
            last.filter(|last| *last > self.at).and_then(|_| rest.iter().position(|byte| *byte == b']'));
        let Some(close) = close.filter(|_| rest.len() >= 3) else {
            self.at += 1;
            self.index_is_good = false;
            return;
        };
        let (number, end) = decimal(rest, 1, close);
        self.at += close + 1;
        match number.filter(|_| end == close) {
            Some(number) => {
                self.after_index = true;
                if (1..=self.values.len()).contains(&number) {
                    self.next = number - 1;
                } else {
                    self.index_is_good = false;
                }
            }
            None => self.index_is_good = false,
        }
    }

    fn verb(&mut self) -> Option<char> {
        let rest = self.format.get(self.at..)?;
        // No character is longer; scanning the whole rest for every verb would be quadratic.
        let chunk = rest[..rest.len().min(4)].utf8_chunks().next()?;
        match chunk.valid().chars().next() {
            Some(verb) => {
                self.at += verb.len_utf8();
                Some(verb)
            }
            None => {
                self.at += 1;
                Some(char::REPLACEMENT_CHARACTER)
            }
        }
    }

    fn extra(&mut self, printer: &mut Printer) {
        if self.reordered || self.next >= self.values.len() {
            return;
        }
        printer.spec = pad::Spec::default();
        printer.out.extend_from_slice(b"%!(EXTRA ");
        for (index, value) in self.values[self.next..].iter().enumerate() {
            if index > 0 {
                printer.out.extend_from_slice(b", ");
            }
            if value.is_nil() {
                printer.out.extend_from_slice(b"<nil>");
            } else {
                printer.out.extend_from_slice(value.type_name().as_bytes());
                printer.out.push(b'=');
                printer.operand(value, 'v');
            }
        }
        printer.out.push(b')');
    }
}

fn complain(printer: &mut Printer, verb: char, what: &str) {
    printer.out.extend_from_slice(b"%!");
    printer.push_char(verb);
    printer.out.extend_from_slice(what.as_bytes());
}

/// The decimal number at `start` and its end; a number that is too large is invalid and ends the format.
fn decimal(text: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    let mut number = None;
    let mut at = start;
    while at < end && text[at].is_ascii_digit() {
        let so_far = number.unwrap_or(0);
        if so_far > MAX_NUMBER as usize {
            return (None, end);
        }
        number = Some(so_far * 10 + usize::from(text[at] - b'0'));
        at += 1;
    }
    (number, at.min(end))
}

#[cfg(test)]
mod tests {
    use pintle_tree::Map;

    use super::*;
    use crate::value::IntKind;

    fn sprintf(pattern: &str, values: &[Value]) -> String {
        String::from_utf8(format(pattern.as_bytes(), values)).unwrap()
    }

    #[test]
    fn verbs_flags_and_widths_agree_with_go() {
        let list = Value::list(vec![Value::str("a"), Value::int(1), Value::Nil]);
        let map =
            Value::map(Map::from_entries(vec![("k".into(), Value::Float(1.5)), ("n".into(), Value::Nil)]));
        for (pattern, value, text) in [
            ("%d", Value::Float(1e6), "%!d(float64=1e+06)"),
            ("%s", Value::Nil, "%!s(<nil>)"),
            ("%5d|", Value::int(-42), "  -42|"),
            ("%-5d|", Value::int(42), "42   |"),
            ("%05d", Value::int(-42), "-0042"),
            ("%+.3d", Value::int(7), "+007"),
            ("%#x", Value::int(255), "0xff"),
            ("%#o", Value::int(8), "010"),
            ("%O", Value::int(8), "0o10"),
            ("%U", Value::int(0x1f600), "U+1F600"),
            ("%#U", Value::int(0x41), "U+0041 'A'"),
            ("%c", Value::int(0x4e16), "世"),
            ("%q", Value::int(10), "'\\n'"),
            ("%x", Value::str("hi"), "6869"),
            ("% X", Value::str("hi"), "68 69"),
            ("%.2s|", Value::str("héllo"), "hé|"),
            ("%6.2f|", Value::Float(2.71428), "  2.71|"),
            ("%+08.2f", Value::Float(2.71428), "+0002.71"),
            ("%e", Value::Float(123456.789), "1.234568e+05"),
            ("%#g", Value::Float(1.0), "1.00000"),
            ("%v", list.clone(), "[a 1 <nil>]"),
            ("%s", list.clone(), "[a %!s(int=1) <nil>]"),
            ("%#v", list.clone(), "[]interface {}{\"a\", 1, interface {}(nil)}"),
            ("%#v", map.clone(), "map[string]interface {}{\"k\":1.5, \"n\":interface {}(nil)}"),
            ("%d", map, "map[%!d(string=k):%!d(float64=1.5) %!d(string=n):<nil>]"),
            ("%T", list, "[]interface {}"),
            ("%t", Value::str("x"), "%!t(string=x)"),
            ("%#v", Value::Bytes("hi".into()), "[]byte{0x68, 0x69}"),
            ("%#v", Value::Int(IntKind::Uint8, 9), "0x9"),
            ("%6.1f|", Value::Complex(Box::new((1.0, 2.0))), "(   1.0  +2.0i)|"),
            ("%+q", Value::str("é"), "\"\\u00e9\""),
            ("%#q", Value::str("a\"b"), "`a\"b`"),
            ("%8q|", Value::str("a"), "     \"a\"|"),
            ("%08v", Value::str("ab"), "000000ab"),
            ("%!", Value::Nil, "%!!(<nil>)"),
        ] {
            assert_eq!(sprintf(pattern, std::slice::from_ref(&value)), text, "{pattern} of {value:?}");
        }
    }

    #[test]
    fn mistakes_in_the_format_are_reported_as_in_go() {
        let one = Value::int(1);
        assert_eq!(sprintf("%d %d", std::slice::from_ref(&one)), "1 %!d(MISSING)");
        assert_eq!(sprintf("x", &[one.clone(), Value::Nil]), "x%!(EXTRA int=1, <nil>)");
        assert_eq!(sprintf("%[3]d", std::slice::from_ref(&one)), "%!d(BADINDEX)");
        assert_eq!(sprintf("%*d", &[Value::str("x"), one.clone()]), "%!(BADWIDTH)1");
        assert_eq!(sprintf("%.*d", &[Value::int(-1), one.clone()]), "%!(BADPREC)1");
        assert_eq!(sprintf("%", &[]), "%!(NOVERB)");
        assert_eq!(sprintf("%[2]d %[1]d", &[one.clone(), Value::int(2)]), "2 1");
        assert_eq!(sprintf("%-*d|", &[Value::int(4), one.clone()]), "1   |");
        assert_eq!(sprintf("%200000000d", &[one]), "%!(NOVERB)%!(EXTRA int=1)");
    }
}
