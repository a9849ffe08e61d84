//! Comments, attached to tokens and events as go-yaml 3 does it.
//!
//! A comment becomes the head of what follows it, the line comment of what is before it on the line, or the foot of what is
//! above it. Which one depends on blank lines and indentation; programs that document charts rely on the details. The rules
//! work on positions: a comment is attached once the parser reaches the token at its `owner`.

use std::collections::VecDeque;

use super::scan::Scanner;
use super::token::{Token, Word};
use crate::error::Problem;

/// How many bytes go-yaml looks ahead for the next comment (`peek < 512` in its scanner). Beyond, it does not see them.
const LOOKAHEAD: usize = 512;

/// The comments of a node or event, with their number signs, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comments {
    pub(crate) head: Vec<u8>,
    pub(crate) line: Vec<u8>,
    pub(crate) foot: Vec<u8>,
}

/// Comments that were scanned and do not belong to an event yet.
#[derive(Debug, Default)]
pub(crate) struct CommentQueue {
    comments: VecDeque<Comment>,
}

/// A position in the text. Columns are counted from zero in line comments and from one in others, as go-yaml does.
#[derive(Clone, Copy, Debug, Default)]
struct SourcePosition {
    index: usize,
    line: usize,
    column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Head,
    Line,
    Foot,
}

#[derive(Debug)]
struct Comment {
    /// Where the search that found it began.
    scan: usize,
    /// The position of the token that it belongs to.
    owner: usize,
    start: SourcePosition,
    /// Zero for line comments.
    end: usize,
    role: Role,
    text: Vec<u8>,
}

impl Scanner<'_> {
    /// Skips white space up to the next token, and keeps the comments.
    pub(super) fn scan_to_token(&mut self) -> Result<(), Problem> {
        let from =
            SourcePosition { index: self.input.offset(), line: self.mark.line, column: self.mark.column };
        loop {
            self.input.ensure(1)?;
            if self.mark.column == 0 && self.input.window_begins_with_mark() {
                self.skip();
            }
            self.input.ensure(1)?;
            let tab_allowed = self.flow_level > 0 || !self.key_allowed;
            while self.input.byte(0) == b' ' || (tab_allowed && self.input.byte(0) == b'\t') {
                self.skip();
                self.input.ensure(1)?;
            }
            self.turn_dash_comment_to_head();
            if self.input.byte(0) == b'#' {
                self.scan_comments(from)?;
            }
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

    /// A comment beside the first dash of a sequence is the head of what follows it.
    fn turn_dash_comment_to_head(&mut self) {
        let after_dash = match self.last_tokens() {
            (Some(before), Some(last)) => {
                before.word == Word::BlockSequenceStart && last.word == Word::BlockEntry
            }
            _ => false,
        };
        if !after_dash || self.is_break(0) {
            return;
        }
        let (line, index) = (self.mark.line, self.input.offset());
        if let Some(comment) = self.comments.as_mut().and_then(|queue| queue.comments.back_mut())
            && comment.role == Role::Line
        {
            comment.role = Role::Head;
            if comment.start.line + 1 == line {
                comment.owner = index;
            }
        }
    }

    /// The position of the token that a comment after the next token belongs to: the key, not its colon.
    pub(super) fn owner_of_line_comment(&self, byte: u8) -> usize {
        let belongs_to_last = if self.flow_level == 0 { byte == b':' } else { byte == b',' };
        match self.last_tokens() {
            (_, Some(last)) if belongs_to_last => last.bytes.start,
            _ => self.input.offset(),
        }
    }

    /// Keeps a comment behind the token that was just scanned. A dash alone has none.
    pub(super) fn scan_line_comment_after_token(&mut self, owner: usize) -> Result<(), Problem> {
        match self.last_tokens() {
            (_, Some(last)) if last.word == Word::BlockEntry => Ok(()),
            _ => self.scan_line_comment(owner),
        }
    }

    /// Keeps a comment that begins here, after blanks.
    pub(super) fn scan_line_comment(&mut self, owner: usize) -> Result<(), Problem> {
        if self.input.newlines() > 0 {
            return Ok(());
        }
        let mut ahead = 0;
        self.input.ensure(1)?;
        while ahead < LOOKAHEAD && self.is_blank(ahead) {
            ahead += 1;
            self.input.ensure(ahead + 1)?;
        }
        if ahead == LOOKAHEAD || self.input.byte(ahead) != b'#' {
            return Ok(());
        }
        for _ in 0..ahead {
            self.skip();
        }
        let start =
            SourcePosition { index: self.input.offset(), line: self.mark.line, column: self.mark.column };
        let mut text = Vec::new();
        self.take_comment_line(&mut text)?;
        self.add_comment(Comment { scan: 0, owner, start, end: 0, role: Role::Line, text });
        Ok(())
    }

    fn take_comment_line(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        while !self.is_break_or_end(0) {
            text.extend_from_slice(self.input.character());
            self.skip();
            self.input.ensure(1)?;
        }
        Ok(())
    }

    fn add_comment(&mut self, comment: Comment) {
        if let Some(queue) = &mut self.comments {
            queue.comments.push_back(comment);
        }
    }

    /// Keeps the comments that begin here, over several lines, and divides them into feet and heads.
    fn scan_comments(&mut self, from: SourcePosition) -> Result<(), Problem> {
        let (owner, after_value) = self.foot_owner();
        let newlines = self.input.newlines();
        // A comment that is to be a foot has to begin on the line after the content above it.
        let foot_line = (from.line > 0).then(|| {
            let line = (self.mark.line + 1).saturating_sub(newlines);
            line + usize::from(newlines == 0 && self.mark.column > 1)
        });
        let mut block = CommentBlock {
            scan: from.index,
            owner,
            after_value,
            foot_line,
            first_empty: newlines <= 1,
            recent_empty: false,
            start: SourcePosition::default(),
            here: SourcePosition { index: 0, line: self.mark.line, column: self.mark.column },
            text: Vec::new(),
        };
        let mut ahead = 0;
        while ahead < LOOKAHEAD {
            self.input.ensure(ahead + 1)?;
            block.here.column += 1;
            block.here.index = self.input.offset() + ahead;
            if self.is_blank(ahead) {
                ahead += 1;
                continue;
            }
            let byte = self.input.byte(ahead);
            let closes_flow = self.flow_level > 0 && matches!(byte, b']' | b'}');
            let next_indent = self.indent.max(0) as usize;
            if closes_flow || self.is_break_or_end(ahead) {
                self.end_comment_line(&mut block, closes_flow, byte, next_indent);
                if !self.is_break(ahead) {
                    break;
                }
                block.first_empty = false;
                block.recent_empty = true;
                block.here.column = 0;
                block.here.line += 1;
                ahead += 1;
                continue;
            }
            let dedented = block.here.column <= next_indent && block.here.column != block.start.column;
            if !block.text.is_empty() && dedented {
                // A comment at another indentation is a foot of what is above.
                self.add_foot(&mut block);
            }
            if byte != b'#' {
                break;
            }
            match block.text.is_empty() {
                true => block.start = block.here,
                false => block.text.push(b'\n'),
            }
            block.recent_empty = false;
            self.skip_bytes(ahead);
            self.take_comment_line(&mut block.text)?;
            // As in go-yaml, the search goes on behind the line break, without counting it.
            ahead = 1;
            block.here.column = 0;
            block.here.line = self.mark.line;
        }
        if !block.text.is_empty() {
            let end = (self.input.offset() + ahead).saturating_sub(1);
            let CommentBlock { scan, start, text, .. } = block;
            self.add_comment(Comment { scan, owner: start.index, start, end, role: Role::Head, text });
        }
        Ok(())
    }

    /// The position of the token that a foot belongs to, and whether it is a colon.
    fn foot_owner(&self) -> (usize, bool) {
        let token = match self.last_tokens() {
            (Some(before), Some(last)) if last.word == Word::FlowEntry => Some(before),
            (_, last) => last,
        };
        token.map_or((0, false), |token| (token.bytes.start, token.word == Word::Value))
    }

    /// An empty line, the end of the text or a closing bracket: what comes before may be a foot.
    fn end_comment_line(
        &mut self,
        block: &mut CommentBlock,
        closes_flow: bool,
        byte: u8,
        next_indent: usize,
    ) {
        if block.recent_empty && !closes_flow {
            return;
        }
        let dedented = block.start.column <= next_indent;
        let below = block.foot_line == Some(block.start.line) && !block.after_value;
        if closes_flow || (block.first_empty && (below || dedented)) {
            if !block.text.is_empty() {
                if dedented {
                    block.owner = block.start.index;
                }
                self.add_foot(block);
            }
        } else if !block.text.is_empty() && byte != 0 {
            block.text.push(b'\n');
        }
    }

    fn add_foot(&mut self, block: &mut CommentBlock) {
        let text = std::mem::take(&mut block.text);
        let end = block.here.index;
        let CommentBlock { scan, owner, start, .. } = *block;
        self.add_comment(Comment { scan, owner, start, end, role: Role::Foot, text });
        block.scan = end;
        block.owner = end;
    }

    fn skip_bytes(&mut self, count: usize) {
        let target = self.input.offset() + count;
        while self.input.offset() < target {
            match self.is_break(0) {
                true => self.skip_break(),
                false => self.skip(),
            }
        }
    }

    /// Where a block ends: before the comments at the indentation of its parent that follow it.
    pub(super) fn end_before_comments(&self, block_end: usize) -> usize {
        let Some(queue) = &self.comments else { return block_end };
        let (mut end, mut stop) = (block_end, block_end);
        for comment in queue.comments.iter().rev() {
            if comment.end < stop {
                break;
            }
            if comment.start.column as isize == self.indent + 1 {
                end = comment.start.index;
            }
            stop = comment.scan;
        }
        end
    }
}

/// Adjacent comments while they are scanned.
struct CommentBlock {
    scan: usize,
    owner: usize,
    after_value: bool,
    foot_line: Option<usize>,
    first_empty: bool,
    recent_empty: bool,
    start: SourcePosition,
    here: SourcePosition,
    text: Vec<u8>,
}

/// Comments that are not attached to an event yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    comments: Comments,
    /// The head of a collection that is an item of a sequence.
    stem: Option<Vec<u8>>,
    pub(super) event: Comments,
}

impl Pending {
    /// Takes the comments that belong to a token or to what is before it.
    pub(super) fn unfold(&mut self, queue: &mut CommentQueue, token: &Token) {
        while let Some(comment) = queue.comments.front()
            && token.bytes.start >= comment.owner
        {
            let into = match comment.role {
                // Ends have no heads; it goes to the next token.
                Role::Head if token.word == Word::BlockEnd => break,
                Role::Head => &mut self.comments.head,
                Role::Line => &mut self.comments.line,
                Role::Foot => &mut self.comments.foot,
            };
            if !into.is_empty() {
                into.push(b'\n');
            }
            into.extend_from_slice(&comment.text);
            queue.comments.pop_front();
        }
    }

    pub(super) fn finish_event(&mut self) {
        self.event = std::mem::take(&mut self.comments);
        self.stem = None;
    }

    pub(super) fn head_length(&self) -> usize {
        self.comments.head.len()
    }

    pub(super) fn split_stem(&mut self, length: usize) {
        if length == 0 {
            return;
        }
        let rest = self.comments.head.get(length + 1..).unwrap_or_default().to_vec();
        self.comments.head.truncate(length);
        self.stem = Some(std::mem::replace(&mut self.comments.head, rest));
    }

    pub(super) fn use_stem(&mut self) {
        if let Some(stem) = self.stem.take() {
            self.event.head = stem;
        }
    }

    /// The part of the first head before its last empty line belongs to the document.
    pub(super) fn split_document_head(&mut self) {
        let head = &mut self.comments.head;
        for at in (1..head.len()).rev() {
            if head[at] != b'\n' {
                continue;
            }
            let document_end = match () {
                () if at == head.len() - 1 => at,
                () if head[at - 1] == b'\n' => at - 1,
                () => continue,
            };
            let rest = head.split_off(at + 1);
            head.truncate(document_end);
            self.event.head = std::mem::replace(head, rest);
            return;
        }
    }
}
