//! Camel, snake and kebab case, with the word boundaries of xstrings.

use pintle_gotmpl::{Function, Type};
use pintle_tree::unicode::is_letter;

use crate::text::text;
use crate::unicode::{
    REPLACEMENT, first_rune, is_number, is_punctuation, is_upper, runes, to_lower, to_upper,
};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::Str;
    vec![
        Function::pure("camelcase", &[Str], None, Str, |args| text(pascal(args.text(0)))),
        Function::pure("snakecase", &[Str], None, Str, |args| text(connected(args.text(0), '_'))),
        Function::pure("kebabcase", &[Str], None, Str, |args| text(connected(args.text(0), '-'))),
    ]
}

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || rune.is_whitespace()
}

/// Whether `rune` is a letter of a script with words: CJK characters are words by themselves.
fn is_alphabet(rune: char) -> bool {
    is_letter(rune)
        // The ranges are those of xstrings, which end before the blocks do.
        && !matches!(rune, '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}')
}

/// Joins words separated by connectors in camel case. Of a run of connectors all but the last are kept, and so are
/// those at the ends; words in capitals are capitalised.
fn pascal(whole: &[u8]) -> String {
    let mut out = String::with_capacity(whole.len());
    let mut rest = runes(whole);
    let mut previous = loop {
        match rest.next() {
            Some(rune) if is_connector(rune) => out.push(rune),
            Some(rune) => break rune,
            // As in xstrings, the last connector is written twice, once by itself and once as the end of the text.
            None => {
                let last = out.chars().next_back();
                out.extend(last);
                return out;
            }
        }
    };
    let mut in_capitals = is_upper(previous);
    previous = to_upper(previous);
    for rune in rest {
        match (is_connector(previous), is_connector(rune)) {
            (true, true) => {
                out.push(previous);
                previous = rune;
            }
            (true, false) => {
                in_capitals = is_upper(rune);
                previous = to_upper(rune);
            }
            (false, _) => {
                out.push(previous);
                // Only a word that has been all capitals so far is lowered: `FOO` becomes `Foo`, `fooBAR`
                // keeps its tail.
                in_capitals = in_capitals && is_upper(rune);
                previous = if in_capitals { to_lower(rune) } else { rune };
            }
        }
    }
    out.push(previous);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

impl Word {
    /// Whether a connector precedes such a word when it follows another one.
    fn wants_connector(self) -> bool {
        !matches!(self, Word::Connector | Word::Punctuation)
    }

    fn of(rune: char) -> Word {
        match rune {
            _ if is_connector(rune) => Word::Connector,
            _ if is_punctuation(rune) => Word::Punctuation,
            _ if is_upper(rune) => Word::Upper,
            _ if is_alphabet(rune) => Word::Alphabet,
            _ if is_number(rune) => Word::Number,
            _ => Word::Other,
        }
    }

    /// Whether `rune` continues a word of this kind.
    fn goes_on(self, rune: char) -> bool {
        match self {
            Word::Connector => is_connector(rune),
            Word::Punctuation => is_punctuation(rune),
            Word::Number => is_number(rune),
            Word::Upper => is_upper(rune),
            Word::Alphabet => is_alphabet(rune) && !is_upper(rune),
            Word::Other | Word::Invalid => {
                !(is_connector(rune) || is_alphabet(rune) || is_number(rune) || is_punctuation(rune))
            }
        }
    }
}

/// The text split into words.
struct Words<'t> {
    rest: &'t [u8],
    kind: Word,
    word: &'t [u8],
}

impl<'t> Words<'t> {
    fn new(whole: &'t [u8]) -> Self {
        let mut words = Words { rest: whole, kind: Word::Invalid, word: b"" };
        words.advance();
        words
    }

    /// Moves to the next word; after the last it is empty and [`Word::Invalid`].
    fn advance(&mut self) {
        let length = match self.rest {
            [] => {
                self.kind = Word::Invalid;
                0
            }
            rest => {
                let (first, width) = valid_rune(rest, REPLACEMENT);
                self.kind = if first == REPLACEMENT { Word::Invalid } else { Word::of(first) };
                match self.kind {
                    Word::Invalid => width,
                    Word::Upper => upper_word(rest, width, first),
                    kind => run(kind, rest, width, first).0,
                }
            }
        };
        (self.word, self.rest) = self.rest.split_at(length);
    }

    /// Writes the word in lower case.
    fn push(&self, connector: char, out: &mut Vec<u8>) {
        push_word(self.kind, self.word, connector, out);
    }

    /// Writes adjacent letters and numbers.
    fn push_run(&mut self, connector: char, out: &mut Vec<u8>) {
        while matches!(self.kind, Word::Alphabet | Word::Number) {
            self.push(connector, out);
            self.advance();
        }
    }
}

/// The next valid rune of the same width as those before it, or `previous` if there is none.
fn valid_rune(text: &[u8], previous: char) -> (char, usize) {
    let mut skipped = 0;
    while skipped < text.len() {
        let (rune, width) = first_rune(&text[skipped..]);
        skipped += width;
        if rune != REPLACEMENT {
            return (rune, skipped);
        }
    }
    (previous, skipped)
}

/// Extends a word of `length` bytes while runes continue it: its length, the width of its last rune, and the rune
/// that ended it.
fn run(kind: Word, text: &[u8], mut length: usize, mut rune: char) -> (usize, usize, char) {
    let mut last_width = 0;
    while length < text.len() {
        let width;
        (rune, width) = valid_rune(&text[length..], rune);
        if !kind.goes_on(rune) {
            break;
        }
        last_width = width;
        length += width;
    }
    (length, last_width, rune)
}

/// The length of a word that starts with a capital: `Word`, or `WORD` without the capital of the next word.
fn upper_word(text: &[u8], length: usize, first: char) -> usize {
    if length == text.len() {
        return length;
    }
    let (second, width) = valid_rune(&text[length..], first);
    if is_upper(second) {
        let (end, last_width, next) = run(Word::Upper, text, length, first);
        if end < text.len() && is_alphabet(next) { end - last_width } else { end }
    } else if is_alphabet(second) {
        run(Word::Alphabet, text, length + width, second).0
    } else {
        length
    }
}

fn push_rune(rune: char, out: &mut Vec<u8>) {
    out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_word(kind: Word, word: &[u8], connector: char, out: &mut Vec<u8>) {
    if !matches!(kind, Word::Upper | Word::Connector) {
        out.extend_from_slice(word);
        return;
    }
    for rune in runes(word) {
        push_rune(if is_connector(rune) { connector } else { to_lower_if_upper(rune) }, out);
    }
}

fn to_lower_if_upper(rune: char) -> char {
    if is_upper(rune) { to_lower(rune) } else { rune }
}

/// Lower-case words joined by `connector`. A number belongs to the word before it, unless lower-case letters follow.
fn connected(whole: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(whole.len() + 8);
    let mut words = Words::new(whole);
    // The last word is written after the loop: nothing follows it, so no connector is due.
    while !words.rest.is_empty() {
        let (kind, word) = (words.kind, words.word);
        if kind != Word::Connector {
            words.push(connector, &mut out);
        }
        words.advance();
        match kind {
            Word::Connector => push_word(kind, word, connector, &mut out),
            Word::Punctuation => {}
            Word::Number => {
                words.push_run(connector, &mut out);
                if words.kind != Word::Invalid && words.kind.wants_connector() {
                    push_rune(connector, &mut out);
                }
            }
            _ => after_letters(&mut words, connector, &mut out),
        }
    }
    words.push(connector, &mut out);
    out
}

/// Decides what goes between the letters written so far and the current word.
fn after_letters(words: &mut Words<'_>, connector: char, out: &mut Vec<u8>) {
    if words.kind != Word::Number {
        if words.kind.wants_connector() {
            push_rune(connector, out);
        }
        return;
    }
    if words.rest.is_empty() {
        return;
    }
    let number = words.word;
    words.advance();
    if words.kind != Word::Alphabet {
        out.extend_from_slice(number);
        if words.kind.wants_connector() {
            push_rune(connector, out);
        }
        return;
    }
    push_rune(connector, out);
    out.extend_from_slice(number);
    words.push_run(connector, out);
    if words.kind != Word::Invalid && words.kind.wants_connector() {
        push_rune(connector, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined_with_capitals() {
        for (whole, result) in [
            ("some_words", "SomeWords"),
            ("_complex__case_", "_Complex_Case_"),
            ("GOLANG_IS_GREAT", "GolangIsGreat"),
            ("HTTPServer", "Httpserver"),
            ("", ""),
        ] {
            assert_eq!(pascal(whole.as_bytes()), result, "{whole}");
        }
    }

    #[test]
    fn words_are_parted_by_connectors() {
        for (whole, result) in [
            ("FirstName", "first_name"),
            ("HTTPServer", "http_server"),
            ("GO PATH", "go_path"),
            ("http2xx", "http_2xx"),
            ("HTTP20xOK", "http_20x_ok"),
            ("Duration2m3s", "duration_2m3s"),
            ("Bld4Floor3rd", "bld4_floor_3rd"),
        ] {
            assert_eq!(String::from_utf8(connected(whole.as_bytes(), '_')).unwrap(), result, "{whole}");
        }
    }
}
