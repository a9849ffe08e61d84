//! Go's `%q` spelling of a text, as error messages need it.

use std::fmt::Write;

/// Returns `text` in double quotes with Go's escapes.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        push_escaped(&mut quoted, character);
    }
    quoted.push('"');
    quoted
}

fn push_escaped(quoted: &mut String, character: char) {
    let short = match character {
        '"' | '\\' => character,
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        _ if is_printable(character) => return quoted.push(character),
        _ => {
            let code = u32::from(character);
            // Writing into a String cannot fail.
            let _ = match code {
                0..0x20 | 0x7f => write!(quoted, "\\x{code:02x}"),
                0..0x1_0000 => write!(quoted, "\\u{code:04x}"),
                _ => write!(quoted, "\\U{code:08x}"),
            };
            return;
        }
    };
    quoted.push('\\');
    quoted.push(short);
}

/// Returns whether Go prints the character as it is.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // `str::escape_debug` knows the printable characters; the leading letter keeps it from escaping
    // combining marks, which Go prints.
    let mut pair = String::with_capacity(5);
    pair.push('a');
    pair.push(character);
    pair.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quoting_follows_go() {
        assert_eq!(quote("a\"b\\\n\u{1}"), r#""a\"b\\\n\x01""#);
        assert_eq!(quote("é世\u{301}\u{a0}"), "\"é世\u{301}\\u00a0\"");
        assert_eq!(quote("\u{e0001}"), r#""\U000e0001""#);
    }
}
