//! The lexer of TOML.
//!
//! It follows the lexer of BurntSushi's library step by step, because templates see its error texts through
//! `fromToml`.

use pintle_tree::quote;
use pintle_tree::unicode::is_letter;

use super::key::is_bare;
use crate::unicode::{REPLACEMENT, first_rune};

/// A parse error and its line.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) line: i64,
    pub(super) message: String,
}

/// A value, or the beginning of one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'t> {
    /// A string without escapes.
    Text(&'t [u8]),
    /// A string with escapes.
    Escaped(&'t [u8]),
    /// A string in three double quotes.
    Long(&'t [u8]),
    /// A string in three single quotes.
    LongText(&'t [u8]),
    Bool(bool),
    Integer(&'t str),
    Float(&'t str),
    Moment(&'t str),
    Array,
    Table,
}

/// A position in a text.
pub(super) struct Scanner<'t> {
    input: &'t [u8],
    at: usize,
    line: i64,
}

type Result<T> = std::result::Result<T, ParseError>;

impl<'t> Scanner<'t> {
    pub(super) fn new(input: &'t [u8]) -> Self {
        Scanner { input, at: 0, line: 1 }
    }

    pub(super) fn line(&self) -> i64 {
        self.line
    }

    /// An error at the current line.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, message: message.into() }
    }

    /// An error at the previous line, for a newline or the end that was already consumed.
    fn error_before(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line - 1, message: message.into() }
    }

    /// An error about `found`. The end of the text belongs to the line that it ends.
    pub(super) fn error_at(&self, found: Option<char>, message: impl Into<String>) -> ParseError {
        let after_newline = found.is_none() && self.at > 0 && self.input[self.at - 1] == b'\n';
        ParseError { line: self.line - i64::from(after_newline), message: message.into() }
    }

    /// The current character and its width, if TOML allows it.
    fn look(&self) -> Result<Option<(char, usize)>> {
        let Some(rest) = self.input.get(self.at..).filter(|rest| !rest.is_empty()) else {
            return Ok(None);
        };
        let (rune, width) = first_rune(rest);
        if rune == REPLACEMENT && width == 1 {
            return Err(self.error(format!("invalid UTF-8 byte: 0x{:02x}", rest[0])));
        }
        let forbidden = match rune {
            '\t' | '\n' => false,
            '\r' => rest.get(1) != Some(&b'\n'),
            _ => rune.is_ascii_control(),
        };
        if forbidden {
            let code = u32::from(rune);
            return Err(self.error(format!("TOML files cannot contain control characters: '0x{code:02x}'")));
        }
        Ok(Some((rune, width)))
    }

    /// The current character.
    pub(super) fn peek(&self) -> Result<Option<char>> {
        Ok(self.look()?.map(|(rune, _)| rune))
    }

    /// Consumes a character.
    pub(super) fn next(&mut self) -> Result<Option<char>> {
        let Some((rune, width)) = self.look()? else { return Ok(None) };
        self.at += width;
        self.line += i64::from(rune == '\n');
        Ok(Some(rune))
    }

    /// Consumes the current character if it is `wanted`.
    pub(super) fn accept(&mut self, wanted: char) -> Result<bool> {
        let found = self.peek()? == Some(wanted);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Consumes characters as long as they are `wanted`.
    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> Result<()> {
        while self.peek()?.is_some_and(&wanted) {
            self.next()?;
        }
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) -> Result<()> {
        self.skip(|rune| rune == ' ' || rune == '\t')
    }

    /// Consumes blanks, newlines and comments.
    pub(super) fn skip_lines(&mut self) -> Result<()> {
        loop {
            self.skip(|rune| matches!(rune, ' ' | '\t' | '\n' | '\r'))?;
            if !self.accept('#')? {
                return Ok(());
            }
            self.skip_comment()?;
        }
    }

    /// Consumes a comment after its `#`.
    pub(super) fn skip_comment(&mut self) -> Result<()> {
        self.skip(|rune| rune != '\n' && rune != '\r')
    }

    /// Consumes one part of a key; a bare one may be empty.
    pub(super) fn key_part(&mut self) -> Result<Token<'t>> {
        if self.accept('"')? {
            return self.string();
        }
        if self.accept('\'')? {
            return self.raw_string();
        }
        let start = self.at;
        self.skip(|rune| u8::try_from(rune).is_ok_and(is_bare))?;
        Ok(Token::Text(&self.input[start..self.at]))
    }

    /// Consumes a value, or the bracket that begins one.
    pub(super) fn value(&mut self) -> Result<Token<'t>> {
        self.skip_blanks()?;
        let start = self.at;
        let Some(first) = self.peek()? else {
            return Err(self.error_at(None, "unexpected EOF; expected value"));
        };
        if first.is_ascii_digit() {
            return self.number_or_moment();
        }
        self.next()?;
        match first {
            '[' => return Ok(Token::Array),
            '{' => return Ok(Token::Table),
            '"' => return if self.accept_two('"')? { self.long_string() } else { self.string() },
            '\'' => return if self.accept_two('\'')? { self.long_raw_string() } else { self.raw_string() },
            '.' => return Err(self.error("floats must start with a digit, not '.'")),
            '-' | '+' => return self.signed_number(start),
            'i' | 'n' if self.infinity_or_nan()? => return Ok(Token::Float(self.ascii_from(start))),
            '\n' => return Err(self.error_before("expected value but found '\\n' instead")),
            _ => {}
        }
        if !is_letter(first) {
            return Err(self.error(format!("expected value but found {} instead", quoted(Some(first)))));
        }
        // One character back: after a half-read word such as `in` this is not its beginning.
        self.at -= if self.at == start + first.len_utf8() { first.len_utf8() } else { 1 };
        self.word()
    }

    /// Consumes the rest of `inf` or `nan`, as far as it is there.
    fn infinity_or_nan(&mut self) -> Result<bool> {
        Ok((self.accept('n')? && self.accept('f')?) || (self.accept('a')? && self.accept('n')?))
    }

    fn word(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        self.skip(is_letter)?;
        match &self.input[start..self.at] {
            b"true" => Ok(Token::Bool(true)),
            b"false" => Ok(Token::Bool(false)),
            other => Err(self.error(format!("expected value but found {} instead", quote::quote(other)))),
        }
    }

    /// Consumes two more quotes, if both are there.
    fn accept_two(&mut self, mark: char) -> Result<bool> {
        if !self.accept(mark)? {
            return Ok(false);
        }
        let both = self.accept(mark)?;
        if !both {
            self.at -= 1;
        }
        Ok(both)
    }

    /// Consumes a string after its double quote.
    fn string(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.next()? {
                None => return Err(self.error_at(None, "unexpected EOF; expected '\"'")),
                Some('\n' | '\r') => return Err(self.error_before("strings cannot contain newlines")),
                Some('\\') => {
                    escaped = true;
                    self.escape(start)?;
                }
                Some('"') => {
                    let text = &self.input[start..self.at - 1];
                    return Ok(if escaped { Token::Escaped(text) } else { Token::Text(text) });
                }
                Some(_) => {}
            }
        }
    }

    /// Consumes a string after its single quote.
    fn raw_string(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        loop {
            match self.next()? {
                None => return Err(self.error_at(None, "unexpected EOF; expected \"'\"")),
                Some('\n' | '\r') => return Err(self.error_before("strings cannot contain newlines")),
                Some('\'') => return Ok(Token::Text(&self.input[start..self.at - 1])),
                Some(_) => {}
            }
        }
    }

    /// Consumes a string after its three double quotes.
    fn long_string(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        loop {
            match self.next()? {
                None => return Err(self.error_at(None, "unexpected EOF; expected '\"\"\"'")),
                Some('\\') => match self.peek()? {
                    Some('\n' | '\r') => {
                        self.next()?;
                    }
                    _ => self.escape(start)?,
                },
                Some('"') => {
                    if self.ends_long('"', start)? {
                        return Ok(Token::Long(&self.input[start..self.at - 3]));
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Consumes a string after its three single quotes.
    fn long_raw_string(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        loop {
            match self.next()? {
                None => return Err(self.error_at(None, "unexpected EOF; expected \"'''\"")),
                Some('\'') => {
                    if self.ends_long('\'', start)? {
                        return Ok(Token::LongText(&self.input[start..self.at - 3]));
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Whether the quote just read is the first of the three that end a long string; they are consumed then. Up to
    /// two quotes may come before them.
    fn ends_long(&mut self, mark: char, start: usize) -> Result<bool> {
        if !self.accept_two(mark)? {
            return Ok(false);
        }
        if self.peek()? != Some(mark) {
            return Ok(true);
        }
        let so_far = &self.input[start..self.at];
        let (five, message): (&[u8], _) = if mark == '"' {
            (b"\"\"\"\"\"", "unexpected '\"\"\"\"\"\"'")
        } else {
            (b"'''''", "unexpected \"''''''\"")
        };
        if let Some(before) = so_far.strip_suffix(five)
            && (mark == '\'' || before.last() != Some(&b'\\'))
        {
            return Err(self.error(message));
        }
        // Two of three quotes are given back: the next one may begin the three that end the string.
        self.at -= 2;
        Ok(false)
    }

    /// Checks an escape after its backslash; `start` is where the string began.
    fn escape(&mut self, start: usize) -> Result<()> {
        // `\e` and `\x` are TOML 1.1, which the library accepts. A blank passes here and is refused when the
        // string is decoded.
        let digits = match self.next()? {
            Some('e' | 'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\') => return Ok(()),
            Some('x') => (2, "two hexadecimal digits after '\\x'"),
            Some('u') => (4, "four hexadecimal digits after '\\u'"),
            Some('U') => (8, "eight hexadecimal digits after '\\U'"),
            Some(other) => return Err(self.error(format!("invalid escape in string '\\{other}'"))),
            None => return Err(self.error_before("invalid escape in string '\\\0'")),
        };
        for _ in 0..digits.0 {
            let digit = self.next()?;
            if !digit.is_some_and(|digit| digit.is_ascii_hexdigit()) {
                let so_far = quote::quote(&self.input[start..self.at]);
                return Err(self.error_at(digit, format!("expected {}, but got {so_far} instead", digits.1)));
            }
        }
        Ok(())
    }

    /// What has been consumed since `start`; numbers are all ASCII.
    fn ascii_from(&self, start: usize) -> &'t str {
        std::str::from_utf8(&self.input[start..self.at]).unwrap_or_default()
    }

    /// Consumes a value that begins with a digit.
    fn number_or_moment(&mut self) -> Result<Token<'t>> {
        let start = self.at;
        if self.accept('0')? {
            let base = match self.peek()? {
                Some('b') => Some((2, "a binary")),
                Some('o') => Some((8, "an octal")),
                Some('x') => Some((16, "a hexadecimal")),
                _ => None,
            };
            if let Some((radix, name)) = base {
                self.next()?;
                // The library's end of text is the character zero, which its messages print.
                let digit = self.peek()?.unwrap_or('\0');
                if !digit.is_digit(radix) {
                    let so_far = self.ascii_from(start);
                    return Err(self.error(format!("not {name} number: '{so_far}{digit}'")));
                }
                self.skip(|rune| rune.is_digit(radix) || rune == '_')?;
                return Ok(Token::Integer(self.ascii_from(start)));
            }
        }
        self.skip(|rune| rune.is_ascii_digit())?;
        // No date begins with a single zero, but the parser would refuse that anyway.
        let single_zero = self.ascii_from(start) == "0";
        match self.peek()? {
            Some('-' | ':') if !single_zero => {
                self.skip(|rune| {
                    rune.is_ascii_digit()
                        || matches!(rune, '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+')
                })?;
                Ok(Token::Moment(self.ascii_from(start).trim()))
            }
            _ => self.decimal(start),
        }
    }

    /// Consumes the rest of a decimal number.
    fn decimal(&mut self, start: usize) -> Result<Token<'t>> {
        self.skip(|rune| rune.is_ascii_digit() || rune == '_')?;
        if !matches!(self.peek()?, Some('.' | 'e' | 'E')) {
            return Ok(Token::Integer(self.ascii_from(start)));
        }
        self.skip(|rune| rune.is_ascii_digit() || matches!(rune, '_' | '.' | '-' | '+' | 'e' | 'E'))?;
        Ok(Token::Float(self.ascii_from(start)))
    }

    /// Consumes a number after its sign.
    fn signed_number(&mut self, start: usize) -> Result<Token<'t>> {
        let found = self.next()?;
        let word = match found {
            Some('i') => Some(['n', 'f']),
            Some('n') => Some(['a', 'n']),
            _ => None,
        };
        if let Some([second, third]) = word {
            if self.accept(second)? && self.accept(third)? {
                return Ok(Token::Float(self.ascii_from(start)));
            }
            return Err(self.error(format!("invalid float: '{}'", self.ascii_from(start))));
        }
        match found {
            Some('.') => Err(self.error("floats must start with a digit, not '.'")),
            Some('0') if matches!(self.peek()?, Some('b' | 'o' | 'x')) => {
                let base = self.peek()?.unwrap_or_default();
                let so_far = self.ascii_from(start);
                Err(self.error(format!("cannot use sign with non-decimal numbers: '{so_far}{base}'")))
            }
            Some(digit) if digit.is_ascii_digit() => self.decimal(start),
            _ => Err(self.error_at(found, format!("expected a digit but got {}", quoted(found)))),
        }
    }

    /// Consumes what separates the parts of a key, or ends it. Returns whether it ended.
    pub(super) fn key_end(&mut self) -> Result<bool> {
        self.skip_blanks()?;
        let found = self.next()?;
        let message = || format!("expected '.' or '=', but got {} instead", quoted(found));
        match found {
            None => Err(self.error_at(None, "unexpected EOF; expected key separator '='")),
            Some('.') => Ok(false),
            Some('=') => Ok(true),
            Some('\n') => Err(self.error_before(message())),
            Some(_) => Err(self.error(message())),
        }
    }
}

/// Go's `%q` of a character; the end of the text is the character zero.
pub(super) fn quoted(found: Option<char>) -> String {
    let mut out = String::from("'");
    quote::push_escaped(found.unwrap_or('\0'), '\'', false, &mut out);
    out.push('\'');
    out
}

/// A character as some messages write it.
pub(super) fn described(found: Option<char>) -> String {
    found.map_or_else(|| "end of file".to_owned(), |rune| format!("'{rune}'"))
}
