//! Percent escapes in the parts of a URL.

use pintle_tree::quote;

/// The part of a URL that decides which characters need an escape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

/// Whether `byte` needs no escape in `part`.
fn is_plain(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    let plain: &[u8] = match part {
        Part::Path => b"$&+,/:;=@",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::User => b"$&+,;=",
        Part::Fragment => b"!$&()*+,/:;=?@",
    };
    plain.contains(&byte)
}

/// Percent-encodes the bytes that are not plain in `part`.
pub(super) fn escaped(plain: &[u8], part: Part) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(plain.len());
    for &byte in plain {
        if is_plain(byte, part) {
            out.push(byte);
        } else {
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    out
}

/// Decodes percent escapes.
pub(super) fn unescaped(source: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(source.len());
    let mut at = 0;
    while at < source.len() {
        let byte = source[at];
        if byte != b'%' {
            if in_host && byte < 0x80 && !is_plain(byte, part) {
                return Err(format!("invalid character {} in host name", quote::quote(&[byte])));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let escape = &source[at..source.len().min(at + 3)];
        let invalid = || format!("invalid URL escape {}", quote::quote(escape));
        let value = byte_of(escape).ok_or_else(invalid)?;
        // In a host only bytes beyond ASCII may be escaped, and the percent sign of a zone.
        let allowed = match part {
            _ if escape == b"%25" => true,
            Part::Host => value >= 0x80,
            Part::Zone => value == b' ' || is_plain(value, Part::Host),
            _ => true,
        };
        if !allowed {
            return Err(invalid());
        }
        out.push(value);
        at += 3;
    }
    Ok(out)
}

fn byte_of(escape: &[u8]) -> Option<u8> {
    let [_, high, low] = escape else { return None };
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}
