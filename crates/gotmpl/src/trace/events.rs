//! What templates read and write, step by step.
//!
//! Maps are recorded by identity, so that a map that is passed to another template, stored in a variable or wrapped in
//! another map is still recognized. The program that renders knows what its maps mean.

use pintle_tree::Str;

use super::values::followed;
use crate::ast::{Node, Position, Source, VariableId};
use crate::node_text::NodeRef;
use crate::value::{MapRef, Value};

/// The index of an [`Event`].
pub type EventIndex = usize;

/// What happened during a render, in the order in which it ended.
#[derive(Debug, Default)]
pub struct Events {
    /// The names and texts of the sources that events refer to.
    sources: Vec<(Str, Str)>,
    list: Vec<Event>,
    /// The [`Event::Output`]s of whole files.
    files: Vec<EventIndex>,
    /// The outputs that are being written, the innermost last.
    outputs: Vec<RunningOutput>,
    /// The nodes that are running, the innermost last.
    nodes: Vec<RunningNode>,
}

/// A position in the source of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracePosition {
    source: usize,
    offset: Position,
}

/// Something that happened during a render.
#[derive(Debug)]
pub enum Event {
    /// A template read a key of a map.
    Read {
        /// [`MapRef::address`] of the map.
        map: usize,
        /// The key.
        key: Str,
        /// Where.
        at: TracePosition,
    },
    /// A template used a variable.
    Use {
        /// The variable.
        variable: TracedVariable,
    },
    /// A template declared or assigned a variable.
    Assign {
        /// The variable.
        variable: TracedVariable,
        /// The first event of the pipeline that computed it.
        first: EventIndex,
    },
    /// A node was executed.
    Node {
        /// What it is.
        kind: TracedNode,
        /// Where.
        at: TracePosition,
        /// Its first event.
        first: EventIndex,
        /// What it wrote, as offsets of the innermost output.
        output: (usize, usize),
    },
    /// A template was executed with an output of its own: a file, or what a function such as `include` returned.
    Output {
        /// Its first event.
        first: EventIndex,
        /// What it wrote.
        text: Str,
    },
}

/// A variable: its number in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedVariable {
    source: usize,
    id: VariableId,
}

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedNode {
    /// Text, which is written as it is.
    Text,
    /// An action.
    Action,
    /// `if`, `with` or `range`.
    Block,
    /// `template`.
    Call,
}

#[derive(Debug)]
struct RunningOutput {
    first: EventIndex,
    /// The number of nodes that were running when it began.
    nodes: usize,
}

#[derive(Debug)]
struct RunningNode {
    /// `None` for `break` and `continue`, which are not recorded.
    kind: Option<TracedNode>,
    at: TracePosition,
    first: EventIndex,
    start: usize,
}

impl Events {
    /// All events. An event comes after everything that happened inside of it.
    pub fn as_slice(&self) -> &[Event] {
        &self.list
    }

    /// The [`Event::Output`]s of whole files, in the order in which they were rendered.
    pub fn files(&self) -> &[EventIndex] {
        &self.files
    }

    /// The name of the source of a position, and its line, counted from one. `skip` bytes of the source are passed
    /// first, for positions inside of text.
    pub fn source_position(&self, at: TracePosition, skip: usize) -> (&Str, usize) {
        let (name, text) = &self.sources[at.source];
        let end = (at.offset as usize + skip).min(text.len());
        (name, 1 + text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count())
    }

    /// The name of the source of a position, and its byte offset.
    pub fn source_offset(&self, at: TracePosition) -> (&Str, usize) {
        (&self.sources[at.source].0, at.offset as usize)
    }

    /// The index that the next event gets.
    pub(super) fn next(&self) -> EventIndex {
        self.list.len()
    }

    pub(super) fn begin_output(&mut self) {
        self.outputs.push(RunningOutput { first: self.next(), nodes: self.nodes.len() });
    }

    /// Ends the innermost output, which is part of another one.
    pub(super) fn end_output(&mut self, text: &[u8]) {
        let Some(RunningOutput { first, .. }) = self.outputs.pop() else { return };
        self.list.push(Event::Output { first, text: Str::new(text) });
    }

    /// Ends the output of a file.
    pub(super) fn end_file(&mut self, text: &[u8]) {
        self.files.push(self.next());
        self.end_output(text);
    }

    /// Ends the output of a file that an error has cut short.
    pub(super) fn end_failed_file(&mut self, text: &[u8]) {
        // What runs in outputs inside of this one has written nothing of it.
        if let Some(inner) = self.outputs.get(1) {
            self.nodes.truncate(inner.nodes);
        }
        self.outputs.truncate(1);
        while !self.nodes.is_empty() {
            self.end_node(text.len());
        }
        self.end_file(text);
    }

    pub(super) fn begin_node(&mut self, source: &Source, node: &Node, written: usize) {
        let kind = match node {
            Node::Text { .. } => Some(TracedNode::Text),
            Node::Action(_) => Some(TracedNode::Action),
            Node::If(_) | Node::With(_) | Node::Range(_) => Some(TracedNode::Block),
            Node::Template(_) => Some(TracedNode::Call),
            Node::Break(_) | Node::Continue(_) => None,
        };
        let at = self.position(source, NodeRef::Node(node).position(source));
        self.nodes.push(RunningNode { kind, at, first: self.next(), start: written });
    }

    pub(super) fn end_node(&mut self, written: usize) {
        let Some(RunningNode { kind, at, first, start }) = self.nodes.pop() else { return };
        if let Some(kind) = kind {
            self.list.push(Event::Node { kind, at, first, output: (start, written) });
        }
    }

    pub(super) fn read(&mut self, source: &Source, offset: Position, map: &MapRef, key: Str) {
        let at = self.position(source, offset);
        self.list.push(Event::Read { map: map.address(), key, at });
    }

    /// Records what a function reads by keys.
    pub(super) fn call(&mut self, source: &Source, offset: Position, name: &str, arguments: &[Value]) {
        for mut path in followed(name, arguments).unwrap_or_default() {
            if let Some((map, key)) = path.pop() {
                self.read(source, offset, &map, key);
            }
        }
    }

    pub(super) fn variable(&mut self, source: &Source, id: VariableId) {
        let variable = TracedVariable { source: self.source(source), id };
        self.list.push(Event::Use { variable });
    }

    pub(super) fn assign(&mut self, source: &Source, id: VariableId, first: EventIndex) {
        let variable = TracedVariable { source: self.source(source), id };
        self.list.push(Event::Assign { variable, first });
    }

    fn position(&mut self, source: &Source, offset: Position) -> TracePosition {
        TracePosition { source: self.source(source), offset }
    }

    fn source(&mut self, source: &Source) -> usize {
        // Evaluated strings share a name. Events come in runs from one source, most often the newest.
        let is_same = |(name, text): &(Str, Str)| *name == source.name && *text == source.text;
        self.sources.iter().rposition(is_same).unwrap_or_else(|| {
            self.sources.push((source.name.clone(), source.text.clone()));
            self.sources.len() - 1
        })
    }
}
