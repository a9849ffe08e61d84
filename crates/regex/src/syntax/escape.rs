//! Escapes that stand for one character: `\n`, `\x41`, `\x{1F600}`, `\012`, `\.`.

use super::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result};

/// Reads the escape at the cursor. Returns a number, because it may be a surrogate, which a `char` cannot hold.
pub(crate) fn character(cursor: &mut Cursor<'_>) -> Result<u32> {
    let start = cursor.at;
    cursor.at += 1;
    let Some(letter) = cursor.next()? else {
        return Err(Error::new(ErrorKind::TrailingBackslash, b""));
    };
    let code = match letter {
        '0' => Some(octal(cursor, 0)),
        // A single digit would be a back reference, which this kind of engine cannot have.
        '1'..='7' if matches!(cursor.peek(), Some(b'0'..=b'7')) => {
            Some(octal(cursor, u32::from(letter) - u32::from('0')))
        }
        'x' => hexadecimal(cursor)?,
        'a' => Some(0x07),
        'f' => Some(0x0c),
        'n' => Some(0x0a),
        'r' => Some(0x0d),
        't' => Some(0x09),
        'v' => Some(0x0b),
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Some(u32::from(letter)),
        _ => None,
    };
    code.ok_or_else(|| Error::new(ErrorKind::InvalidEscape, cursor.since(start)))
}

/// Up to two more octal digits.
fn octal(cursor: &mut Cursor<'_>, first: u32) -> u32 {
    let mut code = first;
    for _ in 0..2 {
        match cursor.peek() {
            Some(digit @ b'0'..=b'7') => code = code * 8 + u32::from(digit - b'0'),
            _ => break,
        }
        cursor.at += 1;
    }
    code
}

/// Two hexadecimal digits, or any number of them in braces.
fn hexadecimal(cursor: &mut Cursor<'_>) -> Result<Option<u32>> {
    let Some(first) = cursor.next()? else {
        return Ok(None);
    };
    if first != '{' {
        let second = cursor.next()?;
        let digits = first.to_digit(16).zip(second.and_then(|second| second.to_digit(16)));
        return Ok(digits.map(|(high, low)| high * 16 + low));
    }
    let mut code = None;
    loop {
        match cursor.next()? {
            Some('}') => return Ok(code),
            Some(character) => {
                let Some(digit) = character.to_digit(16) else {
                    return Ok(None);
                };
                let next = code.unwrap_or(0) * 16 + digit;
                if next > u32::from(char::MAX) {
                    return Ok(None);
                }
                code = Some(next);
            }
            None => return Ok(None),
        }
    }
}
