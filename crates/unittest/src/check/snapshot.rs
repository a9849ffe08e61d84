//! `matchSnapshot` and `matchSnapshotRaw`.

use pintle_tree::Node;

use super::{Context, Verdict, raw_text};
use crate::diff::unified;
use crate::fail::{self, Info, uniform};
use crate::mapstructure::Fields;
use crate::path::Path;
use crate::snapshot::{Cache, Compared};

/// The snapshots of one test, numbered in the order of comparison.
pub(crate) struct Comparer<'s> {
    cache: &'s mut Cache,
    test: &'s str,
    counter: u64,
}

impl<'s> Comparer<'s> {
    pub(crate) fn new(cache: &'s mut Cache, test: &'s str) -> Self {
        Comparer { cache, test, counter: 0 }
    }

    fn compare(&mut self, value: &Node, matches: &str, not_matches: &str) -> Compared {
        self.counter += 1;
        self.cache.compare(self.test, self.counter, value, matches, not_matches)
    }
}

#[derive(Debug)]
pub(crate) struct MatchSnapshot {
    path: Path,
    matches: String,
    not_matches: String,
}

impl MatchSnapshot {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let mut pattern = |name| fields.pattern(name).unwrap_or_default().trim().to_owned();
        let (matches, not_matches) = (pattern("matchRegex"), pattern("notMatchRegex"));
        MatchSnapshot { path: Path::new(&fields.str("path")), matches, not_matches }
    }

    pub(super) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        each(context, |context, index, document| self.document(context, index, document))
    }

    fn document(&self, context: &mut Context<'_, '_>, index: usize, document: &Node) -> Verdict {
        super::each_value(context, index, document, &self.path, false, |context, at, value| {
            let compared = context.snapshots.compare(value, &self.matches, &self.not_matches);
            if let Some(error) = &compared.error {
                return (Some(false), fail::error(Some(index), Some(at), error));
            }
            if compared.passed == context.negative {
                return (Some(false), self.info(&compared, index, at, context.negative));
            }
            (Some(true), Info::new())
        })
    }

    fn info(&self, compared: &Compared, index: usize, at: usize, negative: bool) -> Info {
        if !compared.message.is_empty() {
            let format = fail::format(negative, false, false, false, &compared.message);
            return fail::lines(&format, Some(index), Some(at), &[&compared.cached]);
        }
        let format = fail::format(negative, true, false, false, &to_match(compared));
        fail::lines(&format, Some(index), Some(at), &[self.path.text(), &difference(compared, negative)])
    }
}

/// Compares the texts of documents that are no YAML.
pub(super) fn validate_raw(context: &mut Context<'_, '_>) -> Verdict {
    each(context, |context, _, document| {
        let actual = Node::from(uniform(&raw_text(document)));
        let compared = context.snapshots.compare(&actual, "", "");
        if compared.passed != context.negative {
            return (true, Info::new());
        }
        let format = fail::format(context.negative, false, false, false, &to_match(&compared));
        (false, fail::lines(&format, None, None, &[&difference(&compared, context.negative)]))
    })
}

/// Like [`super::each_document`], but no document at all is accepted unless negated.
fn each(
    context: &mut Context<'_, '_>,
    check: impl FnMut(&mut Context<'_, '_>, usize, &Node) -> Verdict,
) -> Verdict {
    if context.selected.is_empty() {
        return (!context.negative, Info::new());
    }
    super::each_document(context, check, Info::new)
}

fn to_match(compared: &Compared) -> String {
    format!(" to match snapshot {}", compared.index)
}

fn difference(compared: &Compared, negative: bool) -> String {
    if negative { compared.cached.clone() } else { unified(&compared.cached, &compared.new) }
}
