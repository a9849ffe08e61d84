//! Explains a render: which templates read a value, and which template lines and values a line of output came from.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pintle_gotmpl::trace::{
    Coverage, Event, EventIndex, Events, Trace, TracePosition, TracedNode, TracedVariable,
};
use pintle_gotmpl::{MapRef, Value};
use pintle_tree::ValuePath;

use crate::RenderedFile;
use crate::context::Scope;

/// A line of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateLine {
    /// The path of the template including its chart, as in `root/templates/x.yaml`; `gotpl` for texts that `tpl` evaluates.
    pub template: String,
    /// The line, counted from one.
    pub line: usize,
}

/// What templates read in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The values, by their paths from the root chart.
    pub values: BTreeSet<ValuePath>,
    /// Other fields, such as `.Release.Name`.
    pub fields: BTreeSet<String>,
}

/// Where a line of output came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineExplanation {
    /// The template lines, from the file that was rendered to the definition that wrote the text.
    pub templates: Vec<TemplateLine>,
    /// What was read to write the line.
    pub reads: Reads,
    /// The blocks (`if`, `with`, `range`) around it, outermost first, and what they read.
    pub conditions: Vec<(TemplateLine, Reads)>,
}

/// What an action wrote in a render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How often it ran.
    pub count: usize,
    /// What it wrote when it ran last, or the beginning of that.
    pub text: Vec<u8>,
    /// Whether it wrote something else before.
    pub differs: bool,
}

/// The length up to which [`Written`] keeps a text.
const MAX_WRITTEN: usize = 256;

impl Written {
    /// Events are visited from the last to the first.
    fn add(&mut self, text: Option<&[u8]>) {
        let text = text.unwrap_or_default();
        let text = &text[..text.len().min(MAX_WRITTEN)];
        if self.count == 0 {
            self.text = text.to_vec();
        } else {
            self.differs |= self.text != text;
        }
        self.count += 1;
    }
}

/// A recorded render.
pub struct RenderTrace {
    events: Events,
    /// The outputs of files, by path. Their texts are as templates left them.
    files: BTreeMap<String, EventIndex>,
    coverage: Coverage,
    maps: BTreeMap<usize, Meaning>,
}

/// What a map is.
enum Meaning {
    Values(ValuePath),
    /// `Release`, `Chart` or `Capabilities`.
    Field(&'static str),
}

/// The maximum depth of values that are traced, and of variables that are set from variables.
const MAX_DEPTH: usize = 64;

impl RenderTrace {
    pub(crate) fn new(trace: Trace, files: &[RenderedFile], maps: KnownMaps) -> Self {
        let coverage = trace.coverage().cloned().unwrap_or_default();
        let events = trace.into_events().unwrap_or_default();
        let files = files.iter().zip(events.files()).map(|(file, output)| (file.path.clone(), *output));
        RenderTrace { files: files.collect(), events, coverage, maps: maps.meanings }
    }

    /// All values that templates read, with the lines that do. A template that reads a map reads all of it.
    pub fn reads(&self) -> BTreeMap<ValuePath, BTreeSet<TemplateLine>> {
        let mut found: BTreeMap<ValuePath, BTreeSet<TemplateLine>> = BTreeMap::new();
        for event in self.events.as_slice() {
            if let Event::Read { map, key, at } = event
                && let Some(Meaning::Values(path)) = self.maps.get(map)
            {
                found.entry(path.key(key.clone())).or_default().insert(self.line_of(*at, 0));
            }
        }
        found
    }

    /// Which nodes ran and which way conditions went, if the render recorded that.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What actions wrote: by template, and by the byte offset of the action.
    pub fn written(&self) -> BTreeMap<String, BTreeMap<usize, Written>> {
        let mut found: BTreeMap<String, BTreeMap<usize, Written>> = BTreeMap::new();
        for (index, event) in self.events.as_slice().iter().enumerate() {
            let Event::Output { first, text } = event else { continue };
            for inner in self.level(*first..index) {
                if let Event::Node { kind: TracedNode::Action, at, output: (start, end), .. } =
                    &self.events.as_slice()[inner]
                {
                    let (template, offset) = self.events.source_offset(*at);
                    let of_template = found.entry(template.to_string()).or_default();
                    of_template.entry(offset).or_default().add(text.as_bytes().get(*start..*end));
                }
            }
        }
        found
    }

    /// Where a line of a rendered file came from; `None` if there is no such file or line. Lines count from one.
    pub fn line(&self, path: &str, line: usize) -> Option<LineExplanation> {
        let output = *self.files.get(path)?;
        let Event::Output { first, text } = &self.events.as_slice()[output] else { return None };
        let range = nth_line(text.as_bytes(), line)?;
        let mut explanation = LineExplanation::default();
        self.explain(*first..output, text.as_bytes(), range, &mut explanation, 0);
        let mut known = BTreeSet::new();
        explanation.templates.retain(|line| known.insert(line.clone()));
        Some(explanation)
    }

    /// Explains a line of one output. Events of other outputs inside of it are skipped.
    fn explain(
        &self,
        events: Range<usize>,
        text: &[u8],
        line: Range<usize>,
        into: &mut LineExplanation,
        depth: usize,
    ) {
        for index in self.level(events) {
            let Event::Node { kind, at, first, output: (start, end) } = &self.events.as_slice()[index] else {
                continue;
            };
            let part = line.start.max(*start)..line.end.min(*end);
            // The node wrote nothing of this line.
            if part.is_empty() {
                continue;
            }
            match kind {
                TracedNode::Text => into.templates.push(self.line_of(*at, part.start - start)),
                TracedNode::Call => into.templates.push(self.line_of(*at, 0)),
                TracedNode::Block => {
                    // What was read before the body began is what the block's pipeline read.
                    let condition = *first..self.body_start(*first..index);
                    into.conditions.push((self.line_of(*at, 0), self.direct_reads(condition)));
                }
                TracedNode::Action => {
                    into.templates.push(self.line_of(*at, 0));
                    into.reads.add(self.direct_reads(*first..index));
                    if depth < MAX_DEPTH {
                        self.explain_included(
                            *first..index,
                            &text[*start..*end],
                            part.start - start,
                            into,
                            depth,
                        );
                    }
                }
            }
        }
    }

    /// Continues in the outputs of the templates that an action included, if one of them has the line.
    fn explain_included(
        &self,
        events: Range<usize>,
        written: &[u8],
        offset: usize,
        into: &mut LineExplanation,
        depth: usize,
    ) {
        let (before, rest) = written.split_at(offset);
        // Functions between the include and the output, such as `nindent`, move text, so lines are compared
        // rather than offsets.
        let wanted = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_same = |line: &&[u8]| bare(line) == bare(wanted);
        let earlier = before.split(|byte| *byte == b'\n').filter(is_same).count();
        for index in self.level(events) {
            let Event::Output { first, text } = &self.events.as_slice()[index] else { continue };
            let text = text.as_bytes();
            if let Some(line) = same_line(text, wanted, earlier) {
                self.explain(*first..index, text, line, into, depth + 1);
            }
        }
    }

    /// The events of one output, newest first, without those of outputs inside of it.
    fn level(&self, events: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let mut next = events.end;
        std::iter::from_fn(move || {
            let index = next.checked_sub(1).filter(|index| *index >= events.start)?;
            next = match &self.events.as_slice()[index] {
                // Everything between the start of an output and its end belongs to that output.
                Event::Output { first, .. } => *first,
                _ => index,
            };
            Some(index)
        })
    }

    /// The first event of the body of a block.
    fn body_start(&self, events: Range<usize>) -> usize {
        let end = events.end;
        let starts = self.level(events).filter_map(|index| match &self.events.as_slice()[index] {
            Event::Node { first, .. } => Some(*first),
            _ => None,
        });
        starts.min().unwrap_or(end)
    }

    /// What some events read, variables followed.
    fn direct_reads(&self, events: Range<usize>) -> Reads {
        let mut reads = Reads::default();
        self.add_reads(events, &mut reads, 0);
        reads
    }

    fn add_reads(&self, events: Range<usize>, reads: &mut Reads, depth: usize) {
        for index in self.level(events) {
            match &self.events.as_slice()[index] {
                Event::Read { map, key, .. } => match self.maps.get(map) {
                    Some(Meaning::Values(path)) => drop(reads.values.insert(path.key(key.clone()))),
                    Some(Meaning::Field(name)) => drop(reads.fields.insert(format!(".{name}.{key}"))),
                    None => {}
                },
                // A variable that a loop extends is set from itself in every iteration.
                Event::Use { variable } if depth < MAX_DEPTH => {
                    if let Some(events) = self.assignment(*variable, index) {
                        self.add_reads(events, reads, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// The events of the pipeline that a variable was last set by, before an event.
    fn assignment(&self, wanted: TracedVariable, before: usize) -> Option<Range<usize>> {
        let events = self.events.as_slice()[..before].iter().enumerate().rev();
        events
            .filter_map(|(index, event)| match event {
                Event::Assign { variable, first } if *variable == wanted => Some(*first..index),
                _ => None,
            })
            .next()
    }

    fn line_of(&self, at: TracePosition, skip: usize) -> TemplateLine {
        let (template, line) = self.events.source_position(at, skip);
        TemplateLine { template: template.to_string(), line }
    }
}

impl Reads {
    fn add(&mut self, other: Reads) {
        self.values.extend(other.values);
        self.fields.extend(other.fields);
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.fields.is_empty()
    }
}

/// The maps of a render whose meaning is known.
#[derive(Default)]
pub(crate) struct KnownMaps {
    meanings: BTreeMap<usize, Meaning>,
    alive: Vec<MapRef>,
}

impl KnownMaps {
    /// The maps below the root context of each chart. Values of subcharts are maps of the root chart's values.
    pub(crate) fn of(scopes: &[Scope]) -> Self {
        let mut known = KnownMaps::default();
        // The root chart is the last.
        for scope in scopes.iter().rev() {
            for name in ["Release", "Chart", "Capabilities"] {
                if let Some(Value::Map(map)) = scope.root.get(name) {
                    known.add(map, Meaning::Field(name));
                }
            }
        }
        if let Some(values) = scopes.last().and_then(|root| root.root.get("Values")) {
            known.add_values(&values, ValuePath::root());
        }
        known
    }

    fn add(&mut self, map: MapRef, meaning: Meaning) {
        // `.Release` is shared by all charts; the first entry is enough.
        self.meanings.entry(map.address()).or_insert(meaning);
        self.alive.push(map);
    }

    fn add_values(&mut self, value: &Value, path: ValuePath) {
        if path.segments().len() > MAX_DEPTH {
            return;
        }
        match value {
            Value::Map(map) => {
                for (key, value) in map.snapshot() {
                    self.add_values(&value, path.key(key));
                }
                self.add(map.clone(), Meaning::Values(path));
            }
            Value::List(list) => {
                for (index, item) in list.items().iter().enumerate() {
                    self.add_values(item, path.index(index));
                }
            }
            _ => {}
        }
    }
}

/// The content of a line, without the white space around it. Lines count from one.
fn nth_line(text: &[u8], line: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for (index, content) in text.split(|byte| *byte == b'\n').enumerate() {
        if index + 1 == line {
            return Some(trimmed(content, start));
        }
        start += content.len() + 1;
    }
    None
}

fn trimmed(line: &[u8], start: usize) -> Range<usize> {
    let lead = line.len() - line.trim_ascii_start().len();
    start + lead..start + lead + line.trim_ascii().len()
}

/// The line of an included text that functions such as `nindent` and `quote` turned into `wanted`: of equal lines, the one
/// after `earlier` others, or else a line that `wanted` contains.
fn same_line(text: &[u8], wanted: &[u8], earlier: usize) -> Option<Range<usize>> {
    let wanted = bare(wanted);
    let mut start = 0;
    let (mut same, mut part) = (Vec::new(), None);
    for line in text.split(|byte| *byte == b'\n') {
        let content = bare(line);
        if content == wanted {
            same.push(trimmed(line, start));
        } else if content.len() > 1 && memchr::memmem::find(wanted, content).is_some() {
            // Longer than one character: a brace would be found everywhere.
            part = part.or(Some(trimmed(line, start)));
        }
        start += line.len() + 1;
    }
    let chosen = earlier.min(same.len().saturating_sub(1));
    same.into_iter().nth(chosen).or(part).filter(|range| !range.is_empty())
}

/// A line without white space and quotes around it.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    match line {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        _ => line,
    }
}
