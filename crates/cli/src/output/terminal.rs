//! What reaches a terminal. Charts, records, registries and servers are other people's text, and a terminal takes some of
//! it for commands: to move the cursor, to hide what was said, to answer in the user's place. So everything that is written
//! to a terminal goes through here, where such characters are shown instead of obeyed. What goes into a file or a pipe is
//! left alone.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// The sequences that this program itself colours with. In the text of others they do no more than colour.
const OWN: &[&[u8]] = &[
    b"\x1b[0m",
    b"\x1b[1m",
    b"\x1b[22m",
    b"\x1b[31m",
    b"\x1b[32m",
    b"\x1b[33m",
    b"\x1b[36m",
    b"\x1b[1;31m",
    b"\x1b[1;33m",
];

/// Text in which no character commands a terminal, without colours and of one line.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|letter| letter.is_control() || is_command(letter)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_control() || is_command(letter) {
            out.push_str(&spelled(letter));
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// Controls of both ranges, and characters that turn the direction of what follows.
fn is_command(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

fn spelled(letter: char) -> String {
    match u32::from(letter) {
        code @ 0..0x80 => format!("\\x{code:02x}"),
        code => format!("\\u{{{code:x}}}"),
    }
}

/// A stream that shows commands instead of passing them on, if a terminal is at its end.
pub(crate) struct Shown<W> {
    stream: W,
    terminal: bool,
    /// The beginning of a character or of a sequence of ours, whose end may still come.
    held: Vec<u8>,
}

impl<W: Write + IsTerminal> Shown<W> {
    /// Over one of the streams of the process.
    pub(crate) fn new(stream: W) -> Shown<W> {
        let terminal = stream.is_terminal();
        Shown { stream, terminal, held: Vec::new() }
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return self.stream.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(self.held.len());
        let rest = convert(&self.held, false, &mut out);
        self.held.drain(..rest);
        self.stream.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        convert(&std::mem::take(&mut self.held), true, &mut out);
        self.stream.write_all(&out)?;
        self.stream.flush()
    }
}

/// Converts bytes, up to what may still be the beginning of something unless they are the `last`. Gives how many it took.
fn convert(bytes: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')).count();
        if plain > 0 {
            out.extend_from_slice(&rest[..plain]);
            at += plain;
            continue;
        }
        if let Some(own) = OWN.iter().find(|own| rest.starts_with(own)) {
            out.extend_from_slice(own);
            at += own.len();
            continue;
        }
        // A line break of another system is none to be afraid of.
        if rest.starts_with(b"\r\n") {
            out.extend_from_slice(b"\r\n");
            at += 2;
            continue;
        }
        let unfinished = OWN.iter().any(|own| own.starts_with(rest)) || rest == b"\r";
        match character(rest) {
            _ if unfinished && !last => return at,
            Character::Unfinished if !last => return at,
            Character::Whole(letter) => {
                let length = letter.len_utf8();
                if is_command(letter) {
                    out.extend_from_slice(spelled(letter).as_bytes());
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
    /// It may become one.
    Unfinished,
    /// These bytes are no text.
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

    fn on_a_terminal(pieces: &[&[u8]]) -> String {
        let mut stream = Shown { stream: Vec::new(), terminal: true, held: Vec::new() };
        for piece in pieces {
            stream.write_all(piece).unwrap();
        }
        stream.flush().unwrap();
        String::from_utf8(stream.stream).unwrap()
    }

    #[test]
    fn what_would_command_a_terminal_is_shown() {
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
            // The same wherever it is cut.
            for at in 0..text.len() {
                assert_eq!(on_a_terminal(&[&text.as_bytes()[..at], &text.as_bytes()[at..]]), wanted, "{at}");
            }
        }
        assert_eq!(on_a_terminal(&[b"raw \x9b2A \xff"]), "raw \\x9b2A \\xff");
    }

    #[test]
    fn colours_of_ours_are_kept() {
        let text = "\u{1b}[1;31merror:\u{1b}[0m no";
        assert_eq!(on_a_terminal(&[text.as_bytes()]), text);
        assert_eq!(on_a_terminal(&[&text.as_bytes()[..4], &text.as_bytes()[4..]]), text);
    }

    #[test]
    fn files_and_pipes_get_every_byte() {
        let mut stream = Shown { stream: Vec::new(), terminal: false, held: Vec::new() };
        stream.write_all(b"\x1b[2J\xff\r").unwrap();
        assert_eq!(stream.stream, b"\x1b[2J\xff\r");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(shown("a\nb\u{1b}[1m\u{202e}"), "a\\x0ab\\x1b[1m\\u{202e}");
        assert!(matches!(shown("Deployment/shop/web"), Cow::Borrowed(_)));
    }
}
