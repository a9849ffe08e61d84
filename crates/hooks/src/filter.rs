//! The filter: splits hooks in text and changes nothing else.
//!
//! All documents are checked first, so that nothing is written when one is invalid; then they are written in order.
//! Both run on two threads, with one chunk of the output in memory at a time.

mod part;
mod source;

use std::io::{self, Write};

use pintle_yaml::outline::{Outline, Written, documents};

use crate::error::Problem;
use crate::plan::{Identity, Plan, renames};
use crate::reference::Renames;
use part::write_parts;
use source::Origin;

/// Why a manifest cannot be filtered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A document is not valid YAML.
    #[error("parsing YAML: the document that begins on line {line}{origin}: {source}")]
    Yaml {
        /// The line of the manifest.
        line: usize,
        /// The file that the document comes from, if known, as part of a sentence.
        origin: String,
        /// The parser's error, with lines relative to the document.
        source: pintle_yaml::Error,
    },
    /// The annotations of a hook contradict each other.
    #[error("processing hooks: {at}: {source}")]
    Annotations {
        /// The hook; its line is that of the annotation.
        at: Box<ObjectLocation>,
        /// The problem.
        source: Problem,
    },
    /// A part of a hook would get the name of another object.
    #[error(
        "processing hooks: {at}: splitting it would make a second {} named {new:?}; rename one of them, or keep the \
         name with `helm.sh/hook-name-suffix: \"false\"`", at.kind
    )]
    Collision {
        /// The hook; its line is the first one of its document.
        at: Box<ObjectLocation>,
        /// The conflicting name.
        new: String,
    },
}

/// An object with its position in the manifest.
#[derive(Debug)]
pub struct ObjectLocation {
    /// The name of the object.
    pub name: String,
    /// The kind of the object.
    pub kind: String,
    /// The line of the manifest.
    pub line: usize,
    /// The file that the document comes from, if known, as part of a sentence.
    pub origin: String,
}

impl std::fmt::Display for ObjectLocation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ObjectLocation { name, kind, line, origin } = self;
        write!(formatter, "resource {name:?} ({kind}) on line {line}{origin}")
    }
}

impl ObjectLocation {
    fn new(identity: &Identity, line: usize, text: &[u8]) -> Box<Self> {
        let origin = Origin::find(text).to_string();
        Box::new(ObjectLocation {
            name: identity.name().to_owned(),
            kind: identity.kind().to_owned(),
            line,
            origin,
        })
    }
}

/// A checked manifest, ready to be written with its hooks split.
#[derive(Debug)]
pub struct Filter<'t> {
    text: &'t [u8],
    documents: Vec<Written>,
    plans: Vec<Plan>,
    renames: Renames,
}

/// How much text each thread processes before the output is written.
const CHUNK_BYTES: usize = 256 << 10;

impl<'t> Filter<'t> {
    /// Parses and checks a manifest.
    ///
    /// # Errors
    /// The first document that is not valid YAML, or contains a hook that cannot be split.
    pub fn read(text: &'t [u8]) -> Result<Self, FilterError> {
        let documents: Vec<Written> = documents(text).collect();
        let (first, second) = documents.split_at(split_point(&documents));
        let plan_all = |documents: &[Written]| -> Result<Vec<Plan>, FilterError> {
            documents.iter().map(|document| plan(text, document)).collect()
        };
        let (plans, rest) = in_parallel(second.is_empty(), || plan_all(first), || plan_all(second));
        // The errors of the first half come first, so that the first invalid document is reported.
        let mut plans = plans?;
        plans.extend(rest?);
        let renames = renames(&plans).map_err(|conflict| {
            let document = &documents[conflict.document];
            let at = ObjectLocation::new(&conflict.identity, document.line, &text[document.range.clone()]);
            FilterError::Collision { at, new: conflict.new }
        })?;
        Ok(Filter { text, documents, plans, renames })
    }

    /// Whether the output equals the input.
    pub fn is_unchanged(&self) -> bool {
        self.plans.iter().all(Plan::is_empty)
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// I/O errors of `out`.
    pub fn write_to(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        // Byte for byte: a manifest without hooks must not change at all.
        if self.is_unchanged() {
            return out.write_all(self.text);
        }
        let mut at = 0;
        let (mut one, mut two) = (Vec::new(), Vec::new());
        while at < self.documents.len() {
            let middle = self.chunk_end(at);
            let end = self.chunk_end(middle);
            in_parallel(
                middle == end,
                || self.write_chunk(at..middle, &mut one),
                || self.write_chunk(middle..end, &mut two),
            );
            out.write_all(&one)?;
            out.write_all(&two)?;
            one.clear();
            two.clear();
            at = end;
        }
        Ok(())
    }

    /// Returns the manifest with its hooks split.
    pub fn to_vec(&self) -> Vec<u8> {
        // Split hooks repeat their text; a quarter is a guess.
        let mut out = Vec::with_capacity(self.text.len() + self.text.len() / 4);
        // Writing to a vector cannot fail.
        let _ = self.write_to(&mut out);
        out
    }

    /// The index of the document after the chunk that begins with the document `from`.
    fn chunk_end(&self, from: usize) -> usize {
        let Some(first) = self.documents.get(from) else { return from };
        let limit = first.range.start + CHUNK_BYTES;
        from + self.documents[from..].iter().take_while(|document| document.range.start < limit).count()
    }

    fn write_chunk(&self, documents: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let mut pending: Option<usize> = None;
        for number in documents.clone() {
            if self.plans[number].is_empty() {
                // Unchanged documents that follow each other are copied in one piece, with what is between
                // them.
                pending.get_or_insert(self.documents[number].range.start);
                continue;
            }
            let range = self.documents[number].range.clone();
            if let Some(from) = pending.take() {
                out.extend_from_slice(&self.text[from..range.start]);
            }
            let last = number + 1 == self.documents.len();
            write_parts(&self.text[range], &self.plans[number], &self.renames, last, out);
        }
        if let Some(from) = pending {
            out.extend_from_slice(&self.text[from..self.documents[documents.end - 1].range.end]);
        }
    }
}

/// The index of the first document for the second thread; all documents are for the first one if there is little
/// text.
fn split_point(documents: &[Written]) -> usize {
    let length = documents.last().map_or(0, |document| document.range.end);
    if length < CHUNK_BYTES {
        return documents.len();
    }
    documents.partition_point(|document| document.range.start < length / 2)
}

/// Runs two functions in parallel, or one after the other if `alone`.
fn in_parallel<A, B: Send>(alone: bool, one: impl FnOnce() -> A, two: impl FnOnce() -> B + Send) -> (A, B) {
    if alone {
        let one = one();
        return (one, two());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(two);
        let one = one();
        match other.join() {
            Ok(two) => (one, two),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn plan(text: &[u8], document: &Written) -> Result<Plan, FilterError> {
    let text = &text[document.range.clone()];
    let outline = Outline::read_first(text).map_err(|source| FilterError::Yaml {
        line: document.line,
        origin: Origin::find(text).to_string(),
        source,
    })?;
    let Some(root) = outline.roots().next() else { return Ok(Plan::default()) };
    Plan::from_view(root).map_err(|error| {
        let annotation = crate::change::locate(root, &error.path).unwrap_or(root);
        let line = document.line + annotation.line() - 1;
        FilterError::Annotations {
            at: ObjectLocation::new(&error.identity, line, text),
            source: error.problem,
        }
    })
}
