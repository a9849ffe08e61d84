//! The scanner: handles indentation, and decides that something is a key only when its colon is found.
//! Its text, positions and errors are those of go-yaml's `scannerc.go`, a port of libyaml. The one data
//! structure that differs is `by_token`, which go-yaml keeps as a map.

use std::collections::VecDeque;

use super::comments::CommentQueue;
use super::input::Input;
use super::token::{Span, Token, Word};
use crate::error::Problem;

/// The maximum nesting of brackets and indentation: `max_flow_level` and `max_indents` in go-yaml.
const DEPTH: usize = 10_000;

/// The maximum distance between the start of a simple key and its colon, in characters. The limit is YAML's own; it
/// bounds how many tokens wait until it is known whether they are a key.
const KEY_LENGTH: usize = 1024;

/// A position in the text, in characters, counted from zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A position where a simple key may have started.
#[derive(Clone, Copy, Debug, Default)]
struct KeyCandidate {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
    offset: usize,
}

/// The scanner and its queue of tokens.
#[derive(Debug)]
pub(crate) struct Scanner<'t> {
    pub(super) input: Input<'t>,
    /// The texts of all tokens, concatenated.
    pub(crate) pool: Vec<u8>,
    pub(super) mark: Mark,
    tokens: VecDeque<Token>,
    /// The number of tokens taken from the queue.
    taken: usize,
    /// The end of the last token that was taken and is not zero-width.
    pub(crate) passed: usize,
    ready: bool,
    started: bool,
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) key_allowed: bool,
    /// One candidate per bracket level.
    candidates: Vec<KeyCandidate>,
    /// Which level's candidate starts with which token, sorted by token.
    by_token: VecDeque<(usize, usize)>,
    pub(super) flow_level: usize,
    /// Line breaks since the last text, while a scalar is scanned.
    pub(super) breaks: Vec<u8>,
    /// Where the last line break that was taken begins.
    pub(super) last_break: usize,
    /// Comments, where they are wanted.
    pub(super) comments: Option<Box<CommentQueue>>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Scanner {
            input: Input::new(text),
            pool: Vec::new(),
            mark: Mark::default(),
            tokens: VecDeque::new(),
            taken: 0,
            passed: 0,
            ready: false,
            started: false,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            candidates: vec![KeyCandidate::default()],
            by_token: VecDeque::new(),
            flow_level: 0,
            breaks: Vec::new(),
            last_break: 0,
            comments: None,
        }
    }

    /// Returns a scanner that keeps comments.
    pub(crate) fn with_comments(text: &'t [u8]) -> Self {
        Scanner { comments: Some(Box::default()), ..Scanner::new(text) }
    }

    /// The last two tokens that were scanned.
    pub(super) fn last_tokens(&self) -> (Option<&Token>, Option<&Token>) {
        let mut tokens = self.tokens.iter().rev();
        let last = tokens.next();
        (tokens.next(), last)
    }

    /// The next token, which stays in the queue.
    pub(crate) fn peek(&mut self) -> Result<Token, Problem> {
        if !self.ready {
            self.fill()?;
            self.ready = true;
        }
        Ok(*self.tokens.front().expect("a filled queue has a token"))
    }

    /// Drops the token that was peeked.
    pub(crate) fn take(&mut self) {
        self.ready = false;
        self.taken += 1;
        if let Some(token) = self.tokens.pop_front()
            && !token.bytes.is_empty()
        {
            self.passed = token.bytes.end;
        }
    }

    /// Scans until the first token of the queue is final: while it may turn out to start a key, a key token may have
    /// to be inserted before it.
    fn fill(&mut self) -> Result<(), Problem> {
        // A comment may belong to the token before or after it; two more tokens decide which.
        let lookahead = if self.comments.is_some() { 2 } else { 0 };
        loop {
            if self.tokens.len() > lookahead {
                match self.level_of(self.taken) {
                    Some(level) if self.is_valid(level)? => {}
                    _ => return Ok(()),
                }
            }
            self.scan_next()?;
        }
    }

    fn level_of(&mut self, token: usize) -> Option<usize> {
        while self.by_token.front().is_some_and(|&(candidate, _)| candidate < token) {
            self.by_token.pop_front();
        }
        self.by_token.front().filter(|&&(candidate, _)| candidate == token).map(|&(_, level)| level)
    }

    fn forget_token(&mut self, token: usize) {
        if let Some(at) = self.by_token.iter().rposition(|&(candidate, _)| candidate <= token)
            && self.by_token[at].0 == token
        {
            self.by_token.remove(at);
        }
    }

    fn scan_next(&mut self) -> Result<(), Problem> {
        self.input.ensure(1)?;
        if !self.started {
            self.started = true;
            self.push(Word::StreamStart, self.mark.line, self.input.offset());
            return Ok(());
        }
        let from = self.input.offset();
        match self.comments {
            None => self.skip_to_token()?,
            Some(_) => self.scan_to_token()?,
        }
        self.unroll(self.mark.column as isize, from);
        self.input.ensure(4)?;
        let byte = self.input.byte(0);
        if byte == 0 {
            return self.scan_stream_end();
        }
        if self.mark.column == 0 && byte == b'%' {
            return self.scan_directive_line();
        }
        if self.at_document_marker() {
            let word = if byte == b'-' { Word::DocumentStart } else { Word::DocumentEnd };
            return self.scan_document_marker(word);
        }
        if self.comments.is_none() {
            return self.scan_token(byte);
        }
        let owner = self.owner_of_line_comment(byte);
        self.scan_token(byte)?;
        self.scan_line_comment_after_token(owner)
    }

    fn scan_token(&mut self, byte: u8) -> Result<(), Problem> {
        let blank_follows = self.is_blank_or_end(1);
        let flow = self.flow_level > 0;
        match byte {
            b'[' => self.scan_flow_start(Word::FlowSequenceStart),
            b'{' => self.scan_flow_start(Word::FlowMappingStart),
            b']' => self.scan_flow_end(Word::FlowSequenceEnd),
            b'}' => self.scan_flow_end(Word::FlowMappingEnd),
            b',' => self.scan_flow_entry(),
            b'-' if blank_follows => self.scan_block_entry(),
            b'?' if flow || blank_follows => self.scan_key(),
            b':' if flow || blank_follows => self.scan_value(),
            b'*' | b'&' => self.scan_anchor_token(),
            b'!' => self.scan_tag_token(),
            b'|' | b'>' if !flow => self.scan_block_scalar_token(),
            b'\'' | b'"' => self.scan_quoted_token(),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.cannot_start(),
            _ if self.is_blank_or_end(0) => self.cannot_start(),
            _ => self.scan_plain_token(),
        }
    }

    fn cannot_start(&self) -> Result<(), Problem> {
        Err(self.problem("found character that cannot start any token"))
    }

    /// An error at the current position.
    pub(super) fn problem(&self, text: &'static str) -> Problem {
        Problem::of_scanner(text, self.mark.line)
    }

    /// Puts a token that began on the line `start`, at the byte `from`, and ends here, at the end of the queue.
    fn push(&mut self, word: Word, start: usize, from: usize) {
        let bytes = Span { start: from, end: self.input.offset() };
        self.tokens.push_back(Token { word, start, end: self.mark.line, bytes, indent: 0 });
    }

    /// Inserts a token at a queue index counted from its head; if that token was already taken, the new one goes to
    /// the end.
    fn insert(&mut self, number: usize, word: Word, line: usize, offset: usize) {
        let bytes = Span { start: offset, end: offset };
        let token = Token { word, start: line, end: line, bytes, indent: 0 };
        match number.checked_sub(self.taken) {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    // Keys.

    fn is_valid(&mut self, level: usize) -> Result<bool, Problem> {
        let candidate = self.candidates[level];
        if !candidate.possible {
            return Ok(false);
        }
        if candidate.mark.line < self.mark.line || candidate.mark.index + KEY_LENGTH < self.mark.index {
            if candidate.required {
                return Err(self.problem("could not find expected ':'").since(candidate.mark.line));
            }
            self.candidates[level].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_key(&mut self) -> Result<(), Problem> {
        if !self.key_allowed {
            return Ok(());
        }
        // What begins at the indentation of an open block map can only be a key of it, so a missing colon is
        // an error at once.
        let required = self.flow_level == 0 && self.indent == self.mark.column as isize;
        self.remove_key()?;
        let token = self.taken + self.tokens.len();
        let level = self.candidates.len() - 1;
        let (mark, offset) = (self.mark, self.input.offset());
        self.candidates[level] = KeyCandidate { possible: true, required, token, mark, offset };
        match self.by_token.back_mut() {
            Some(last) if last.0 == token => last.1 = level,
            _ => self.by_token.push_back((token, level)),
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Result<(), Problem> {
        let level = self.candidates.len() - 1;
        let candidate = self.candidates[level];
        if candidate.possible {
            if candidate.required {
                return Err(self.problem("could not find expected ':'").since(candidate.mark.line));
            }
            self.candidates[level].possible = false;
            self.forget_token(candidate.token);
        }
        Ok(())
    }

    // Indentation.

    /// Opens a block collection at `column` if that is deeper than the current one.
    fn roll(&mut self, mark: Mark, offset: usize, number: Option<usize>, word: Word) -> Result<(), Problem> {
        let Mark { line, column, .. } = mark;
        if self.flow_level > 0 || self.indent >= column as isize {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column as isize;
        if self.indents.len() > DEPTH {
            return Err(self.problem("exceeded max depth of 10000"));
        }
        match number {
            Some(number) => self.insert(number, word, line, offset),
            None => self.push(word, line, offset),
        }
        Ok(())
    }

    /// Closes the block collections that are deeper than `column`. `from` is where the search for the next token began.
    fn unroll(&mut self, column: isize, from: usize) {
        if self.flow_level > 0 {
            return;
        }
        let mut block_end = from.saturating_sub(1);
        while self.indent > column {
            match self.comments {
                None => self.push(Word::BlockEnd, self.mark.line, self.input.offset()),
                Some(_) => {
                    block_end = self.end_before_comments(block_end);
                    let bytes = Span { start: block_end, end: block_end };
                    let line = self.mark.line;
                    let token = Token { word: Word::BlockEnd, start: line, end: line, bytes, indent: 0 };
                    self.tokens.push_back(token);
                }
            }
            self.indent = self.indents.pop().expect("the outermost indentation is -1");
        }
    }

    fn skip_to_token(&mut self) -> Result<(), Problem> {
        loop {
            self.input.ensure(1)?;
            if self.mark.column == 0 && self.input.window_begins_with_mark() {
                self.skip();
            }
            self.input.ensure(1)?;
            // A tab may separate tokens, but not where a key may start.
            let tab_allowed = self.flow_level > 0 || !self.key_allowed;
            while self.input.byte(0) == b' ' || (tab_allowed && self.input.byte(0) == b'\t') {
                self.skip();
                self.input.ensure(1)?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.input.ensure(2)?;
            self.skip_break();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Skips a comment up to its line break, if one begins here.
    pub(super) fn skip_comment(&mut self) -> Result<(), Problem> {
        if self.input.byte(0) == b'#' {
            while !self.is_break_or_end(0) {
                self.skip();
                self.input.ensure(1)?;
            }
        }
        Ok(())
    }

    // Tokens.

    fn scan_stream_end(&mut self) -> Result<(), Problem> {
        // As in libyaml, the end of the stream is on a line of its own, and errors there name that line.
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.leave_blocks()?;
        self.push(Word::StreamEnd, self.mark.line, self.input.offset());
        Ok(())
    }

    fn scan_directive_line(&mut self) -> Result<(), Problem> {
        self.leave_blocks()?;
        let (start, from) = (self.mark.line, self.input.offset());
        let word = self.directive()?;
        self.push(word, start, from);
        Ok(())
    }

    fn scan_document_marker(&mut self, word: Word) -> Result<(), Problem> {
        self.leave_blocks()?;
        let from = self.input.offset();
        for _ in 0..3 {
            self.skip();
        }
        self.push(word, self.mark.line, from);
        Ok(())
    }

    fn leave_blocks(&mut self) -> Result<(), Problem> {
        self.unroll(-1, self.input.offset());
        self.remove_key()?;
        self.key_allowed = false;
        Ok(())
    }

    fn scan_flow_start(&mut self, word: Word) -> Result<(), Problem> {
        self.save_key()?;
        let token = self.taken + self.tokens.len();
        self.candidates.push(KeyCandidate { token, ..KeyCandidate::default() });
        self.flow_level += 1;
        if self.flow_level > DEPTH {
            return Err(self.problem("exceeded max depth of 10000"));
        }
        self.key_allowed = true;
        self.push_indicator(word);
        Ok(())
    }

    fn scan_flow_end(&mut self, word: Word) -> Result<(), Problem> {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            let closed = self.candidates.pop().expect("every level of brackets has a candidate");
            // As in go-yaml, this also discards the bracket itself as a key if the brackets were empty.
            self.forget_token(closed.token);
        }
        self.key_allowed = false;
        self.push_indicator(word);
        Ok(())
    }

    fn scan_flow_entry(&mut self) -> Result<(), Problem> {
        self.remove_key()?;
        self.key_allowed = true;
        self.push_indicator(Word::FlowEntry);
        Ok(())
    }

    fn scan_block_entry(&mut self) -> Result<(), Problem> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(self.problem("block sequence entries are not allowed in this context"));
            }
            self.roll(self.mark, self.input.offset(), None, Word::BlockSequenceStart)?;
        }
        self.remove_key()?;
        self.key_allowed = true;
        self.push_indicator(Word::BlockEntry);
        Ok(())
    }

    fn scan_key(&mut self) -> Result<(), Problem> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(self.problem("mapping keys are not allowed in this context"));
            }
            self.roll(self.mark, self.input.offset(), None, Word::BlockMappingStart)?;
        }
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.push_indicator(Word::Key);
        Ok(())
    }

    fn scan_value(&mut self) -> Result<(), Problem> {
        let level = self.candidates.len() - 1;
        if self.is_valid(level)? {
            let KeyCandidate { token, mark, offset, .. } = self.candidates[level];
            // Both go before the tokens of the key; the second lands in front of the first.
            self.insert(token, Word::Key, mark.line, offset);
            self.roll(mark, offset, Some(token), Word::BlockMappingStart)?;
            self.candidates[level].possible = false;
            self.forget_token(token);
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return Err(self.problem("mapping values are not allowed in this context"));
                }
                self.roll(self.mark, self.input.offset(), None, Word::BlockMappingStart)?;
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.push_indicator(Word::Value);
        Ok(())
    }

    fn scan_anchor_token(&mut self) -> Result<(), Problem> {
        self.save_key()?;
        self.key_allowed = false;
        let (start, from) = (self.mark.line, self.input.offset());
        let word = self.anchor()?;
        self.push(word, start, from);
        Ok(())
    }

    fn scan_tag_token(&mut self) -> Result<(), Problem> {
        self.save_key()?;
        self.key_allowed = false;
        let (start, from) = (self.mark.line, self.input.offset());
        let word = self.tag()?;
        self.push(word, start, from);
        Ok(())
    }

    fn scan_block_scalar_token(&mut self) -> Result<(), Problem> {
        self.remove_key()?;
        self.key_allowed = true;
        let token = self.block_scalar()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn scan_quoted_token(&mut self) -> Result<(), Problem> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.quoted_scalar()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn scan_plain_token(&mut self) -> Result<(), Problem> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.plain_scalar()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn push_indicator(&mut self, word: Word) {
        let from = self.input.offset();
        self.skip();
        self.push(word, self.mark.line, from);
    }
}
