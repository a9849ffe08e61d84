//! Name characters: fast for ASCII, by Go's rules beyond.

use pintle_tree::unicode::{is_digit, is_letter};

use crate::printf;
use crate::value::Value;

/// The ASCII bytes of names.
pub(super) static NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// The first character of a text and its length; an invalid byte is U+FFFD.
pub(crate) fn first_char(text: &[u8]) -> Option<(char, usize)> {
    let byte = *text.first()?;
    if byte.is_ascii() {
        return Some((char::from(byte), 1));
    }
    // A window of four bytes, the longest character: validating the whole rest for each character would be
    // quadratic.
    let chunk = text[..text.len().min(4)].utf8_chunks().next()?;
    let character = chunk.valid().chars().next();
    Some(character.map_or((char::REPLACEMENT_CHARACTER, 1), |character| (character, character.len_utf8())))
}

/// A character as Go's `%#U` shows it.
pub(crate) fn code_point(character: char) -> String {
    let text = printf::format(b"%#U", &[Value::int(i64::from(u32::from(character)))]);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether a character may be part of a name: letters, digits and the underscore.
pub(crate) fn is_alphanumeric(character: char) -> bool {
    character == '_' || is_letter(character) || is_digit(character)
}
