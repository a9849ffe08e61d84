//! Escaping for HTML, JavaScript and URLs, as the builtins of Go's templates do it.

use std::borrow::Cow;

use pintle_tree::quote;

use crate::print;
use crate::value::Value;

/// The text of the arguments: a single string as is, anything else printed.
pub(crate) fn text_of(arguments: &[Value]) -> Cow<'_, [u8]> {
    if let [Value::Str(text)] = arguments {
        return Cow::Borrowed(text.as_bytes());
    }
    // Go's `evalArgs` prints a nil interface as `<no value>`, like an action does, although `%v` of it is
    // `<nil>`.
    if arguments.iter().any(Value::is_nil) {
        let shown = |value: &Value| if value.is_nil() { Value::from("<no value>") } else { value.clone() };
        let shown: Vec<Value> = arguments.iter().map(shown).collect();
        return Cow::Owned(print::sprint(&shown));
    }
    Cow::Owned(print::sprint(arguments))
}

/// `html`.
pub(crate) fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for &byte in text {
        match byte {
            // HTML has no NUL; `template.HTMLEscape` replaces it.
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    out
}

/// `js`.
pub(crate) fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_js(character, &mut out);
        }
        // Go decodes each invalid byte as U+FFFD, which counts as printable, and keeps the byte.
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn push_js(character: char, out: &mut Vec<u8>) {
    let escaped = match character {
        '\\' => "\\\\",
        '\'' => "\\'",
        '"' => "\\\"",
        '<' => "\\u003C",
        '>' => "\\u003E",
        '&' => "\\u0026",
        '=' => "\\u003D",
        ' '..='\u{7f}' => return out.push(character as u8),
        _ if character >= '\u{80}' && quote::is_print(character) => {
            return out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        _ => return out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes()),
    };
    out.extend_from_slice(escaped.as_bytes());
}

/// `urlquery`: Go's `url.QueryEscape`.
pub(crate) fn url_query(text: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(text.len() + 16);
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => {
                out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(html(b"<a href=\"x\">'&'</a>"), b"&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;&lt;/a&gt;");
        assert_eq!(
            js("<'=\n\u{7f}é\u{2028}".as_bytes()),
            "\\u003C\\'\\u003D\\u000A\u{7f}é\\u2028".as_bytes()
        );
        assert_eq!(url_query("a b&ü".as_bytes()), b"a+b%26%C3%BC");
        assert_eq!(html(&text_of(&[Value::Nil])), b"&lt;no value&gt;");
    }
}
