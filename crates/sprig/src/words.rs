//! Words in strings: abbreviating, wrapping, initials and capitalisation, byte by byte as goutils does.

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallResult, Function, Type};

use crate::text::{check_size, text};
use crate::unicode::{is_lower, is_title, is_upper, map_runes, to_lower, to_title, to_upper};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Int, Str};
    vec![
        Function::pure("abbrev", &[Int, Str], None, Str, abbrev),
        Function::pure("abbrevboth", &[Int, Int, Str], None, Str, abbrev_both),
        Function::pure("initials", &[Str], None, Str, initials),
        Function::pure("nospace", &[Str], None, Str, no_space),
        Function::pure("swapcase", &[Str], None, Str, swap_case),
        Function::pure("untitle", &[Str], None, Str, untitle),
        Function::pure("wrap", &[Int, Str], None, Str, |args| wrap("wrap", args.int(0), None, args.text(1))),
        Function::pure("wrapWith", &[Int, Str, Str], None, Str, |args| {
            wrap("wrapWith", args.int(0), Some(args.text(1)), args.text(2))
        }),
    ]
}

fn abbrev(args: Args<'_>) -> CallResult {
    let (width, whole) = (args.int(0), args.text(1));
    if width < 4 { text(whole) } else { text(abbreviate(whole, 0, width)) }
}

fn abbrev_both(args: Args<'_>) -> CallResult {
    let (left, right, whole) = (args.int(0), args.int(1), args.text(2));
    if right < 4 || (left > 0 && right < 7) {
        return text(whole);
    }
    text(abbreviate(whole, left, right))
}

/// Shortens `whole` to `width` bytes with dots at its end and, when it begins at `offset`, at its start.
fn abbreviate(whole: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = whole.len() as i64;
    if length <= width {
        return whole.to_vec();
    }
    // Here 4 <= width < length, so the differences below cannot underflow.
    let kept = width - 3;
    let offset = offset.min(length).min(length - kept);
    if offset <= 4 {
        return [&whole[..kept as usize], b"..."].concat();
    }
    // goutils has an error here, which sprig drops.
    if width < 7 {
        return Vec::new();
    }
    if offset + kept < length {
        let rest = abbreviate(&whole[offset as usize..], 0, kept);
        return [&b"..."[..], &rest].concat();
    }
    [b"...", &whole[(length - kept) as usize..]].concat()
}

/// A byte as the character of its number, which is how goutils reads text.
fn is_space(byte: u8) -> bool {
    char::from(byte).is_whitespace()
}

fn initials(args: Args<'_>) -> CallResult {
    let mut out = String::new();
    let mut after_gap = true;
    for &byte in args.text(0) {
        if is_space(byte) {
            after_gap = true;
        } else if std::mem::take(&mut after_gap) {
            out.push(char::from(byte));
        }
    }
    text(out)
}

fn no_space(args: Args<'_>) -> CallResult {
    let whole = args.text(0);
    if !whole.iter().any(|&byte| is_space(byte)) {
        return Ok(args.any(0).clone());
    }
    text(whole.iter().filter(|&&byte| !is_space(byte)).map(|&byte| char::from(byte)).collect::<String>())
}

fn swap_case(args: Args<'_>) -> CallResult {
    let mut after_space = true;
    text(map_runes(args.text(0), |rune| {
        if is_upper(rune) || is_title(rune) {
            after_space = false;
            to_lower(rune)
        } else if is_lower(rune) {
            if std::mem::take(&mut after_space) { to_title(rune) } else { to_upper(rune) }
        } else {
            after_space = rune.is_whitespace();
            rune
        }
    }))
}

fn untitle(args: Args<'_>) -> CallResult {
    let mut after_space = true;
    text(map_runes(args.text(0), |rune| {
        if rune.is_whitespace() {
            after_space = true;
            rune
        } else if std::mem::take(&mut after_space) {
            to_lower(rune)
        } else {
            rune
        }
    }))
}

/// Breaks lines at spaces after at most `width` bytes. With a custom separator, long words are broken too.
fn wrap(function: &str, width: i64, separator: Option<&[u8]>, whole: &[u8]) -> CallResult {
    let breaks_words = separator.is_some();
    let separator = separator.filter(|separator| !separator.is_empty()).unwrap_or(b"\n");
    let width = usize::try_from(width).unwrap_or(0).max(1);
    check_size(function, (whole.len() / width).saturating_mul(separator.len()).saturating_add(whole.len()))?;
    let mut out = Vec::with_capacity(whole.len());
    let mut rest = whole;
    while rest.len() > width {
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        let line_end = match rest[..=width].rfind_byte(b' ') {
            Some(blank) => Some((blank, blank + 1)),
            None if breaks_words => Some((width, width)),
            None => rest[width..].find_byte(b' ').map(|blank| (width + blank, width + blank + 1)),
        };
        let Some((end, next)) = line_end else { break };
        out.extend_from_slice(&rest[..end]);
        out.extend_from_slice(separator);
        rest = &rest[next..];
    }
    out.extend_from_slice(rest);
    text(out)
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::Value;

    use super::*;
    use crate::text::text_of;

    #[test]
    fn abbreviations_keep_their_width() {
        assert_eq!(abbreviate(b"hello world", 0, 5), b"he...");
        assert_eq!(abbreviate(b"1234 5678 9123", 5, 10), b"...5678...");
        assert_eq!(abbreviate(b"1234 5678 9123", 12, 10), b"...78 9123");
    }

    #[test]
    fn lines_break_at_blanks_and_long_words_only_with_a_separator() {
        let wrapped = |separator, whole: &str| {
            wrap("wrap", 5, separator, whole.as_bytes()).map(|value| text_of(&value).to_string()).unwrap()
        };
        assert_eq!(wrapped(None, "Hello there abcdefgh x"), "Hello\nthere\nabcdefgh\nx");
        assert_eq!(wrapped(Some(b"|"), "abcdefgh x"), "abcde|fgh x");
    }

    #[test]
    fn bytes_are_read_as_characters() {
        let result = no_space(Args(&[Value::str("a bé")])).map(|value| text_of(&value).to_string());
        assert_eq!(result.unwrap(), "abÃ©");
    }
}
