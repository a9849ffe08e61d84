//! Go's string quoting.

/// Go's `%q`, `strconv.Quote`: double quotes, Go escapes, unprintable characters and invalid bytes escaped.
pub fn quote(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_with(text, false, &mut out);
    out
}

/// Go's `%+q`, `strconv.QuoteToASCII`: as [`quote`], with everything beyond ASCII escaped.
pub fn quote_ascii(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_with(text, true, &mut out);
    out
}

fn quote_with(text: &[u8], ascii_only: bool, out: &mut String) {
    out.push('"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_escaped(character, '"', ascii_only, out);
        }
        for byte in chunk.invalid() {
            push_hexadecimal("\\x", u32::from(*byte), 2, out);
        }
    }
    out.push('"');
}

/// Writes one character as Go escapes it between `delimiter`s.
pub fn push_escaped(character: char, delimiter: char, ascii_only: bool, out: &mut String) {
    match character {
        '\\' => out.push_str("\\\\"),
        _ if character == delimiter => {
            out.push('\\');
            out.push(character);
        }
        ' '..='~' => out.push(character),
        '\u{07}' => out.push_str("\\a"),
        '\u{08}' => out.push_str("\\b"),
        '\u{0c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{0b}' => out.push_str("\\v"),
        _ if !ascii_only && is_print(character) => out.push(character),
        '\0'..='\u{7f}' => push_hexadecimal("\\x", character.into(), 2, out),
        '\u{80}'..='\u{ffff}' => push_hexadecimal("\\u", character.into(), 4, out),
        _ => push_hexadecimal("\\U", character.into(), 8, out),
    }
}

fn push_hexadecimal(prefix: &str, value: u32, width: usize, out: &mut String) {
    use std::fmt::Write as _;
    write!(out, "{prefix}{value:0width$x}").expect("writing to a String cannot fail");
}

/// Whether `character` is printable in Go (`strconv.IsPrint`): letters, marks, numbers, punctuation, symbols and the
/// ASCII space.
pub fn is_print(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // The no-break space and the soft hyphen are not printable in Go.
        '\0'..='\u{a0}' | '\u{ad}' => false,
        // Rust's Debug escapes what Unicode has unassigned, control, format, private or separator, as Go does. It also
        // escapes combining marks at the start of a text, which Go prints; hence the letter before the character.
        _ => {
            let mut buffer = [b'a'; 5];
            let length = 1 + character.encode_utf8(&mut buffer[1..]).len();
            std::str::from_utf8(&buffer[..length]).is_ok_and(|text| text.escape_debug().count() == 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_escapes_as_go_does() {
        assert_eq!(quote(b"a\"b\\\n\t\x00\x7f\xff"), r#""a\"b\\\n\t\x00\x7f\xff""#);
        assert_eq!(
            quote("é世😀\u{a0}\u{ad}\u{200b}\u{feff}".as_bytes()),
            "\"é世😀\\u00a0\\u00ad\\u200b\\ufeff\""
        );
        // Combining marks, also without a letter before them.
        assert_eq!(quote("e\u{301}\u{9bc}".as_bytes()), "\"e\u{301}\u{9bc}\"");
        assert_eq!(quote("\u{1a7f}".as_bytes()), "\"\u{1a7f}\"");
        assert_eq!(quote_ascii("é😀".as_bytes()), r#""\u00e9\U0001f600""#);
    }
}
