//! The lexer. Tokens are produced on demand, because an error ends lexing.
//! It follows Go's `text/template/parse/lex.go` state by state. Comments never become tokens: the parser
//! would drop them, as Go does unless `ParseComments` is set.

pub(crate) mod character;

use bstr::{ByteSlice as _, Finder};

use self::character::{NAME_BYTES, code_point, first_char, is_alphanumeric};
use crate::ast::Position;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Bool,
    /// A printable ASCII character without a meaning of its own, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    End,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParen,
    Number,
    Pipe,
    RawText,
    RightDelimiter,
    RightParen,
    Space,
    Quoted,
    Text,
    Variable,
    // The order matters from here on: `is_keyword` compares discriminants, as Go compares with `itemKeyword`.
    // Keywords, which messages show in angle brackets.
    KeywordBlock,
    KeywordBreak,
    KeywordContinue,
    Dot,
    KeywordDefine,
    KeywordElse,
    KeywordEnd,
    KeywordIf,
    Nil,
    KeywordRange,
    KeywordTemplate,
    KeywordWith,
}

impl Kind {
    pub(crate) fn is_keyword(self) -> bool {
        self as u8 >= Kind::KeywordBlock as u8
    }
}

/// A token: its kind and its range in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: Position,
    pub(crate) end: Position,
}

/// Produces the tokens of a source.
pub(crate) struct Lexer<'s> {
    source: &'s [u8],
    /// Finds the opening delimiters of actions. Building it takes longer than most searches.
    left: Finder<'static>,
    at: usize,
    start: usize,
    inside_action: bool,
    parens: usize,
    /// Whether `break` and `continue` are keywords; functions of these names prevent that.
    pub(crate) break_is_keyword: bool,
    pub(crate) continue_is_keyword: bool,
    /// The error text of an [`Kind::Error`] token.
    pub(crate) error: String,
}

const LEFT: &[u8] = b"{{";
const RIGHT: &[u8] = b"}}";

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn begins_with_left_trim(text: &[u8]) -> bool {
    matches!(text, [b'-', space, ..] if is_space(*space))
}

fn begins_with_right_trim(text: &[u8]) -> bool {
    matches!(text, [space, b'-', ..] if is_space(*space))
}

/// The number of leading white space bytes.
fn leading_space(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s [u8]) -> Self {
        Lexer {
            source,
            left: Finder::new(LEFT),
            at: 0,
            start: 0,
            inside_action: false,
            parens: 0,
            break_is_keyword: true,
            continue_is_keyword: true,
            error: String::new(),
        }
    }

    /// The text of a token.
    pub(crate) fn text(&self, token: Token) -> &'s [u8] {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token {
        if self.inside_action { self.action() } else { self.outside() }
    }

    fn rest(&self) -> &'s [u8] {
        &self.source[self.at..]
    }

    fn emit(&mut self, kind: Kind) -> Token {
        let token = Token { kind, start: self.start as Position, end: self.at as Position };
        self.start = self.at;
        token
    }

    fn skip_to(&mut self, at: usize) {
        self.at = at;
        self.start = at;
    }

    fn fail(&mut self, message: impl Into<String>) -> Token {
        self.error = message.into();
        let token = Token { kind: Kind::Error, start: self.start as Position, end: self.start as Position };
        // Nothing follows an error.
        self.skip_to(self.source.len());
        token
    }

    /// Text up to the next action, without what trim markers remove.
    // Most tokens are inside actions; `next` is faster if this function is not inlined into it.
    #[inline(never)]
    fn outside(&mut self) -> Token {
        loop {
            let Some(distance) = self.left.find(self.rest()) else {
                self.at = self.source.len();
                return self.emit(if self.at > self.start { Kind::Text } else { Kind::End });
            };
            let delimiter = self.at + distance;
            if distance > 0 {
                let mut end = delimiter;
                if begins_with_left_trim(&self.source[delimiter + LEFT.len()..]) {
                    while end > self.start && is_space(self.source[end - 1]) {
                        end -= 1;
                    }
                }
                self.at = end;
                let token = self.emit(Kind::Text);
                self.skip_to(delimiter);
                if token.end > token.start {
                    return token;
                }
            }
            self.at = delimiter + LEFT.len();
            // The marker is the minus and one blank: `{{-3}}` is the number -3.
            let trim = if begins_with_left_trim(self.rest()) { 2 } else { 0 };
            if !self.rest()[trim..].starts_with(b"/*") {
                let token = self.emit(Kind::LeftDelimiter);
                self.inside_action = true;
                self.parens = 0;
                self.skip_to(self.at + trim);
                return token;
            }
            self.skip_to(self.at + trim);
            if let Some(error) = self.comment() {
                return error;
            }
        }
    }

    /// Skips a comment that starts at the current position.
    fn comment(&mut self) -> Option<Token> {
        let Some(length) = self.source[self.at + 2..].find("*/") else {
            return Some(self.fail("unclosed comment"));
        };
        let end = self.at + 2 + length + 2;
        let Some(trims) = right_delimiter(&self.source[end..]) else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        let mut next = end + RIGHT.len();
        if trims {
            next += 2;
            next += leading_space(&self.source[next..]);
        }
        self.skip_to(next);
        None
    }

    /// The closing delimiter at `self.at`.
    fn close(&mut self, trims: bool) -> Token {
        if trims {
            self.skip_to(self.at + 2);
        }
        self.at += RIGHT.len();
        let token = self.emit(Kind::RightDelimiter);
        if trims {
            self.skip_to(self.at + leading_space(self.rest()));
        }
        self.inside_action = false;
        token
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    /// A token inside an action.
    fn action(&mut self) -> Token {
        let Some(byte) = self.peek() else {
            return self.fail("unclosed action");
        };
        // Only these two can begin a closing delimiter, with or without a trim marker; the test spares all
        // other bytes.
        if (byte == b'}' || is_space(byte))
            && let Some(trims) = right_delimiter(self.rest())
        {
            return if self.parens == 0 { self.close(trims) } else { self.fail("unclosed left paren") };
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return self.space(),
            b'+' | b'-' | b'0'..=b'9' => return self.number(),
            // Go looks at the next byte only if there is one and falls through to numbers otherwise, so a dot
            // at the very end of the source is one.
            b'.' if self.source.get(self.at + 1).is_none_or(u8::is_ascii_digit) => return self.number(),
            _ if NAME_BYTES[usize::from(byte)] => return self.identifier(),
            0x80.. => return self.beyond_ascii(),
            _ => self.at += 1,
        }
        match byte {
            b'=' => self.emit(Kind::Assign),
            b':' if self.peek() == Some(b'=') => {
                self.at += 1;
                self.emit(Kind::Declare)
            }
            b':' => self.fail("expected :="),
            b'|' => self.emit(Kind::Pipe),
            b'"' => self.quoted(b'"', Kind::Quoted, "unterminated quoted string"),
            b'\'' => self.quoted(b'\'', Kind::CharConstant, "unterminated character constant"),
            b'`' => self.raw(),
            b'$' => self.name(Kind::Variable, Kind::Variable),
            b'.' => self.name(Kind::Field, Kind::Dot),
            b'(' => {
                self.parens += 1;
                self.emit(Kind::LeftParen)
            }
            b')' if self.parens == 0 => self.fail("unexpected right paren"),
            b')' => {
                self.parens -= 1;
                self.emit(Kind::RightParen)
            }
            b'!'..=b'~' => self.emit(Kind::Char),
            _ => self.unrecognized(char::from(byte)),
        }
    }

    /// A token that starts with a non-ASCII character, which only names can.
    fn beyond_ascii(&mut self) -> Token {
        match first_char(self.rest()) {
            Some((character, _)) if is_alphanumeric(character) => self.identifier(),
            first => self.unrecognized(first.map_or(char::REPLACEMENT_CHARACTER, |(character, _)| character)),
        }
    }

    fn unrecognized(&mut self, character: char) -> Token {
        self.fail(format!("unrecognized character in action: {}", code_point(character)))
    }

    fn space(&mut self) -> Token {
        let count = leading_space(self.rest());
        // The last space may belong to a closing delimiter with a trim marker.
        let last = self.at + count - 1;
        if right_delimiter(&self.source[last..]) == Some(true) {
            if count == 1 {
                return self.close(true);
            }
            self.at = last;
        } else {
            self.at += count;
        }
        self.emit(Kind::Space)
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            // Go's list of what may follow a name. It has no `=`, so `{{ $x=1 }}` is an error and
            // `{{ $x:=1 }}` is not.
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            _ => self.rest().starts_with(RIGHT),
        }
    }

    fn skip_alphanumerics(&mut self) {
        loop {
            self.at += self.rest().iter().take_while(|byte| NAME_BYTES[usize::from(**byte)]).count();
            match self.peek() {
                Some(0x80..) => {}
                _ => return,
            }
            match first_char(self.rest()) {
                Some((character, length)) if is_alphanumeric(character) => self.at += length,
                _ => return,
            }
        }
    }

    fn bad_character(&mut self) -> Token {
        let shown = first_char(self.rest()).map_or_else(String::new, |(character, _)| code_point(character));
        self.fail(format!("bad character {shown}"))
    }

    fn identifier(&mut self) -> Token {
        self.skip_alphanumerics();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = match &self.source[self.start..self.at] {
            b"block" => Kind::KeywordBlock,
            b"break" if self.break_is_keyword => Kind::KeywordBreak,
            b"continue" if self.continue_is_keyword => Kind::KeywordContinue,
            b"define" => Kind::KeywordDefine,
            b"else" => Kind::KeywordElse,
            b"end" => Kind::KeywordEnd,
            b"if" => Kind::KeywordIf,
            b"nil" => Kind::Nil,
            b"range" => Kind::KeywordRange,
            b"template" => Kind::KeywordTemplate,
            b"with" => Kind::KeywordWith,
            b"true" | b"false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind)
    }

    /// A field or a variable; its `.` or `$` is consumed.
    fn name(&mut self, kind: Kind, alone: Kind) -> Token {
        if self.at_terminator() {
            return self.emit(alone);
        }
        self.skip_alphanumerics();
        if self.at_terminator() { self.emit(kind) } else { self.bad_character() }
    }

    fn quoted(&mut self, quote: u8, kind: Kind, unterminated: &str) -> Token {
        loop {
            let byte = self.peek();
            self.at += 1;
            match byte {
                // Escapes are validated when the literal is unquoted; here only an escaped quote matters.
                Some(b'\\') if self.peek().is_some_and(|next| next != b'\n') => self.at += 1,
                None | Some(b'\\' | b'\n') => return self.fail(unterminated),
                Some(byte) if byte == quote => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self) -> Token {
        match self.rest().find_byte(b'`') {
            Some(length) => {
                self.at += length + 1;
                self.emit(Kind::RawText)
            }
            None => self.fail("unterminated raw quoted string"),
        }
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.source[self.at - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let text = pintle_tree::quote::quote(&self.source[self.start..self.at]);
        self.fail(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| set.contains(&byte));
        self.at += usize::from(found);
        found
    }

    /// Skips what may be a number; it is validated when it is parsed.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        let (mut decimal, mut hexadecimal) = (true, false);
        if self.accept(b"0") {
            if self.accept(b"xX") {
                (digits, decimal, hexadecimal) = (b"0123456789abcdefABCDEF_", false, true);
            } else if self.accept(b"oO") {
                (digits, decimal) = (b"01234567_", false);
            } else if self.accept(b"bB") {
                (digits, decimal) = (b"01_", false);
            }
        }
        while self.accept(digits) {}
        if self.accept(b".") {
            while self.accept(digits) {}
        }
        if (decimal && self.accept(b"eE")) || (hexadecimal && self.accept(b"pP")) {
            self.accept(b"+-");
            while self.accept(DECIMAL) {}
        }
        self.accept(b"i");
        match first_char(self.rest()) {
            Some((character, length)) if is_alphanumeric(character) => {
                self.at += length;
                false
            }
            _ => true,
        }
    }
}

/// Whether a closing delimiter starts here, and whether it trims.
fn right_delimiter(text: &[u8]) -> Option<bool> {
    if text.starts_with(RIGHT) {
        Some(false)
    } else if begins_with_right_trim(text) && text[2..].starts_with(RIGHT) {
        Some(true)
    } else {
        None
    }
}
