//! What search, choice and completion need of an index, and no more.

use std::cmp::Ordering;
use std::collections::HashMap;

use pintle_semver::Version;

use super::{Receiver, VersionEntry};

/// What an entry says about its chart in words. Most versions of a chart share one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text {
    /// The name in the entry, which need not be the one that the index lists it by.
    pub name: String,
    /// The description.
    pub description: String,
    /// The keywords, joined by blanks.
    pub keywords: String,
    /// Whether it is a library chart.
    pub is_library: bool,
}

/// A version, as search shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionHead {
    /// The version of the chart.
    pub version: String,
    /// The version of the application.
    pub app_version: String,
    /// Which of the [`Catalog::texts`] belongs to it.
    pub text: u32,
}

/// The rest of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Where the archive is.
    pub urls: Vec<String>,
    /// The digest of the archive.
    pub digest: String,
    /// When it was made, in RFC 3339.
    pub created: String,
    /// Whether it should no longer be used.
    pub deprecated: bool,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartEntry {
    /// The name that the index lists it by.
    pub name: String,
    /// Its versions, the newest first.
    pub versions: Vec<VersionHead>,
    /// What belongs to the versions, in the same order. Empty in a catalog that was read from an index cache.
    pub details: Vec<Detail>,
}

/// An index in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The charts, by name.
    pub charts: Vec<ChartEntry>,
    /// The texts of all versions.
    pub texts: Vec<Text>,
}

impl Catalog {
    /// The chart of a name.
    pub fn chart(&self, name: &str) -> Option<&ChartEntry> {
        self.position(name).map(|at| &self.charts[at])
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.charts.binary_search_by(|chart| chart.name.as_str().cmp(name)).ok()
    }
}

/// Builds a [`Catalog`] from the entries that it receives.
#[derive(Debug, Default)]
pub(super) struct Cataloguer {
    charts: Vec<Building>,
    texts: Vec<Text>,
    known: HashMap<Text, u32>,
}

#[derive(Debug, Default)]
struct Building {
    name: String,
    versions: Vec<(VersionHead, Detail)>,
}

impl Receiver for Cataloguer {
    fn chart(&mut self, name: &str) {
        self.charts.push(Building { name: name.to_owned(), versions: Vec::new() });
    }

    fn version(&mut self, entry: VersionEntry) {
        let VersionEntry { metadata, urls, created, digest, .. } = entry;
        let text = Text {
            name: metadata.name,
            description: metadata.description,
            keywords: metadata.keywords.join(" "),
            is_library: metadata.kind == "library",
        };
        let text = match self.known.get(&text) {
            Some(at) => *at,
            None => {
                let at = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
                self.texts.push(text.clone());
                self.known.insert(text, at);
                at
            }
        };
        let head = VersionHead { version: metadata.version, app_version: metadata.app_version, text };
        let detail = Detail { urls, digest, created: created.to_string(), deprecated: metadata.deprecated };
        if let Some(chart) = self.charts.last_mut() {
            chart.versions.push((head, detail));
        }
    }

    fn reset(&mut self) {
        *self = Cataloguer::default();
    }
}

impl Cataloguer {
    /// The catalog: charts by name, versions from the newest to the oldest. Of charts that occur twice, as in JSON,
    /// the last counts.
    pub(super) fn finish(self) -> Catalog {
        let mut charts = self.charts;
        charts.reverse();
        charts.sort_by(|left, right| left.name.cmp(&right.name));
        charts.dedup_by(|later, kept| later.name == kept.name);
        let charts = charts.into_iter().map(|Building { name, versions }| {
            let (versions, details) = sorted(versions, |(head, _)| &head.version).into_iter().unzip();
            ChartEntry { name, versions, details }
        });
        Catalog { charts: charts.collect(), texts: self.texts }
    }
}

/// Sorts by version, the newest first. Invalid versions, which validation rejects anyway, go last.
pub(super) fn sorted<T>(items: Vec<T>, version: impl Fn(&T) -> &str) -> Vec<T> {
    let mut keyed: Vec<(Option<Version>, T)> =
        items.into_iter().map(|item| (Version::parse(version(&item)).ok(), item)).collect();
    let is_sorted = keyed.is_sorted_by(|left, right| order(&left.0, &right.0) != Ordering::Greater);
    if !is_sorted {
        keyed.sort_by(|left, right| order(&left.0, &right.0));
    }
    keyed.into_iter().map(|(_, item)| item).collect()
}

fn order(left: &Option<Version>, right: &Option<Version>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => right.compare(left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}
