//! Where a value may have moved: values of the new chart, by everything that is known without rendering.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Node, Segment, ValuePath};

use crate::align::{Replaced, concrete};
use crate::comments::Comments;
use crate::documents::{Documents, Mention};
use crate::names::{Vocabulary, Words};
use crate::side::Side;
use crate::value_tree::{is_empty, joined, type_name, visit};

/// A value of the new chart that may be the new place of another.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: ValuePath,
    /// How likely it is by the signals alone.
    pub(crate) score: f64,
    pub(crate) evidence: Vec<String>,
    /// What texts say, from 0 to 1.
    pub(crate) document: f64,
    /// Its place in values.yaml: of equals, the first is the most likely one.
    pub(crate) order: usize,
    /// The type of its default.
    pub(crate) default_type: Option<&'static str>,
}

/// Finds candidates.
pub(crate) struct Finder<'a> {
    old: &'a Side<'a>,
    new: &'a Side<'a>,
    replaced: &'a Replaced,
    documents: &'a Documents,
    comments: (Comments, Comments),
    vocabulary: Vocabulary,
    paths: Vec<(ValuePath, Words)>,
    by_last: BTreeMap<String, Vec<usize>>,
}

/// The most candidates for one value.
const MAX_CANDIDATES: usize = 14;

/// The most values of the new chart that are tried although nothing but their type speaks for them.
const MAX_UNFAMILIAR: usize = 24;

/// The least score with which a candidate is looked at.
const MIN_SCORE: f64 = 0.5;

impl<'a> Finder<'a> {
    pub(crate) fn new(
        old: &'a Side<'a>,
        new: &'a Side<'a>,
        replaced: &'a Replaced,
        documents: &'a Documents,
    ) -> Self {
        let paths: BTreeSet<ValuePath> = value_paths(new);
        let vocabulary = Vocabulary::new(&paths);
        let paths: Vec<(ValuePath, Words)> =
            paths.into_iter().map(|path| (path.clone(), Words::of(&path))).collect();
        let mut by_last: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, (path, _)) in paths.iter().enumerate() {
            let last = path.last_key().map(|key| key.to_str_lossy().into_owned()).unwrap_or_default();
            by_last.entry(last).or_default().push(index);
        }
        let comments = (Comments::of(&old.all), Comments::of(&new.all));
        Finder { old, new, replaced, documents, comments, vocabulary, paths, by_last }
    }

    /// The candidates for a value of the old chart, most likely first. `taken` are values that the user has set already.
    pub(crate) fn candidates(
        &self,
        path: &ValuePath,
        value: &Node,
        taken: &dyn Fn(&ValuePath) -> bool,
    ) -> Vec<Candidate> {
        let words = Words::of(path);
        let mut found: BTreeMap<ValuePath, Candidate> = BTreeMap::new();
        for (other, others) in &self.paths {
            let similarity = self.vocabulary.similarity(&words, others);
            if similarity > 0.12 && other != path {
                let candidate = entry(&mut found, other);
                candidate.score += 3.0 * similarity;
                if similarity > 0.6 {
                    candidate.evidence.push("the names are similar".to_owned());
                }
            }
        }
        for (other, share) in self.replaced.of(path) {
            if self.new.reads(&other) {
                let candidate = entry(&mut found, &other);
                candidate.score += 2.5 * share;
                candidate.evidence.push("templates read it in the same places".to_owned());
            }
        }
        self.add_mentions(path, &mut found);
        let mut found: Vec<Candidate> = found.into_values().filter(|found| found.score > 0.3).collect();
        for candidate in &mut found {
            self.weigh(path, value, taken, candidate);
        }
        found.retain(|candidate| candidate.score >= MIN_SCORE);
        found.sort_by(|left, right| {
            right
                .score
                .total_cmp(&left.score)
                .then(left.order.cmp(&right.order))
                .then_with(|| left.path.cmp(&right.path))
        });
        found.truncate(MAX_CANDIDATES);
        found
    }

    /// Values that only the new chart has and that could hold this one, whatever they are called.
    pub(crate) fn unfamiliar(&self, path: &ValuePath, value: &Node, known: &[Candidate]) -> Vec<Candidate> {
        let is_new = |other: &ValuePath| {
            !self.old.reads(other) && self.new.default_at(other).is_some_and(|default| holds(default, value))
        };
        let mut found: Vec<Candidate> = Vec::new();
        for (other, _) in &self.paths {
            if known.iter().all(|known| known.path != *other) && is_new(other) {
                let mut candidate = empty(other);
                self.weigh(path, value, &|_| false, &mut candidate);
                found.push(candidate);
            }
        }
        found.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.order.cmp(&right.order)));
        found.truncate(MAX_UNFAMILIAR);
        found
    }

    /// What texts say about a value, without its replacements.
    pub(crate) fn removal(&self, path: &ValuePath) -> Option<Mention> {
        let mentions = self.documents.mentions(path, &|_| Vec::new());
        mentions
            .into_iter()
            .filter(|mention| mention.weight > 0.2)
            .max_by(|a, b| a.weight.total_cmp(&b.weight))
    }

    /// Whether texts or templates say that a value that is still read has moved.
    pub(crate) fn may_have_moved(&self, path: &ValuePath) -> bool {
        let mut others = self.replaced.of(path).into_iter();
        let mut found = BTreeMap::new();
        self.add_mentions(path, &mut found);
        others.any(|(other, share)| share > 0.5 && self.new.reads(&other))
            || found.values().any(|candidate| candidate.document > 0.7)
    }

    fn add_mentions(&self, path: &ValuePath, found: &mut BTreeMap<ValuePath, Candidate>) {
        for depth in (1..=path.segments().len()).rev() {
            let (above, below) = path.segments().split_at(depth);
            let outer = ValuePath::from(above.to_vec());
            for Mention { at, new, weight } in self.documents.mentions(&outer, &|name| self.resolve(name)) {
                let Some(new) = new else { continue };
                let other = joined(&new, below);
                if other == *path || !self.new.reads(&other) {
                    continue;
                }
                let candidate = entry(found, &other);
                let weight = if below.is_empty() { weight } else { 0.9 * weight };
                let gain = weight - candidate.document;
                if gain > 0.0 {
                    candidate.score += 4.0 * gain;
                    candidate.document = weight;
                    if weight > 0.4 {
                        candidate.evidence.retain(|line| !line.ends_with("names both"));
                        candidate.evidence.push(format!("{at} names both"));
                    }
                }
            }
        }
    }

    /// The values of the new chart that a name in a text means.
    fn resolve(&self, name: &str) -> Vec<ValuePath> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut ends = Vec::new();
        for &index in self.by_last.get(last).into_iter().flatten() {
            let (path, _) = &self.paths[index];
            let shown = path.to_string();
            if shown == name {
                return vec![path.clone()];
            }
            if shown.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')) {
                ends.push(path.clone());
            }
        }
        // A short name that many values have means none of them.
        if ends.len() <= 6 { ends } else { Vec::new() }
    }

    /// What the defaults, types and comments say.
    fn weigh(
        &self,
        path: &ValuePath,
        value: &Node,
        taken: &dyn Fn(&ValuePath) -> bool,
        candidate: &mut Candidate,
    ) {
        candidate.order = self.comments.1.order(&candidate.path);
        let (before, after) = (self.old.default_at(path), self.new.default_at(&candidate.path));
        if let (Some(before), Some(after)) = (before, after)
            && before == after
        {
            let trivial = is_empty(before) || before.as_bool().is_some();
            candidate.score += if trivial { 0.25 } else { 1.0 };
            if !trivial {
                candidate.evidence.push("the defaults are equal".to_owned());
            }
        }
        candidate.default_type = after.map(type_name);
        if let Some(after) = after.filter(|after| !fits(value, after)) {
            // Texts say what becomes of a list, but no single value becomes a map.
            let is_map = after.as_map().is_some_and(|map| !map.is_empty());
            candidate.score -= if is_map || candidate.document < 0.4 { 1.5 } else { 0.0 };
        }
        let comments = self.comments.0.similarity(path, &self.comments.1, &candidate.path);
        candidate.score += comments;
        if self.comments.0.is_same(path, &self.comments.1, &candidate.path) {
            candidate.score += 1.5;
            candidate.evidence.push("only these two have this comment".to_owned());
        } else if comments > 0.6 {
            candidate.evidence.push("the comments are alike".to_owned());
        }
        if path.last_key() == candidate.path.last_key() {
            candidate.score += 0.4;
        }
        if path.parent() == candidate.path.parent() {
            candidate.score += 0.5;
        }
        let is_replacement = self.replaced.of(path).iter().any(|(other, _)| *other == candidate.path);
        if !self.old.reads(&candidate.path) {
            candidate.score += 0.6;
            candidate.evidence.push("only the new chart has it".to_owned());
        } else if candidate.document == 0.0 && !is_replacement {
            // What both charts have means the same in both, more often than not.
            candidate.score -= 0.4;
        }
        if taken(&candidate.path) {
            candidate.score -= 1.0;
        }
    }
}

fn entry<'f>(found: &'f mut BTreeMap<ValuePath, Candidate>, path: &ValuePath) -> &'f mut Candidate {
    found.entry(path.clone()).or_insert_with(|| empty(path))
}

fn empty(path: &ValuePath) -> Candidate {
    Candidate {
        path: path.clone(),
        score: 0.0,
        evidence: Vec::new(),
        document: 0.0,
        order: usize::MAX,
        default_type: None,
    }
}

/// Whether a default is of the very type of a value.
fn holds(default: &Node, value: &Node) -> bool {
    matches!(
        (default, value),
        (Node::Str(_), Node::Str(_)) | (Node::List(_), Node::List(_)) | (Node::Map(_), Node::Map(_))
    ) || default.as_bool().is_none()
        && value.as_bool().is_none()
        && !is_empty(default)
        && type_name(default) == type_name(value)
}

/// Whether a value could be in the place of a default.
pub(crate) fn fits(value: &Node, default: &Node) -> bool {
    match (value, default) {
        (_, Node::Nil) | (Node::Nil, _) => true,
        (Node::Map(_), Node::Map(_)) | (Node::List(_), Node::List(_)) => true,
        (Node::Map(_) | Node::List(_), _) | (_, Node::Map(_) | Node::List(_)) => {
            // Charts have `{}` and `""` for what may be anything.
            is_empty(default) && !matches!((value, default), (Node::Bool(_), _))
        }
        (Node::Bool(_), Node::Bool(_)) => true,
        (Node::Bool(_), _) | (_, Node::Bool(_)) => false,
        _ => true,
    }
}

/// All values of a chart that its templates read: those with a default, and others that templates name.
fn value_paths(side: &Side<'_>) -> BTreeSet<ValuePath> {
    let mut paths = BTreeSet::new();
    visit(&side.defaults, &ValuePath::root(), &mut |path, _| {
        let is_copy =
            path.segments().iter().skip(1).any(|at| matches!(at, Segment::Key(key) if *key == "global"));
        if is_copy {
            return false;
        }
        if side.reads(path) {
            paths.insert(path.clone());
        }
        true
    });
    for read in &side.uses.uses {
        if let Some(path) = concrete(&read.path) {
            for depth in 1..=path.segments().len() {
                paths.insert(ValuePath::from(path.segments()[..depth].to_vec()));
            }
        }
    }
    paths
}
