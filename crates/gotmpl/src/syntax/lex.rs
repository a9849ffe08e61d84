//! Tokens that cover all of the source, also where it is malformed.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::{SyntaxError, SyntaxToken, TokenKind};
use crate::lex::character::{first_char, is_alphanumeric};

/// A part of a source.
pub(super) enum Piece {
    /// Text that is written. May be empty.
    Text(Range<usize>),
    Comment(Range<usize>),
    Action(Action),
}

/// An action and its tokens, which are those of the tree without delimiters and white space.
pub(super) struct Action {
    pub(super) range: Range<usize>,
    pub(super) tokens: Vec<Lexeme>,
}

/// A token of an action. `spaced` is whether white space is before it.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
    pub(super) spaced: bool,
}

pub(super) struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    pub(super) tokens: Vec<SyntaxToken>,
    pub(super) errors: Vec<SyntaxError>,
    is_keyword: &'s dyn Fn(&[u8]) -> bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The content of an action: where it ends, and where the action ends. They are equal if it is not closed.
struct Extent {
    content: usize,
    end: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s [u8], is_keyword: &'s dyn Fn(&[u8]) -> bool) -> Self {
        Lexer { source, at: 0, tokens: Vec::new(), errors: Vec::new(), is_keyword }
    }

    fn push(&mut self, kind: TokenKind, range: Range<usize>) {
        if !range.is_empty() {
            self.tokens.push(SyntaxToken { kind, range });
        }
    }

    pub(super) fn error(&mut self, range: Range<usize>, message: impl Into<String>) {
        self.errors.push(SyntaxError { range, message: message.into(), related: None });
    }

    fn find(&self, needle: &[u8], from: usize) -> Option<usize> {
        self.source.get(from..)?.find(needle).map(|at| from + at)
    }

    fn line_end(&self, from: usize) -> usize {
        self.source[from..].find_byte(b'\n').map_or(self.source.len(), |at| from + at)
    }

    /// The next piece; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Piece> {
        if self.at >= self.source.len() {
            return None;
        }
        let start = self.at;
        match self.find(b"{{", start) {
            Some(delimiter) if delimiter == start => Some(self.delimited()),
            found => Some(self.text(found)),
        }
    }

    /// Text up to an action, without what its trim marker removes.
    fn text(&mut self, delimiter: Option<usize>) -> Piece {
        let start = self.at;
        let limit = delimiter.unwrap_or(self.source.len());
        let mut end = limit;
        if delimiter.is_some() && self.trims_left(limit) {
            while end > start && is_space(self.source[end - 1]) {
                end -= 1;
            }
        }
        self.push(TokenKind::Text, start..end);
        self.push(TokenKind::Trimmed, end..limit);
        self.at = limit;
        Piece::Text(start..end)
    }

    /// Whether the delimiter at a position has a trim marker.
    fn trims_left(&self, delimiter: usize) -> bool {
        matches!(self.source.get(delimiter + 2..), Some([b'-', space, ..]) if is_space(*space))
    }

    fn delimited(&mut self) -> Piece {
        let start = self.at;
        // The marker is the minus; the blank after it is white space of the action.
        let trim = usize::from(self.trims_left(start));
        let inner = start + 2 + trim;
        // In front of a comment, exactly one blank may follow the marker.
        let comment = inner + trim;
        if self.source[comment.min(self.source.len())..].starts_with(b"/*") {
            return self.comment(start, inner, comment);
        }
        self.push(TokenKind::LeftDelimiter, start..inner);
        let extent = self.extent(inner);
        let tokens = self.action_tokens(inner, extent.content);
        if extent.end == extent.content {
            let shown = start..extent.end.max(start + 2);
            self.error(shown, "unclosed action");
        } else {
            self.close(extent.content..extent.end);
        }
        Piece::Action(Action { range: start..extent.end, tokens })
    }

    /// Ends an action at its closing delimiter, and drops the white space that it trims.
    fn close(&mut self, delimiter: Range<usize>) {
        let trims = self.source[delimiter.clone()].starts_with(b"-");
        self.push(TokenKind::RightDelimiter, delimiter.clone());
        self.at = delimiter.end;
        if trims {
            let space = self.source[self.at..].iter().take_while(|byte| is_space(**byte)).count();
            self.push(TokenKind::Trimmed, self.at..self.at + space);
            self.at += space;
        }
    }

    fn comment(&mut self, start: usize, inner: usize, text: usize) -> Piece {
        self.push(TokenKind::LeftDelimiter, start..inner);
        self.push(TokenKind::Space, inner..text);
        let Some(stars) = self.find(b"*/", text + 2) else {
            let line = self.line_end(start);
            let end = self.find(b"}}", text).filter(|at| *at < line).map_or(line, |at| at + 2);
            self.push(TokenKind::Comment, text..end);
            self.error(start..end, "unclosed comment");
            self.at = end;
            return Piece::Comment(start..end);
        };
        let end = stars + 2;
        self.push(TokenKind::Comment, text..end);
        let rest = &self.source[end..];
        let delimiter = match rest {
            [b'}', b'}', ..] => Some((end, end + 2)),
            [space, b'-', b'}', b'}', ..] if is_space(*space) => Some((end + 1, end + 4)),
            _ => None,
        };
        if let Some((from, to)) = delimiter {
            self.push(TokenKind::Space, end..from);
            self.close(from..to);
            return Piece::Comment(start..to);
        }
        self.error(start..end, "comment ends before closing delimiter");
        let extent = self.extent(end);
        self.push(TokenKind::Unknown, end..extent.content);
        self.at = extent.content;
        if extent.end > extent.content {
            self.close(extent.content..extent.end);
        }
        Piece::Comment(start..extent.end)
    }

    /// Where an action whose content starts at `from` ends: at its delimiter, else at its first line or the next action.
    fn extent(&self, from: usize) -> Extent {
        let mut at = from;
        while let Some(&byte) = self.source.get(at) {
            match byte {
                b'}' if self.source.get(at + 1) == Some(&b'}') => {
                    let marker =
                        at >= from + 2 && self.source[at - 1] == b'-' && is_space(self.source[at - 2]);
                    let content = if marker { at - 1 } else { at };
                    return Extent { content, end: at + 2 };
                }
                b'{' if self.source.get(at + 1) == Some(&b'{') => {
                    let end = self.line_end(from).min(at);
                    return Extent { content: end, end };
                }
                b'"' | b'\'' | b'`' => at = self.string_end(at).unwrap_or(at + 1),
                _ => at += 1,
            }
        }
        let end = self.line_end(from);
        Extent { content: end, end }
    }

    /// The end of the string that starts at a position; `None` if it is not closed.
    fn string_end(&self, start: usize) -> Option<usize> {
        let quote = self.source[start];
        if quote == b'`' {
            return self.source[start + 1..].find_byte(b'`').map(|at| start + at + 2);
        }
        let mut at = start + 1;
        loop {
            match *self.source.get(at)? {
                b'\\' if self.source.get(at + 1).is_some_and(|next| *next != b'\n') => at += 2,
                b'\\' | b'\n' => return None,
                byte if byte == quote => return Some(at + 1),
                _ => at += 1,
            }
        }
    }

    fn action_tokens(&mut self, from: usize, end: usize) -> Vec<Lexeme> {
        let mut lexemes = Vec::new();
        let mut spaced = false;
        self.at = from;
        while self.at < end {
            let start = self.at;
            let kind = self.token(end);
            self.at = self.at.clamp(start + 1, end);
            self.push(kind, start..self.at);
            if kind == TokenKind::Space {
                spaced = true;
            } else {
                lexemes.push(Lexeme { kind, range: start..self.at, spaced });
                spaced = false;
            }
        }
        lexemes
    }

    fn peek(&self, end: usize) -> Option<u8> {
        self.source[..end].get(self.at).copied()
    }

    /// Reads a token and moves behind it.
    fn token(&mut self, end: usize) -> TokenKind {
        let start = self.at;
        let byte = self.source[start];
        let digit = |at: usize| self.source[..end].get(at).is_some_and(u8::is_ascii_digit);
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                self.at += self.source[start..end].iter().take_while(|byte| is_space(**byte)).count();
                TokenKind::Space
            }
            b'+' | b'-' | b'0'..=b'9' => self.number(end),
            b'.' if digit(start + 1) => self.number(end),
            b'"' | b'\'' | b'`' => self.quoted(byte, end),
            b'.' => self.name(TokenKind::Field, TokenKind::Dot, end),
            b'$' => self.name(TokenKind::Variable, TokenKind::Variable, end),
            b'=' => self.single(TokenKind::Assign),
            b':' if self.source[..end].get(start + 1) == Some(&b'=') => {
                self.at += 2;
                TokenKind::Assign
            }
            b':' => {
                self.error(start..start + 1, "expected :=");
                self.single(TokenKind::Unknown)
            }
            b'|' => self.single(TokenKind::Pipe),
            b'(' => self.single(TokenKind::LeftParen),
            b')' => self.single(TokenKind::RightParen),
            b',' => self.single(TokenKind::Comma),
            _ => self.word(end),
        }
    }

    fn single(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        kind
    }

    fn skip_alphanumerics(&mut self, end: usize) {
        while let Some((character, length)) = first_char(&self.source[self.at..end]) {
            if !is_alphanumeric(character) {
                return;
            }
            self.at += length;
        }
    }

    /// Whether a name can end here.
    fn at_terminator(&self, end: usize) -> bool {
        match self.peek(end) {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(_) => false,
        }
    }

    /// Reports what follows a name directly and cannot, with the rest of the word.
    fn check_terminator(&mut self, end: usize) {
        if self.at_terminator(end) {
            return;
        }
        let shown = first_char(&self.source[self.at..end])
            .map_or_else(String::new, |(character, _)| crate::lex::character::code_point(character));
        let start = self.at;
        let length = self.source[start..end]
            .iter()
            .take_while(|byte| !is_space(**byte) && !matches!(byte, b'.' | b',' | b'|' | b')' | b'(' | b'='))
            .count();
        self.error(start..start + length.max(1), format!("bad character {shown}"));
    }

    fn name(&mut self, kind: TokenKind, alone: TokenKind, end: usize) -> TokenKind {
        self.at += 1;
        let start = self.at;
        self.skip_alphanumerics(end);
        self.check_terminator(end);
        if self.at == start { alone } else { kind }
    }

    fn word(&mut self, end: usize) -> TokenKind {
        let start = self.at;
        self.skip_alphanumerics(end);
        if self.at == start {
            let length = first_char(&self.source[start..end]).map_or(1, |(_, length)| length);
            self.at = start + length;
            let text = String::from_utf8_lossy(&self.source[start..self.at]).into_owned();
            // After a name it has been reported already.
            if self.errors.last().is_none_or(|last| !last.range.contains(&start)) {
                self.error(start..self.at, format!("unexpected {text:?} in action"));
            }
            return TokenKind::Unknown;
        }
        self.check_terminator(end);
        match &self.source[start..self.at] {
            b"true" | b"false" | b"nil" => TokenKind::Constant,
            word if (self.is_keyword)(word) => TokenKind::Keyword,
            _ => TokenKind::Function,
        }
    }

    fn quoted(&mut self, quote: u8, end: usize) -> TokenKind {
        let start = self.at;
        let kind = if quote == b'\'' { TokenKind::Number } else { TokenKind::String };
        if let Some(close) = self.string_end(start).filter(|close| *close <= end) {
            self.at = close;
            return kind;
        }
        self.at = self.line_end(start).min(end);
        // A closing delimiter directly before the end has white space or a paren before it, which are not of the string.
        let text = &self.source[start..self.at];
        self.at = (start + text.trim_ascii_end().len()).max(start + 1);
        let message = match quote {
            b'"' => "unterminated quoted string",
            b'\'' => "unterminated character constant",
            _ => "unterminated raw quoted string",
        };
        self.error(start..self.at, message);
        kind
    }

    /// A number: what could be one, in the way of Go's lexer. It is validated when it is parsed.
    fn number(&mut self, end: usize) -> TokenKind {
        let start = self.at;
        if !self.scan_number(end) {
            self.skip_alphanumerics(end);
            self.bad_number(start);
            return TokenKind::Number;
        }
        if matches!(self.peek(end), Some(b'+' | b'-'))
            && (!self.scan_number(end) || self.source[self.at - 1] != b'i')
        {
            self.skip_alphanumerics(end);
            self.bad_number(start);
        }
        TokenKind::Number
    }

    fn bad_number(&mut self, start: usize) {
        let text = pintle_tree::quote::quote(&self.source[start..self.at]);
        self.error(start..self.at, format!("bad number syntax: {text}"));
    }

    fn accept(&mut self, set: &[u8], end: usize) -> bool {
        let found = self.peek(end).is_some_and(|byte| set.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn scan_number(&mut self, end: usize) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        self.accept(b"+-", end);
        let mut digits = DECIMAL;
        let (mut decimal, mut hexadecimal) = (true, false);
        if self.accept(b"0", end) {
            if self.accept(b"xX", end) {
                (digits, decimal, hexadecimal) = (b"0123456789abcdefABCDEF_", false, true);
            } else if self.accept(b"oO", end) {
                (digits, decimal) = (b"01234567_", false);
            } else if self.accept(b"bB", end) {
                (digits, decimal) = (b"01_", false);
            }
        }
        while self.accept(digits, end) {}
        if self.accept(b".", end) {
            while self.accept(digits, end) {}
        }
        if (decimal && self.accept(b"eE", end)) || (hexadecimal && self.accept(b"pP", end)) {
            self.accept(b"+-", end);
            while self.accept(DECIMAL, end) {}
        }
        self.accept(b"i", end);
        first_char(&self.source[self.at..end]).is_none_or(|(character, _)| !is_alphanumeric(character))
    }
}
