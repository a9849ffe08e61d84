//! The comments in values.yaml, by the value that they describe.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_tree::ValuePath;

use crate::names;

/// The words of the comment of each value.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    words: BTreeMap<ValuePath, BTreeSet<String>>,
    /// How many values have a comment of these words.
    shared: BTreeMap<BTreeSet<String>, usize>,
    /// The order of the values in the text.
    order: BTreeMap<ValuePath, usize>,
}

/// A comment with fewer words may be that of anything.
const LONG: usize = 6;

impl Comments {
    pub(crate) fn of(chart: &Chart) -> Self {
        let mut comments = Comments::default();
        comments.add(chart, &ValuePath::root());
        for words in comments.words.values() {
            *comments.shared.entry(words.clone()).or_default() += 1;
        }
        comments
    }

    /// Whether two values have the same long comment, which no other value of the second chart has.
    pub(crate) fn is_same(&self, left: &ValuePath, others: &Comments, right: &ValuePath) -> bool {
        let (Some(left), Some(right)) = (self.words.get(left), others.words.get(right)) else { return false };
        left.len() >= LONG && left == right && others.shared.get(right) == Some(&1)
    }

    /// How much of two comments is equal, from 0 to 1.
    pub(crate) fn similarity(&self, left: &ValuePath, others: &Comments, right: &ValuePath) -> f64 {
        let (Some(left), Some(right)) = (self.words.get(left), others.words.get(right)) else { return 0.0 };
        if left.len() < 3 || right.len() < 3 {
            return 0.0;
        }
        left.intersection(right).count() as f64 / left.union(right).count() as f64
    }

    /// The place of a value in the text; a value that is not there comes last.
    pub(crate) fn order(&self, path: &ValuePath) -> usize {
        self.order.get(path).copied().unwrap_or(usize::MAX)
    }

    fn add(&mut self, chart: &Chart, at: &ValuePath) {
        if let Some(text) = chart.values_text() {
            self.scan(&String::from_utf8_lossy(text), at);
        }
        for subchart in &chart.subcharts {
            self.add(subchart, &at.key(subchart.name()));
        }
    }

    /// Reads lines rather than YAML, because charts also describe values that are commented out.
    fn scan(&mut self, text: &str, at: &ValuePath) {
        let mut above: Vec<(usize, String)> = Vec::new();
        let mut comment = BTreeSet::new();
        for line in text.lines() {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            if let Some(words) = trimmed.strip_prefix('#') {
                self.comment_line(words.trim_start_matches(['#', ' ', '-']), at, &mut comment);
                continue;
            }
            let key = trimmed.split_once(':').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
            let Some(key) = key.filter(|key| !key.is_empty() && !key.starts_with('-')) else {
                comment.clear();
                continue;
            };
            above.retain(|(outer, _)| *outer < indent);
            above.push((indent, key.to_owned()));
            let path = above.iter().fold(at.clone(), |path, (_, key)| path.key(key.as_str()));
            let next = self.order.len();
            self.order.entry(path.clone()).or_insert(next);
            if !comment.is_empty() {
                self.words.entry(path).or_insert_with(|| std::mem::take(&mut comment));
            }
            comment.clear();
        }
    }

    fn comment_line(&mut self, text: &str, at: &ValuePath, comment: &mut BTreeSet<String>) {
        let words = |text: &str| text.split_whitespace().flat_map(names::split).collect::<BTreeSet<_>>();
        match text.strip_prefix("@param ").and_then(|rest| rest.split_once(' ')) {
            Some((name, about)) => {
                if let Ok(path) = name.parse::<ValuePath>() {
                    let path = crate::value_tree::joined(at, path.segments());
                    self.words.insert(
                        path,
                        words(about.trim_start_matches(|at| at != ']').trim_start_matches(']')),
                    );
                    if !about.contains(']')
                        && let Ok(path) = name.parse::<ValuePath>()
                    {
                        self.words.insert(crate::value_tree::joined(at, path.segments()), words(about));
                    }
                }
            }
            None => comment.extend(words(text)),
        }
    }
}
