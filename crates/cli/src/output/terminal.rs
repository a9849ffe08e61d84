//! Escapes control characters in terminal output. Charts, release records, registries and servers provide text that we
//! print, and control sequences in it could move the cursor, hide output or make the terminal send input. So everything
//! that is written to a terminal goes through this module, which prints such characters in escaped form. Output to
//! files and pipes is not changed.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// The color sequences of this program. They are passed on wherever they come from, because colors do no harm.
const OWN_SEQUENCES: &[&[u8]] = &[
    b"\x1b[0m",
    b"\x1b[1m",
    b"\x1b[22m",
    b"\x1b[31m",
    b"\x1b[32m",
    b"\x1b[33m",
    b"\x1b[36m",
    b"\x1b[1;31m",
    b"\x1b[1;33m",
    b"\x1b[0;31m",
    b"\x1b[0;32m",
    b"\x1b[0;33m",
    b"\x1b[0;35m",
    b"\x1b[0;94m",
];

/// Escapes all control characters, including line breaks and colors.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|letter| letter.is_control() || is_unsafe(letter)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_control() || is_unsafe(letter) {
            out.push_str(&escape(letter));
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// C0 and C1 control characters, and those that change the text direction, which can disguise file names.
fn is_unsafe(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

fn escape(letter: char) -> String {
    match u32::from(letter) {
        code @ 0..0x80 => format!("\\x{code:02x}"),
        code => format!("\\u{{{code:x}}}"),
    }
}

/// A writer that escapes control characters if the stream is a terminal.
pub(crate) struct SanitizedWriter<W> {
    stream: W,
    terminal: bool,
    /// An incomplete character or color sequence at the end of the last write.
    pending: Vec<u8>,
}

impl<W: Write + IsTerminal> SanitizedWriter<W> {
    /// Wraps one of the standard streams.
    pub(crate) fn new(stream: W) -> SanitizedWriter<W> {
        let terminal = stream.is_terminal();
        SanitizedWriter { stream, terminal, pending: Vec::new() }
    }
}

impl<W: Write> Write for SanitizedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.stream.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(self.pending.len());
        let rest = convert(&self.pending, false, &mut out);
        self.pending.drain(..rest);
        self.stream.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        convert(&std::mem::take(&mut self.pending), true, &mut out);
        self.stream.write_all(&out)?;
        self.stream.flush()
    }
}

/// Escapes bytes into `out` and returns how many were consumed. Unless this is the `last` chunk, an incomplete
/// character or sequence at the end is left for the next one.
fn convert(bytes: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')).count();
        if plain > 0 {
            out.extend_from_slice(&rest[..plain]);
            at += plain;
            continue;
        }
        if let Some(own) = OWN_SEQUENCES.iter().find(|own| rest.starts_with(own)) {
            out.extend_from_slice(own);
            at += own.len();
            continue;
        }
        // A Windows line break is harmless.
        if rest.starts_with(b"\r\n") {
            out.extend_from_slice(b"\r\n");
            at += 2;
            continue;
        }
        let unfinished = OWN_SEQUENCES.iter().any(|own| own.starts_with(rest)) || rest == b"\r";
        match character(rest) {
            _ if unfinished && !last => return at,
            Character::Unfinished if !last => return at,
            Character::Whole(letter) => {
                let length = letter.len_utf8();
                if is_unsafe(letter) {
                    out.extend_from_slice(escape(letter).as_bytes());
                } else {
                    out.extend_from_slice(&rest[..length]);
                }
                at += length;
            }
            Character::None | Character::Unfinished => {
                out.extend_from_slice(format!("\\x{:02x}", rest[0]).as_bytes());
                at += 1;
            }
        }
    }
    at
}

enum Character {
    Whole(char),
    /// Incomplete; more bytes may follow.
    Unfinished,
    /// Not UTF-8.
    None,
}

/// The first character of some bytes.
fn character(bytes: &[u8]) -> Character {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => {
            return Character::Unfinished;
        }
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map_or(Character::None, Character::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_terminal(chunks: &[&[u8]]) -> String {
        let mut stream = SanitizedWriter { stream: Vec::new(), terminal: true, pending: Vec::new() };
        for chunk in chunks {
            stream.write_all(chunk).unwrap();
        }
        stream.flush().unwrap();
        String::from_utf8(stream.stream).unwrap()
    }

    #[test]
    fn control_characters_are_escaped_on_a_terminal() {
        for (text, wanted) in [
            ("plain \u{e9}\u{1f980}\ttext\r\n", "plain \u{e9}\u{1f980}\ttext\r\n"),
            ("up \u{1b}[2A and gone\u{1b}[J", "up \\x1b[2A and gone\\x1b[J"),
            ("title \u{1b}]0;x\u{7}", "title \\x1b]0;x\\x07"),
            ("hidden \u{1b}[8m", "hidden \\x1b[8m"),
            ("over\rwritten\u{8}\u{7f}", "over\\x0dwritten\\x08\\x7f"),
            ("C1 \u{9b}2A\u{85}", "C1 \\u{9b}2A\\u{85}"),
            ("evil\u{202e}txt.exe\u{2066}", "evil\\u{202e}txt.exe\\u{2066}"),
            ("end \u{1b}", "end \\x1b"),
        ] {
            assert_eq!(on_a_terminal(&[text.as_bytes()]), wanted);
            // The result is the same wherever the text is split.
            for at in 0..text.len() {
                assert_eq!(on_a_terminal(&[&text.as_bytes()[..at], &text.as_bytes()[at..]]), wanted, "{at}");
            }
        }
        assert_eq!(on_a_terminal(&[b"raw \x9b2A \xff"]), "raw \\x9b2A \\xff");
    }

    #[test]
    fn our_own_colors_are_kept() {
        let text = "\u{1b}[1;31merror:\u{1b}[0m no";
        assert_eq!(on_a_terminal(&[text.as_bytes()]), text);
        assert_eq!(on_a_terminal(&[&text.as_bytes()[..4], &text.as_bytes()[4..]]), text);
    }

    #[test]
    fn files_and_pipes_get_every_byte() {
        let mut stream = SanitizedWriter { stream: Vec::new(), terminal: false, pending: Vec::new() };
        stream.write_all(b"\x1b[2J\xff\r").unwrap();
        assert_eq!(stream.stream, b"\x1b[2J\xff\r");
    }

    #[test]
    fn sanitized_text_is_one_line() {
        assert_eq!(sanitize("a\nb\u{1b}[1m\u{202e}"), "a\\x0ab\\x1b[1m\\u{202e}");
        assert!(matches!(sanitize("Deployment/shop/web"), Cow::Borrowed(_)));
    }
}
