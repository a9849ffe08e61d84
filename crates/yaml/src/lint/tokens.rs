//! The tokens of a text with their positions.

use crate::read::{Scanner, Token, Word};

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) word: Word,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The line that it begins on, from 1.
    pub(super) line: usize,
    /// The column in characters, from 0.
    pub(super) column: usize,
}

/// All tokens, without the zero-width ones between documents.
pub(super) struct Tokens {
    pub(super) tokens: Vec<Placed>,
    /// The texts of scalars.
    pub(super) pool: Vec<u8>,
    line_starts: Vec<usize>,
}

impl Tokens {
    /// Reads all tokens.
    ///
    /// # Errors
    /// The line and the text of a syntax error.
    pub(super) fn read(text: &[u8]) -> Result<Self, (usize, String)> {
        let mut line_starts = vec![0];
        line_starts.extend(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
        // The parser finds errors that the scanner does not see.
        if let Err(error) = crate::commented::Document::read(text) {
            return Err((error.line().unwrap_or(1), error.to_string()));
        }
        let mut scanner = Scanner::new(text);
        let mut tokens = Tokens { tokens: Vec::new(), pool: Vec::new(), line_starts };
        loop {
            let token = scanner.peek().map_err(|_| (1, "cannot be read".to_owned()))?;
            scanner.take();
            if token.word == Word::StreamEnd {
                break;
            }
            let placed = tokens.locate(text, &token);
            tokens.tokens.push(placed);
        }
        tokens.pool = scanner.pool;
        Ok(tokens)
    }

    fn locate(&self, text: &[u8], token: &Token) -> Placed {
        let (start, end) = (token.bytes.start, token.bytes.end);
        let (line, column) = self.position(text, start);
        Placed { word: token.word, start, end, line, column }
    }

    /// The line, from 1, and the column in characters, from 0.
    pub(super) fn position(&self, text: &[u8], offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        let characters = text[start..offset.min(text.len())].iter().filter(|&&byte| byte & 0xc0 != 0x80);
        (line, characters.count())
    }

    /// The text of a scalar, and whether it has no quotes.
    pub(super) fn scalar(&self, token: &Placed) -> Option<(&[u8], bool)> {
        match token.word {
            Word::Scalar { text, plain } => Some((text.of(&self.pool), plain)),
            _ => None,
        }
    }
}
