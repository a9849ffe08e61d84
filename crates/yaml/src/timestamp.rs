//! Which texts go-yaml resolves as timestamps, and therefore quotes.

/// Whether the text is a date, or a date and a time, in one of the forms go-yaml knows.
pub(crate) fn is_timestamp(text: &[u8]) -> bool {
    let year = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // go-yaml's quick check before it tries the layouts: exactly four digits and a dash.
    if year != 4 || text.get(4) != Some(&b'-') {
        return false;
    }
    let mut rest = Rest(text);
    match date(&mut rest) {
        None => false,
        Some(()) if rest.0.is_empty() => true,
        Some(()) => match rest.0[0] {
            b'T' | b't' => {
                rest.skip(1);
                time(&mut rest).and_then(|()| zone(&mut rest)).is_some() && rest.0.is_empty()
            }
            // go-yaml's third layout has blanks and no zone.
            b' ' => {
                let blanks = rest.0.iter().take_while(|&&byte| byte == b' ').count();
                rest.skip(blanks);
                time(&mut rest).is_some() && rest.0.is_empty()
            }
            _ => false,
        },
    }
}

/// The text that is still to be read.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn skip(&mut self, length: usize) {
        self.0 = &self.0[length..];
    }

    fn literal(&mut self, byte: u8) -> Option<()> {
        (self.0.first() == Some(&byte)).then(|| self.skip(1))
    }

    /// One or two digits.
    fn number(&mut self) -> Option<u32> {
        let digits = self.0.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let value = self.0[..digits].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        self.skip(digits);
        Some(value)
    }
}

fn date(rest: &mut Rest<'_>) -> Option<()> {
    let year = rest.0[..4].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    rest.skip(4);
    rest.literal(b'-')?;
    let month = rest.number()?;
    rest.literal(b'-')?;
    let day = rest.number()?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
}

/// Hours, minutes, seconds and perhaps a fraction.
fn time(rest: &mut Rest<'_>) -> Option<()> {
    for (last, end) in [(23, Some(b':')), (59, Some(b':')), (59, None)] {
        if rest.number()? > last {
            return None;
        }
        if let Some(end) = end {
            rest.literal(end)?;
        }
    }
    if let [b'.' | b',', fraction @ ..] = rest.0 {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            rest.skip(1 + digits);
        }
    }
    Some(())
}

/// `Z` or an offset such as `+01:00`.
fn zone(rest: &mut Rest<'_>) -> Option<()> {
    if rest.literal(b'Z').is_some() {
        return Some(());
    }
    let &[b'+' | b'-', a, b, b':', c, d, ..] = rest.0 else { return None };
    if ![a, b, c, d].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (hours, minutes) = ((a - b'0') * 10 + b - b'0', (c - b'0') * 10 + d - b'0');
    // Go allows the full day and the full hour here.
    if hours > 24 || minutes > 60 {
        return None;
    }
    rest.skip(6);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn dates_and_times_are_distinguished_from_other_text() {
        for text in [
            "2001-12-14",
            "2001-1-2",
            "2001-12-14T21:59:43Z",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14   21:59:43.10",
            "2000-02-29",
        ] {
            assert!(is_timestamp(text.as_bytes()), "{text}");
        }
        for text in [
            "2001-12-14 ",
            "2001-13-14",
            "1900-02-29",
            "2001-12-14 21:59:43.10 -5",
            "2001-12-14T21:59:43",
            "20011-1-1",
            "2001-1-1x",
            "2001-",
        ] {
            assert!(!is_timestamp(text.as_bytes()), "{text}");
        }
    }
}
