//! What a render did: the origin of each line of output, the nodes that ran, the values that were read, or all of it step
//! by step.
//!
//! A render without a trace pays two comparisons per node.

mod coverage;
mod events;
mod origin;
mod values;

pub use coverage::{Branch, Coverage, Region, RegionKind};
pub use events::{Event, EventIndex, Events, TracePosition, TracedNode, TracedVariable};
pub use origin::Origin;
pub use values::ReadValues;

use pintle_tree::Str;

use crate::ast::{Node, Position, Source, VariableId};
use crate::node_text::NodeRef;
use crate::value::{MapRef, Value};
use origin::Recording;
use values::Watcher;

/// What to record of renders. One trace can be used for many renders, one after the other.
#[derive(Debug, Default)]
pub struct Trace {
    /// The outputs that are being written, the innermost last; `None` if origins are not recorded.
    recordings: Option<Vec<Recording>>,
    coverage: Option<Coverage>,
    reads: Option<Watcher>,
    events: Option<Events>,
}

impl Trace {
    /// Records where each line of output comes from.
    pub fn of_origins() -> Self {
        Trace { recordings: Some(Vec::new()), ..Trace::default() }
    }

    /// Records which nodes run, and which values they read.
    pub fn of_coverage() -> Self {
        Trace { coverage: Some(Coverage::default()), reads: Some(Watcher::default()), ..Trace::default() }
    }

    /// Records each step: what is read, and what it is written to.
    pub fn of_events() -> Self {
        Trace { events: Some(Events::default()), ..Trace::default() }
    }

    /// Records each step, and which way branches went, for programs that show a render beside its templates.
    pub fn of_preview() -> Self {
        Trace { events: Some(Events::default()), coverage: Some(Coverage::default()), ..Trace::default() }
    }

    /// The nodes that have run so far.
    pub fn coverage(&self) -> Option<&Coverage> {
        self.coverage.as_ref()
    }

    /// The values that have been read so far.
    pub fn reads(&self) -> Option<&ReadValues> {
        self.reads.as_ref().map(|watcher| &watcher.read)
    }

    /// The steps that were recorded.
    pub fn into_events(self) -> Option<Events> {
        self.events
    }

    /// Tells the trace which maps are values, so that it knows the paths of what is read. Must be called for each
    /// render, whose maps are new.
    pub fn watch(&mut self, values: &MapRef) {
        if let Some(reads) = &mut self.reads {
            reads.watch(values);
        }
    }

    /// Starts to record an output.
    pub fn begin(&mut self) {
        if let Some(recordings) = &mut self.recordings {
            recordings.push(Recording::default());
        }
        if let Some(events) = &mut self.events {
            events.begin_output();
        }
    }

    /// Ends the record of an output. Returns the origin of each of its lines; `None` for lines of evaluated strings.
    pub fn end(&mut self, output: &[u8]) -> Vec<Option<Origin>> {
        if let Some(events) = &mut self.events {
            events.end_file(output);
        }
        let recording = self.recordings.as_mut().and_then(Vec::pop);
        recording.map(|recording| recording.lines(output)).unwrap_or_default()
    }

    /// Ends the record of a file whose template has failed. What ran until then stays recorded.
    pub fn end_failed(&mut self, output: &[u8]) {
        if let Some(events) = &mut self.events {
            events.end_failed_file(output);
        }
        if let Some(recordings) = &mut self.recordings {
            recordings.clear();
        }
    }

    /// Ends the record of an output that becomes part of another one: that of `include` and `tpl`.
    pub(crate) fn end_nested(&mut self, output: &[u8]) {
        if let Some(events) = &mut self.events {
            events.end_output(output);
        }
        let Some(recordings) = &mut self.recordings else { return };
        let Some(inner) = recordings.pop() else { return };
        if let Some(outer) = recordings.last_mut() {
            outer.nested(inner, output);
        }
    }

    /// Whether fields must be read one by one, so that [`Trace::field`] sees them.
    pub(crate) fn watches_values(&self) -> bool {
        self.reads.is_some() || self.events.is_some()
    }

    /// A node is about to run.
    pub(crate) fn node(&mut self, source: &Source, node: &Node, evaluated: bool, written: usize) {
        if let Some(recording) = self.recordings.as_mut().and_then(|recordings| recordings.last_mut()) {
            recording.node(source, node, evaluated, written);
        }
        if let Some(coverage) = self.coverage.as_mut().filter(|_| !evaluated) {
            coverage.hit(&source.name, NodeRef::Node(node).position(source));
        }
        if let Some(events) = &mut self.events {
            events.begin_node(source, node, written);
        }
    }

    /// The node that started last has run.
    pub(crate) fn node_end(&mut self, written: usize) {
        if let Some(events) = &mut self.events {
            events.end_node(written);
        }
    }

    /// An `if`, `with` or `range` has decided.
    pub(crate) fn branch(&mut self, source: &Source, position: u32, evaluated: bool, taken: bool) {
        if let Some(coverage) = self.coverage.as_mut().filter(|_| !evaluated) {
            coverage.branch(&source.name, position, taken);
        }
    }

    /// A field of a map has been read. `last` is its position if it is the last one of a chain; maps on the way to a
    /// value are no events.
    pub(crate) fn field(&mut self, source: &Source, map: &MapRef, name: &[u8], last: Option<Position>) {
        if let Some(reads) = &mut self.reads {
            reads.field(map, name);
        }
        if let (Some(events), Some(position)) = (&mut self.events, last) {
            events.read(source, position, map, Str::new(name));
        }
    }

    /// A function is called.
    pub(crate) fn call(&mut self, source: &Source, position: Position, name: &str, arguments: &[Value]) {
        if let Some(reads) = &mut self.reads {
            reads.call(name, arguments);
        }
        if let Some(events) = &mut self.events {
            events.call(source, position, name, arguments);
        }
    }

    /// A variable is used.
    pub(crate) fn variable(&mut self, source: &Source, id: VariableId) {
        if let Some(events) = &mut self.events {
            events.variable(source, id);
        }
    }

    /// The index of the next event, for [`Trace::assign`].
    pub(crate) fn mark(&self) -> EventIndex {
        self.events.as_ref().map_or(0, Events::next)
    }

    /// Variables are set to the result of a pipeline, whose first event is `first`.
    pub(crate) fn assign(&mut self, source: &Source, variables: &[VariableId], first: EventIndex) {
        if let Some(events) = &mut self.events {
            variables.iter().for_each(|id| events.assign(source, *id, first));
        }
    }

    /// A value is printed, or iterated over.
    pub(crate) fn whole(&mut self, value: &Value) {
        if let (Some(reads), Value::Map(map)) = (&mut self.reads, value) {
            reads.whole(map);
        }
    }
}

/// Finds the lines of byte offsets, quickly if they are near each other.
/// Counting from the start for each line of a large output would be quadratic.
#[derive(Default)]
struct LineFinder {
    /// The address of the text that the last offset was in.
    text: usize,
    position: usize,
    /// The newlines before it.
    newlines: usize,
}

impl LineFinder {
    /// The line of a byte offset, from 1.
    fn line(&mut self, text: &Str, position: usize) -> usize {
        let bytes = text.as_bytes();
        let position = position.min(bytes.len());
        if self.text != bytes.as_ptr().addr() {
            *self = LineFinder { text: bytes.as_ptr().addr(), position: 0, newlines: 0 };
        }
        let newlines = |part: &[u8]| part.iter().filter(|byte| **byte == b'\n').count();
        if position >= self.position {
            self.newlines += newlines(&bytes[self.position..position]);
        } else {
            self.newlines -= newlines(&bytes[position..self.position]);
        }
        self.position = position;
        self.newlines + 1
    }
}

#[cfg(test)]
mod tests;
