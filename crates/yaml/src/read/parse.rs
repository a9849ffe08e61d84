//! The parser: tokens to events, as a state machine.
//! States and names follow go-yaml's `parserc.go`, a port of libyaml. The state of each enclosing collection
//! is on a stack of its own, so that depth is limited by memory alone.

use super::comments::{Comments, Pending};
use super::scan::Scanner;
use super::token::{Span, Token, Word};
use crate::error::Problem;

/// An event with its line and the bytes of its token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) line: usize,
    pub(crate) bytes: Span,
    /// Where the anchor or the tag begins, or else the node itself.
    pub(crate) outer: usize,
    /// The indentation of the lines of a block scalar.
    pub(crate) indent: usize,
}

impl Event {
    fn new(kind: EventKind, line: usize, token: &Token) -> Self {
        Event { kind, line, bytes: token.bytes, outer: token.bytes.start, indent: token.indent }
    }
}

/// What an event is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventKind {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(Span),
    /// `implicit` is whether the text decides the type.
    Scalar {
        anchor: Option<Span>,
        tag: Option<Span>,
        text: Span,
        implicit: bool,
    },
    SequenceStart(Option<Span>),
    SequenceEnd,
    MappingStart(Option<Span>),
    MappingEnd,
}

#[derive(Clone, Copy, Debug)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequence { first: bool },
    IndentlessSequence,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequence { first: bool },
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Which nodes are allowed here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeContext {
    Block,
    BlockOrIndentless,
    Flow,
}

/// The parser.
#[derive(Debug)]
pub(crate) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    states: Vec<State>,
    /// The tag handles in effect, with their prefixes.
    handles: Vec<(Vec<u8>, Vec<u8>)>,
    /// The lines on which the open collections begin, for errors.
    begins: Vec<usize>,
    /// The offset of the dash or colon before the last node.
    lead: usize,
    /// Comments that belong to the next event, where they are wanted.
    pending: Option<Box<Pending>>,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Parser {
            scanner: Scanner::new(text),
            state: State::StreamStart,
            states: Vec::new(),
            handles: Vec::new(),
            begins: Vec::new(),
            lead: 0,
            pending: None,
        }
    }

    /// Returns a parser that keeps comments.
    pub(crate) fn with_comments(text: &'t [u8]) -> Self {
        let mut parser = Parser::new(text);
        parser.scanner = Scanner::with_comments(text);
        parser.pending = Some(Box::default());
        parser
    }

    /// The comments of the last event.
    pub(crate) fn take_comments(&mut self) -> Comments {
        self.pending.as_mut().map(|pending| std::mem::take(&mut pending.event)).unwrap_or_default()
    }

    /// The texts that spans point into.
    pub(crate) fn pool(&self) -> &[u8] {
        &self.scanner.pool
    }

    /// The offset of the last dash or colon.
    pub(crate) fn lead(&self) -> usize {
        self.lead
    }

    /// Whether the text is UTF-16.
    pub(crate) fn is_wide(&self) -> bool {
        self.scanner.input.is_wide()
    }

    /// Ends parsing and keeps the texts.
    pub(crate) fn into_pool(self) -> Vec<u8> {
        self.scanner.pool
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Result<Event, Problem> {
        match self.state {
            State::StreamStart => {
                let token = self.peek()?;
                self.scanner.take();
                self.state = State::ImplicitDocumentStart;
                Ok(Event::new(EventKind::StreamStart, token.start, &token))
            }
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(NodeContext::Block),
            State::BlockSequence { first } => self.block_sequence(first),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequence { first } => self.flow_sequence(first),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                let token = self.peek()?;
                self.state = State::FlowSequence { first: false };
                let end = Span { start: self.scanner.passed, end: self.scanner.passed };
                Ok(Event { bytes: end, ..Event::new(EventKind::MappingEnd, token.start, &token) })
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let token = self.peek()?;
                self.empty(State::FlowMappingKey { first: false }, token.start)
            }
            State::End => {
                let (bytes, outer) = (Span::default(), 0);
                Ok(Event { kind: EventKind::StreamEnd, line: 0, bytes, outer, indent: 0 })
            }
        }
    }

    fn peek(&mut self) -> Result<Token, Problem> {
        let token = self.scanner.peek()?;
        if let (Some(pending), Some(queue)) = (&mut self.pending, &mut self.scanner.comments) {
            pending.unfold(queue, &token);
        }
        Ok(token)
    }

    /// Drops the peeked token and peeks the one after it.
    fn take_and_peek(&mut self) -> Result<Token, Problem> {
        self.scanner.take();
        self.peek()
    }

    /// Assigns the comments so far to the current event.
    fn set_event_comments(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.finish_event();
        }
    }

    /// Drops the dash of a sequence and peeks the token after it. If the item is a collection, a comment before the dash
    /// belongs to that collection.
    fn take_dash(&mut self) -> Result<Token, Problem> {
        let before = self.pending.as_ref().map_or(0, |pending| pending.head_length());
        let token = self.take_and_peek()?;
        if let Some(pending) = &mut self.pending
            && matches!(token.word, Word::BlockSequenceStart | Word::BlockMappingStart)
        {
            pending.split_stem(before);
        }
        Ok(token)
    }

    fn empty(&mut self, next: State, line: usize) -> Result<Event, Problem> {
        self.state = next;
        let kind = EventKind::Scalar { anchor: None, tag: None, text: Span::default(), implicit: true };
        // A node that is not written is positioned where the previous token ends.
        let passed = self.scanner.passed;
        Ok(Event { kind, line, bytes: Span { start: passed, end: passed }, outer: passed, indent: 0 })
    }

    fn child(&mut self, context: NodeContext, after: State) -> Result<Event, Problem> {
        self.states.push(after);
        self.node(context)
    }

    fn return_to_parent(&mut self) {
        self.state = self.states.pop().expect("every node was entered from a state");
    }

    fn end(&mut self, kind: EventKind, token: &Token) -> Result<Event, Problem> {
        self.return_to_parent();
        Ok(Event::new(kind, token.start, token))
    }

    // Documents.

    fn document_start(&mut self, implicit: bool) -> Result<Event, Problem> {
        let mut token = self.peek()?;
        if !implicit {
            while token.word == Word::DocumentEnd {
                token = self.take_and_peek()?;
            }
        }
        let line = token.start;
        match token.word {
            Word::StreamEnd => {
                self.state = State::End;
                self.scanner.take();
                return Ok(Event::new(EventKind::StreamEnd, line, &token));
            }
            Word::VersionDirective { .. } | Word::TagDirective { .. } | Word::DocumentStart => {}
            _ if implicit => {
                self.directives()?;
                if let Some(pending) = &mut self.pending {
                    pending.split_document_head();
                }
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                return Ok(Event::new(EventKind::DocumentStart, line, &token));
            }
            _ => {}
        }
        self.directives()?;
        let token = self.peek()?;
        if token.word != Word::DocumentStart {
            return Err(Problem::of_parser("did not find expected <document start>", token.start));
        }
        self.scanner.take();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event::new(EventKind::DocumentStart, line, &token))
    }

    fn document_content(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        match token.word {
            Word::VersionDirective { .. }
            | Word::TagDirective { .. }
            | Word::DocumentStart
            | Word::DocumentEnd
            | Word::StreamEnd => {
                let after = self.states.pop().expect("the end of the document is awaited");
                self.empty(after, token.start)
            }
            _ => self.node(NodeContext::Block),
        }
    }

    fn document_end(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        if token.word == Word::DocumentEnd {
            self.scanner.take();
        }
        self.handles.clear();
        self.state = State::DocumentStart;
        self.set_event_comments();
        Ok(Event::new(EventKind::DocumentEnd, token.start, &token))
    }

    fn directives(&mut self) -> Result<(), Problem> {
        let mut versioned = false;
        let mut token = self.peek()?;
        loop {
            match token.word {
                Word::VersionDirective { .. } if versioned => {
                    return Err(Problem::of_parser("found duplicate %YAML directive", token.start));
                }
                // go-yaml 2 implements YAML 1.1 and refuses a `%YAML 1.2` directive.
                Word::VersionDirective { major: 1, minor: 1 } => versioned = true,
                Word::VersionDirective { .. } => {
                    return Err(Problem::of_parser("found incompatible YAML document", token.start));
                }
                Word::TagDirective { handle, prefix } => {
                    let pool = &self.scanner.pool;
                    let (handle, prefix) = (handle.of(pool).to_vec(), prefix.of(pool).to_vec());
                    if self.handles.iter().any(|(known, _)| *known == handle) {
                        return Err(Problem::of_parser("found duplicate %TAG directive", token.start));
                    }
                    self.handles.push((handle, prefix));
                }
                _ => break,
            }
            token = self.take_and_peek()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.handles.iter().any(|(known, _)| known == handle.as_bytes()) {
                self.handles.push((handle.into(), prefix.into()));
            }
        }
        Ok(())
    }

    // Nodes.

    fn node(&mut self, context: NodeContext) -> Result<Event, Problem> {
        let mut token = self.peek()?;
        let (line, outer) = (token.start, token.bytes.start);
        if let Word::Alias(name) = token.word {
            self.set_event_comments();
            self.scanner.take();
            return self.end(EventKind::Alias(name), &token);
        }
        let mut anchor = None;
        let mut tag = None;
        // An anchor and a tag, each at most once, in any order.
        for _ in 0..2 {
            match token.word {
                Word::Anchor(name) if anchor.is_none() => anchor = Some(name),
                Word::Tag { handle, suffix } if tag.is_none() => tag = Some((handle, suffix, token.start)),
                _ => break,
            }
            token = self.take_and_peek()?;
        }
        let tag = match tag {
            Some((handle, suffix, line)) => Some(self.whole_tag(handle, suffix, line)?),
            None => None,
        };
        let next = match token.word {
            Word::BlockEntry if context == NodeContext::BlockOrIndentless => State::IndentlessSequence,
            Word::FlowSequenceStart => State::FlowSequence { first: true },
            Word::FlowMappingStart => State::FlowMappingKey { first: true },
            Word::BlockSequenceStart if context != NodeContext::Flow => State::BlockSequence { first: true },
            Word::BlockMappingStart if context != NodeContext::Flow => State::BlockMappingKey { first: true },
            Word::Scalar { text, plain } => {
                self.set_event_comments();
                self.scanner.take();
                let implicit = match tag {
                    None => plain,
                    // A scalar with the tag `!` counts as implicit even in quotes, which makes `! "<<"` a
                    // merge key.
                    Some(tag) => tag.of(&self.scanner.pool) == b"!",
                };
                self.return_to_parent();
                let kind = EventKind::Scalar { anchor, tag, text, implicit };
                return Ok(Event { outer, ..Event::new(kind, line, &token) });
            }
            _ if anchor.is_some() || tag.is_some() => {
                let kind = EventKind::Scalar { anchor, tag, text: Span::default(), implicit: tag.is_none() };
                self.return_to_parent();
                let passed = self.scanner.passed;
                let bytes = Span { start: passed, end: passed };
                return Ok(Event { kind, line, bytes, outer, indent: 0 });
            }
            _ => {
                let problem = Problem::of_parser("did not find expected node content", token.start);
                return Err(problem.inside(line));
            }
        };
        self.state = next;
        match next {
            State::FlowSequence { .. } | State::FlowMappingKey { .. } => self.set_event_comments(),
            State::BlockSequence { .. } | State::BlockMappingKey { .. } => {
                if let Some(pending) = &mut self.pending {
                    pending.use_stem();
                }
            }
            _ => {}
        }
        let mapping = matches!(next, State::FlowMappingKey { .. } | State::BlockMappingKey { .. });
        let kind = if mapping { EventKind::MappingStart(anchor) } else { EventKind::SequenceStart(anchor) };
        Ok(Event { outer, ..Event::new(kind, line, &token) })
    }

    /// A tag with its handle spelled out.
    fn whole_tag(&mut self, handle: Span, suffix: Span, line: usize) -> Result<Span, Problem> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        let pool = &mut self.scanner.pool;
        let Some((_, prefix)) = self.handles.iter().find(|(known, _)| known == handle.of(pool)) else {
            return Err(Problem::of_parser("found undefined tag handle", line));
        };
        let start = pool.len();
        pool.extend_from_slice(prefix);
        pool.extend_from_within(suffix.start..suffix.end);
        Ok(Span { start, end: pool.len() })
    }

    /// The next token of a collection, after the one that begins it.
    fn in_collection(&mut self, first: bool) -> Result<Token, Problem> {
        if !first {
            return self.peek();
        }
        let begin = self.peek()?;
        self.begins.push(begin.start);
        self.take_and_peek()
    }

    /// The error about a token that is not allowed in the current collection.
    fn misplaced(&self, text: &'static str, token: &Token) -> Problem {
        Problem::of_parser(text, token.start).inside(self.begins.last().copied().unwrap_or_default())
    }

    // Block collections.

    fn block_sequence(&mut self, first: bool) -> Result<Event, Problem> {
        let token = self.in_collection(first)?;
        match token.word {
            Word::BlockEntry => {
                self.lead = token.bytes.start;
                let next = self.take_dash()?;
                let state = State::BlockSequence { first: false };
                if matches!(next.word, Word::BlockEntry | Word::BlockEnd) {
                    self.empty(state, token.end)
                } else {
                    self.child(NodeContext::Block, state)
                }
            }
            Word::BlockEnd => {
                self.begins.pop();
                self.scanner.take();
                self.end(EventKind::SequenceEnd, &token)
            }
            _ => Err(self.misplaced("did not find expected '-' indicator", &token)),
        }
    }

    fn indentless_sequence(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        if token.word != Word::BlockEntry {
            return self.end(EventKind::SequenceEnd, &token);
        }
        self.lead = token.bytes.start;
        let next = self.take_dash()?;
        if matches!(next.word, Word::BlockEntry | Word::Key | Word::Value | Word::BlockEnd) {
            self.empty(State::IndentlessSequence, token.end)
        } else {
            self.child(NodeContext::Block, State::IndentlessSequence)
        }
    }

    fn block_mapping_key(&mut self, first: bool) -> Result<Event, Problem> {
        let token = self.in_collection(first)?;
        match token.word {
            Word::Key => {
                let next = self.take_and_peek()?;
                if matches!(next.word, Word::Key | Word::Value | Word::BlockEnd) {
                    self.empty(State::BlockMappingValue, token.end)
                } else {
                    self.child(NodeContext::BlockOrIndentless, State::BlockMappingValue)
                }
            }
            Word::BlockEnd => {
                self.begins.pop();
                self.set_event_comments();
                self.scanner.take();
                self.end(EventKind::MappingEnd, &token)
            }
            _ => Err(self.misplaced("did not find expected key", &token)),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        let state = State::BlockMappingKey { first: false };
        if token.word != Word::Value {
            return self.empty(state, token.start);
        }
        self.lead = token.bytes.start;
        let next = self.take_and_peek()?;
        if matches!(next.word, Word::Key | Word::Value | Word::BlockEnd) {
            self.empty(state, token.end)
        } else {
            self.child(NodeContext::BlockOrIndentless, state)
        }
    }

    // Flow collections.

    fn flow_sequence(&mut self, first: bool) -> Result<Event, Problem> {
        let mut token = self.in_collection(first)?;
        if !first && token.word != Word::FlowSequenceEnd {
            if token.word != Word::FlowEntry {
                return Err(self.misplaced("did not find expected ',' or ']'", &token));
            }
            token = self.take_and_peek()?;
        }
        match token.word {
            Word::FlowSequenceEnd => {
                self.begins.pop();
                self.set_event_comments();
                self.scanner.take();
                self.end(EventKind::SequenceEnd, &token)
            }
            Word::Key => {
                self.scanner.take();
                self.state = State::FlowPairKey;
                // The pair starts with its key, unless a question mark precedes it.
                Ok(Event::new(EventKind::MappingStart(None), token.start, &token))
            }
            _ => self.child(NodeContext::Flow, State::FlowSequence { first: false }),
        }
    }

    /// The key of a `[key: value]` pair.
    fn flow_pair_key(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        if !matches!(token.word, Word::Value | Word::FlowEntry | Word::FlowSequenceEnd) {
            return self.child(NodeContext::Flow, State::FlowPairValue);
        }
        // go-yaml drops the token after a missing key, even a closing bracket.
        self.scanner.take();
        self.empty(State::FlowPairValue, token.end)
    }

    fn flow_pair_value(&mut self) -> Result<Event, Problem> {
        let token = self.peek()?;
        if token.word == Word::Value {
            self.lead = token.bytes.start;
            let next = self.take_and_peek()?;
            if !matches!(next.word, Word::FlowEntry | Word::FlowSequenceEnd) {
                return self.child(NodeContext::Flow, State::FlowPairEnd);
            }
        }
        self.empty(State::FlowPairEnd, token.start)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event, Problem> {
        let mut token = self.in_collection(first)?;
        if !first && token.word != Word::FlowMappingEnd {
            if token.word != Word::FlowEntry {
                return Err(self.misplaced("did not find expected ',' or '}'", &token));
            }
            token = self.take_and_peek()?;
        }
        match token.word {
            Word::FlowMappingEnd => {
                self.begins.pop();
                self.set_event_comments();
                self.scanner.take();
                self.end(EventKind::MappingEnd, &token)
            }
            Word::Key => {
                let next = self.take_and_peek()?;
                if matches!(next.word, Word::Value | Word::FlowEntry | Word::FlowMappingEnd) {
                    self.empty(State::FlowMappingValue, next.start)
                } else {
                    self.child(NodeContext::Flow, State::FlowMappingValue)
                }
            }
            _ => self.child(NodeContext::Flow, State::FlowMappingEmptyValue),
        }
    }

    fn flow_mapping_value(&mut self) -> Result<Event, Problem> {
        let mut token = self.peek()?;
        let state = State::FlowMappingKey { first: false };
        if token.word == Word::Value {
            self.lead = token.bytes.start;
            token = self.take_and_peek()?;
            if !matches!(token.word, Word::FlowEntry | Word::FlowMappingEnd) {
                return self.child(NodeContext::Flow, state);
            }
        }
        self.empty(state, token.start)
    }
}
