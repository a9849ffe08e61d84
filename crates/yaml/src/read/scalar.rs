//! Scans scalars: plain, quoted and block.

use super::scan::Scanner;
use super::token::{Span, Token, Word};
use crate::error::Problem;

/// White space and line breaks between two parts of a scalar, which may be folded.
#[derive(Debug, Default)]
struct Gap {
    blanks: Vec<u8>,
    first_break: &'static [u8],
    broken: bool,
}

/// The chomping of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn plain_scalar(&mut self) -> Result<Token, Problem> {
        let (start, mut end) = (self.mark.line, self.mark.line);
        let begin = self.input.offset();
        let mut bytes = Span { start: begin, end: begin };
        let from = self.pool.len();
        let indent = self.indent + 1;
        let mut gap = Gap::default();
        self.breaks.clear();
        loop {
            self.input.ensure(4)?;
            if self.at_document_marker() || self.input.byte(0) == b'#' {
                break;
            }
            while !self.is_blank_or_end(0) && !self.ends_plain() {
                self.close_gap(&mut gap);
                self.keep();
                end = self.mark.line;
                bytes.end = self.input.offset();
                self.input.ensure(2)?;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.input.ensure(1)?;
            while self.is_blank(0) || self.is_break(0) {
                let indented = self.mark.column as isize >= indent;
                if gap.broken && !indented && self.input.byte(0) == b'\t' {
                    let problem = self.problem("found a tab character that violates indentation");
                    return Err(problem.since(start));
                }
                self.widen_gap(&mut gap)?;
            }
            if self.flow_level == 0 && (self.mark.column as isize) < indent {
                break;
            }
        }
        if gap.broken {
            self.key_allowed = true;
        }
        let text = self.kept_since(from);
        Ok(Token { word: Word::Scalar { text, plain: true }, start, end, bytes, indent: 0 })
    }

    fn ends_plain(&self) -> bool {
        match self.input.byte(0) {
            b':' => self.is_blank_or_end(1),
            // The question mark is YAML 1.1; in 1.2 it may be part of plain text in brackets.
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }

    /// Adds one space or line break to the gap.
    fn widen_gap(&mut self, gap: &mut Gap) -> Result<(), Problem> {
        if self.is_blank(0) {
            if !gap.broken {
                gap.blanks.push(self.input.byte(0));
            }
            self.skip();
        } else {
            self.input.ensure(2)?;
            let text = self.take_break();
            if gap.broken {
                self.breaks.extend_from_slice(text);
            } else {
                gap.blanks.clear();
                gap.first_break = text;
                gap.broken = true;
            }
        }
        self.input.ensure(1)
    }

    /// Writes what the gap folds into, if anything.
    fn close_gap(&mut self, gap: &mut Gap) {
        if gap.broken {
            // A Unicode separator is never folded into a space.
            if gap.first_break != b"\n" {
                self.pool.extend_from_slice(gap.first_break);
                self.pool.append(&mut self.breaks);
            } else if self.breaks.is_empty() {
                self.pool.push(b' ');
            } else {
                self.pool.append(&mut self.breaks);
            }
            gap.first_break = b"";
            gap.broken = false;
        } else {
            self.pool.append(&mut gap.blanks);
        }
    }

    pub(super) fn quoted_scalar(&mut self) -> Result<Token, Problem> {
        let (start, begin) = (self.mark.line, self.input.offset());
        let quote = self.input.byte(0);
        let from = self.pool.len();
        let mut gap = Gap::default();
        self.breaks.clear();
        self.skip();
        loop {
            self.input.ensure(4)?;
            if self.at_document_marker() {
                return Err(self.problem("found unexpected document indicator").since(start));
            }
            if self.input.byte(0) == 0 {
                return Err(self.problem("found unexpected end of stream").since(start));
            }
            self.quoted_piece(quote, &mut gap).map_err(|problem| problem.since(start))?;
            self.input.ensure(1)?;
            if self.input.byte(0) == quote {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                self.widen_gap(&mut gap)?;
            }
            self.close_gap(&mut gap);
        }
        self.skip();
        let text = self.kept_since(from);
        let bytes = Span { start: begin, end: self.input.offset() };
        Ok(Token { word: Word::Scalar { text, plain: false }, start, end: self.mark.line, bytes, indent: 0 })
    }

    /// Takes the characters up to a blank, a line break or the closing quote.
    fn quoted_piece(&mut self, quote: u8, gap: &mut Gap) -> Result<(), Problem> {
        while !self.is_blank_or_end(0) {
            let byte = self.input.byte(0);
            if byte == quote {
                if quote == b'"' || self.input.byte(1) != b'\'' {
                    break;
                }
                self.pool.push(b'\'');
                self.skip();
                self.skip();
            } else if quote == b'"' && byte == b'\\' {
                if self.is_break(1) {
                    self.input.ensure(3)?;
                    self.skip();
                    self.skip_break();
                    // The break itself is dropped; so is white space that follows, as after any break.
                    gap.broken = true;
                    break;
                }
                self.escape()?;
            } else {
                self.keep();
            }
            self.input.ensure(2)?;
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Problem> {
        let digits = match self.input.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            escape => {
                let text = escaped(escape).ok_or_else(|| self.problem("found unknown escape character"))?;
                self.pool.extend_from_slice(text.as_bytes());
                0
            }
        };
        self.skip();
        self.skip();
        if digits == 0 {
            return Ok(());
        }
        self.input.ensure(digits)?;
        let mut value = 0u32;
        for offset in 0..digits {
            let digit = char::from(self.input.byte(offset)).to_digit(16);
            // The spelling of the message is go-yaml's.
            let digit = digit.ok_or_else(|| self.problem("did not find expected hexdecimal number"))?;
            value = value << 4 | digit;
        }
        let character = char::from_u32(value);
        let character =
            character.ok_or_else(|| self.problem("found invalid Unicode character escape code"))?;
        self.pool.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        for _ in 0..digits {
            self.skip();
        }
        Ok(())
    }

    pub(super) fn block_scalar(&mut self) -> Result<Token, Problem> {
        let (start, begin) = (self.mark.line, self.input.offset());
        let literal = self.input.byte(0) == b'|';
        let from = self.pool.len();
        self.skip();
        let header = self.block_header(begin).map_err(|problem| problem.since(start));
        let (chomping, increment, signs_end) = header?;
        let mut bytes = Span { start: begin, end: signs_end };
        let mut end = self.mark.line;
        let given = (increment > 0).then(|| self.indent.max(0) as usize + increment);
        self.breaks.clear();
        let detected = self.block_breaks(given, &mut end).map_err(|problem| problem.since(start))?;
        let indent = given.unwrap_or(detected);
        self.input.ensure(1)?;
        let mut pending: &[u8] = b"";
        let mut previous_indented = false;
        while self.mark.column == indent && self.input.byte(0) != 0 {
            let indented = self.is_blank(0);
            if !literal && !previous_indented && !indented && pending == b"\n" {
                if self.breaks.is_empty() {
                    self.pool.push(b' ');
                }
            } else {
                self.pool.extend_from_slice(pending);
            }
            self.pool.append(&mut self.breaks);
            previous_indented = indented;
            while !self.is_break_or_end(0) {
                self.keep();
                self.input.ensure(1)?;
            }
            bytes.end = self.input.offset();
            self.input.ensure(2)?;
            pending = if self.is_break(0) { self.take_break() } else { b"" };
            self.block_breaks(Some(indent), &mut end).map_err(|problem| problem.since(start))?;
        }
        if chomping != Chomping::Strip {
            self.pool.extend_from_slice(pending);
        }
        if chomping == Chomping::Keep {
            if !self.breaks.is_empty() {
                bytes.end = self.last_break;
            }
            self.pool.append(&mut self.breaks);
        }
        let text = self.kept_since(from);
        Ok(Token { word: Word::Scalar { text, plain: false }, start, end, bytes, indent })
    }

    /// Reads what follows `|` or `>`, which is at `begin`, up to the end of the line. The last of the three is where the
    /// indicators end.
    fn block_header(&mut self, begin: usize) -> Result<(Chomping, usize, usize), Problem> {
        let mut chomping = Chomping::Clip;
        let mut increment = 0;
        self.input.ensure(1)?;
        // The two indicators may come in either order, but each only once.
        let sign_first = matches!(self.input.byte(0), b'+' | b'-');
        for sign_turn in [sign_first, !sign_first] {
            match self.input.byte(0) {
                b'+' if sign_turn => chomping = Chomping::Keep,
                b'-' if sign_turn => chomping = Chomping::Strip,
                b'0' if !sign_turn => {
                    return Err(self.problem("found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if !sign_turn => increment = usize::from(digit - b'0'),
                _ => break,
            }
            self.skip();
            self.input.ensure(1)?;
        }
        let signs_end = self.input.offset();
        while self.is_blank(0) {
            self.skip();
            self.input.ensure(1)?;
        }
        if self.comments.is_some() {
            self.scan_line_comment(begin)?;
        }
        self.skip_comment()?;
        if !self.is_break_or_end(0) {
            return Err(self.problem("did not find expected comment or line break"));
        }
        if self.is_break(0) {
            self.input.ensure(2)?;
            self.skip_break();
        }
        Ok((chomping, increment, signs_end))
    }

    /// Consumes empty lines and the indentation of the line after them. Returns the indentation of the block if its
    /// first lines determine it.
    fn block_breaks(&mut self, indent: Option<usize>, end: &mut usize) -> Result<usize, Problem> {
        *end = self.mark.line;
        let mut deepest = 0;
        loop {
            self.input.ensure(1)?;
            let inside = |column: usize| indent.is_none_or(|indent| column < indent);
            while inside(self.mark.column) && self.input.byte(0) == b' ' {
                self.skip();
                self.input.ensure(1)?;
            }
            deepest = deepest.max(self.mark.column);
            if inside(self.mark.column) && self.input.byte(0) == b'\t' {
                return Err(self.problem("found a tab character where an indentation space is expected"));
            }
            if !self.is_break(0) {
                break;
            }
            self.input.ensure(2)?;
            let text = self.take_break();
            self.breaks.extend_from_slice(text);
            *end = self.mark.line;
        }
        // At least one deeper than the enclosing block, and never column zero: a scalar at the root is
        // indented too.
        Ok(deepest.max((self.indent + 1) as usize).max(1))
    }
}

/// The text of a scalar written as `source`, which starts with its quote or indicator if it has one. `indent` is the
/// indentation of the lines of a block. `None` if it is not a scalar.
pub(crate) fn scalar_text(source: &[u8], indent: usize) -> Option<Vec<u8>> {
    let plain = !matches!(source.first()?, b'\'' | b'"' | b'|' | b'>');
    // The blank keeps what looks like the marker of a document from being one, and the letter keeps a colon at the end,
    // as brackets allow it, from being the end of a key.
    let end: &[u8] = if plain { b"a" } else { b"" };
    let padded = [b" ", source, end].concat();
    let mut scanner = Scanner::new(&padded);
    scanner.input.ensure(2).ok()?;
    scanner.skip();
    let token = match source.first()? {
        b'\'' | b'"' => scanner.quoted_scalar(),
        b'|' | b'>' => {
            let signs = source[1..].iter().take_while(|byte| matches!(byte, b'+' | b'-' | b'1'..=b'9'));
            let digit = signs.take(2).find(|byte| byte.is_ascii_digit());
            if let Some(digit) = digit {
                scanner.indent = indent as isize - (digit - b'0') as isize;
            }
            scanner.block_scalar()
        }
        _ => scanner.plain_scalar(),
    };
    match token.ok()?.word {
        Word::Scalar { text, .. } if plain => Some(text.of(&scanner.pool).strip_suffix(b"a")?.to_vec()),
        Word::Scalar { text, .. } => Some(text.of(&scanner.pool).to_vec()),
        _ => None,
    }
}

/// The escape sequence of a backslash and this byte in double quotes.
pub(crate) fn escaped(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'0' => "\0",
        b'a' => "\u{07}",
        b'b' => "\u{08}",
        b't' | b'\t' => "\t",
        b'n' => "\n",
        b'v' => "\u{0b}",
        b'f' => "\u{0c}",
        b'r' => "\r",
        b'e' => "\u{1b}",
        b' ' => " ",
        b'"' => "\"",
        b'\'' => "'",
        b'\\' => "\\",
        b'N' => "\u{85}",
        b'_' => "\u{a0}",
        b'L' => "\u{2028}",
        b'P' => "\u{2029}",
        _ => return None,
    })
}
