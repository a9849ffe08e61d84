//! Indexes in YAML, in one pass: no more of the document is in memory than one entry.

use std::collections::HashSet;

use pintle_chart::metadata::Timestamp;
use pintle_tree::Node;
use pintle_tree::json::{push_index, push_key};
use pintle_yaml::decode::{Decoder, Exact, Problem, matches_field};
use pintle_yaml::{Assembler, Builder};

use super::decode::{Decoded, Dialect, clash, version};
use super::{Receiver, Skipped};
use crate::error::{Error, Result};

/// The fields of the document.
const FIELDS: [&str; 6] = ["serverInfo", "apiVersion", "generated", "entries", "publicKeys", "annotations"];

/// What is known about the document besides its entries.
#[derive(Debug, Default)]
pub(super) struct IndexSummary {
    pub(super) api_version: String,
    pub(super) skipped: Vec<Skipped>,
}

/// Reads an index in YAML. Unknown and repeated fields are errors.
pub(super) fn read(text: &[u8], receiver: &mut dyn Receiver) -> Result<IndexSummary> {
    let mut walker = Walker {
        inner: Assembler::detecting_duplicates(),
        inner_depth: 0,
        depth: 0,
        top: Vec::new(),
        tops: HashSet::new(),
        charts: HashSet::new(),
        repeated: false,
        summary: IndexSummary::default(),
        gathering: Gathering::new(receiver, Dialect::Yaml),
    };
    pintle_yaml::read_with(text, &mut walker).map_err(|error| Error::Index(error.to_string()))?;
    if walker.repeated {
        pintle_yaml::read_strict(text).map_err(|error| Error::Index(error.to_string()))?;
    }
    let Walker { mut summary, gathering, .. } = walker;
    let front = |text: String| format!("error unmarshaling JSON: while decoding JSON: {text}");
    summary.skipped = gathering.finish().map_err(|text| Error::Index(front(text)))?;
    Ok(summary)
}

/// Passes valid entries to the receiver, and collects the skipped ones and the errors.
pub(super) struct Gathering<'r> {
    receiver: &'r mut dyn Receiver,
    dialect: Dialect,
    chart: String,
    skipped: Vec<Skipped>,
    /// The skipped entries of the current chart; Helm visits entries from the last to the first.
    skipped_here: Vec<Skipped>,
    /// Errors, with what decides which comes first: fields are decoded in the order of their names.
    wrong: Vec<((String, String, usize), String)>,
    count: usize,
}

impl<'r> Gathering<'r> {
    pub(super) fn new(receiver: &'r mut dyn Receiver, dialect: Dialect) -> Gathering<'r> {
        Gathering {
            receiver,
            dialect,
            chart: String::new(),
            skipped: Vec::new(),
            skipped_here: Vec::new(),
            wrong: Vec::new(),
            count: 0,
        }
    }

    fn reset(&mut self) {
        self.receiver.reset();
        self.chart.clear();
        self.skipped.clear();
        self.skipped_here.clear();
        self.wrong.clear();
    }

    pub(super) fn begin_chart(&mut self, name: &[u8]) {
        self.end_chart();
        self.chart = String::from_utf8_lossy(name).into_owned();
        self.count = 0;
        self.receiver.chart(&self.chart);
    }

    fn end_chart(&mut self) {
        self.skipped.extend(self.skipped_here.drain(..).rev());
    }

    /// Notes an error for a chart whose versions are not a list.
    pub(super) fn no_list(&mut self, node: &Node) {
        if !node.is_nil() {
            let path = self.chart_path();
            self.note("entries", &path, &clash(node, "repo.ChartVersions"));
        }
    }

    pub(super) fn version(&mut self, node: &Node) {
        self.count += 1;
        match version(&self.chart, node, self.dialect) {
            Decoded::Entry(entry) => self.receiver.version(*entry),
            Decoded::Skipped(skipped) => self.skipped_here.push(skipped),
            Decoded::Wrong(problem) => {
                let mut path = self.chart_path();
                push_index(&mut path, self.count - 1);
                self.note("entries", &path, &problem);
            }
        }
    }

    /// The path of the current chart.
    fn chart_path(&self) -> String {
        let mut path = "entries".to_owned();
        push_key(&mut path, self.chart.as_bytes());
        path
    }

    /// Notes an error about what is at `path`.
    pub(super) fn note(&mut self, field: &str, path: &str, problem: &Problem) {
        let chart = if field == "entries" { self.chart.clone() } else { String::new() };
        // The type of the document has a name only where JSON is decoded directly.
        let root = if self.dialect == Dialect::Json { "IndexFile" } else { "" };
        self.wrong.push(((field.to_owned(), chart, self.count), problem.text(root, path)));
    }

    /// A field of the document other than its entries.
    pub(super) fn field(&mut self, key: &[u8], node: &Node, summary: &mut IndexSummary) {
        let Some(name) = FIELDS.iter().find(|name| matches_field(key, name)) else {
            if self.dialect == Dialect::Yaml {
                let text = format!("json: unknown field {}", pintle_tree::quote::quote(key));
                let field = String::from_utf8_lossy(key).into_owned();
                self.note(&field, "", &Problem::Other(text));
            }
            return;
        };
        let mut decoder = Decoder::new(false);
        match *name {
            "apiVersion" if self.dialect == Dialect::Json && !matches!(node, Node::Nil | Node::Str(_)) => {
                decoder.clash(node, "string");
            }
            "apiVersion" => decoder.string(node, &mut summary.api_version),
            "publicKeys" => decoder.strings(node, &mut Vec::new()),
            "annotations" => decoder.string_map(node, &mut std::collections::BTreeMap::new()),
            "generated" => decoder.time(node, &mut Timestamp::default(), Timestamp::parse),
            "serverInfo" if !matches!(node, Node::Nil | Node::Map(_)) => {
                decoder.clash(node, "map[string]interface {}");
            }
            "entries" if !node.is_nil() => decoder.clash(node, "map[string]repo.ChartVersions"),
            _ => {}
        }
        if let Some(problem) = decoder.problem(node) {
            let mut path = String::new();
            push_key(&mut path, key);
            self.note(name, &path, &problem);
        }
    }

    pub(super) fn finish(mut self) -> std::result::Result<Vec<Skipped>, String> {
        self.end_chart();
        self.wrong.sort_by(|left, right| left.0.cmp(&right.0));
        if let Some((_, first)) = self.wrong.into_iter().next() {
            return Err(first);
        }
        self.skipped.sort_by(|left, right| left.chart.cmp(&right.chart));
        Ok(self.skipped)
    }
}

/// Follows the document down to its entries, and builds what is below.
struct Walker<'r> {
    inner: Assembler<Exact>,
    /// How many collections are open inside of what is being built.
    inner_depth: usize,
    /// Where we are: 0 outside, 1 in the document, 2 in `entries`, 3 in the list of a chart.
    depth: usize,
    top: Vec<u8>,
    tops: HashSet<Vec<u8>>,
    charts: HashSet<Vec<u8>>,
    repeated: bool,
    summary: IndexSummary,
    gathering: Gathering<'r>,
}

impl Walker<'_> {
    fn built(&mut self) {
        if self.inner_depth > 0 {
            return;
        }
        self.repeated |= self.inner.has_duplicates();
        let Exact(node) = self.inner.finish();
        self.inner.reset();
        match self.depth {
            0 if node.is_nil() => {}
            0 => {
                self.gathering.note("", "", &clash(&node, "repo.IndexFile"));
            }
            1 => self.gathering.field(&self.top, &node, &mut self.summary),
            2 => self.gathering.no_list(&node),
            _ => self.gathering.version(&node),
        }
    }
}

impl Builder for Walker<'_> {
    type Node = ();

    fn reset(&mut self) {
        self.inner.reset();
        (self.inner_depth, self.depth, self.repeated) = (0, 0, false);
        self.tops.clear();
        self.charts.clear();
        self.summary = IndexSummary::default();
        self.gathering.reset();
    }

    fn nil(&mut self) {
        self.inner.nil();
        self.built();
    }

    fn bool(&mut self, value: bool) {
        self.inner.bool(value);
        self.built();
    }

    fn int(&mut self, value: i64) {
        self.inner.int(value);
        self.built();
    }

    fn uint(&mut self, value: u64) {
        self.inner.uint(value);
        self.built();
    }

    fn float(&mut self, value: f64) {
        self.inner.float(value);
        self.built();
    }

    fn str(&mut self, text: &[u8]) {
        self.inner.str(text);
        self.built();
    }

    fn begin_list(&mut self) {
        if self.inner_depth == 0 && self.depth == 2 {
            self.depth = 3;
            return;
        }
        self.inner_depth += 1;
        self.inner.begin_list();
    }

    fn end_list(&mut self) {
        if self.inner_depth == 0 {
            self.depth = 2;
            return;
        }
        self.inner_depth -= 1;
        self.inner.end_list();
        self.built();
    }

    fn begin_map(&mut self) {
        if self.inner_depth == 0
            && (self.depth == 0 || self.depth == 1 && matches_field(&self.top, "entries"))
        {
            self.depth += 1;
            return;
        }
        self.inner_depth += 1;
        self.inner.begin_map();
    }

    fn key(&mut self, key: &[u8]) {
        match (self.inner_depth, self.depth) {
            (0, 1) => {
                self.top.clear();
                self.top.extend_from_slice(key);
                self.repeated |= !self.tops.insert(key.to_vec());
            }
            (0, _) => {
                self.repeated |= !self.charts.insert(key.to_vec());
                self.gathering.begin_chart(key);
            }
            _ => self.inner.key(key),
        }
    }

    fn end_map(&mut self) {
        if self.inner_depth == 0 {
            self.depth = self.depth.saturating_sub(1);
            return;
        }
        self.inner_depth -= 1;
        self.inner.end_map();
        self.built();
    }

    fn finish(&mut self) {}
}
