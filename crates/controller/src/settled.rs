//! The state in which a request needs nothing: what was read for it when its release was found as requested. As long as the
//! watches see the same, its turns read nothing, load no chart and compose no values.
//!
//! It is kept in the status of the request, so that it survives the controller: a process that starts compares it with what
//! its watches list, and asks nothing about requests that are as they were.
//!
//! What was read is identified by resource versions, which say nothing about the content. It was read with the rights of the
//! request, and what the watches see is only compared with it, so that no request learns anything of what it may not read.
//! That its rights were taken away is noticed with the next change, or after a day.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::request::{ArchiveKind, HelmRequest, HelmRequestSpec, hex};

/// How long it holds. Then everything is read once, whatever the watches say.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// From which age on it is written again by a turn that read everything.
const RENEWED: Duration = Duration::from_secs(20 * 3600);
/// How many objects it lists. Requests with more sources read them at their interval.
const MAX_SOURCES: usize = 32;
/// The version of the format. Whoever changes what a turn does with the same inputs raises it.
const FORMAT: &str = "1";
/// Not the affair of the controller, and as long as the request itself.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object that was read for a request, in the namespace of the request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    /// Its kind.
    pub(crate) kind: ArchiveKind,
    /// Its name.
    pub(crate) name: String,
    /// What identifies what was read; [`MISSING`] if it does not exist.
    pub(crate) state: u64,
}

/// The state of an object that does not exist.
pub(crate) const MISSING: u64 = 0;

/// What identifies the state of an object by its uid or name and its resource version.
pub(crate) fn state(id: &str, resource_version: &str) -> u64 {
    let digest = Sha256::digest(format!("{id}\n{resource_version}"));
    digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes).max(1))
}

/// What identifies the state of a release with its versions, by the names and resource versions of their objects.
pub(crate) fn records_state(release: &str, resource_version: &str, versions: &[(String, String)]) -> u64 {
    let sum = |sum: u64, (name, version): &(String, String)| sum.wrapping_add(state(name, version));
    versions.iter().fold(state(release, resource_version), sum)
}

/// What the watches are asked for.
pub(crate) trait Seen {
    /// The state of an object; `None` if it is not known.
    fn object(&self, kind: ArchiveKind, namespace: &str, name: &str) -> Option<u64>;
    /// The state of a release with its versions; `None` if it is not known.
    fn records(&self, namespace: &str, name: &str) -> Option<u64>;
}

/// The settled state of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// When everything was read, in seconds since 1970.
    at: i64,
    interval: Duration,
    generation: i64,
    /// The namespace and the name of the records.
    records: (String, String),
    /// The digest of a chart that is not in an object.
    chart: String,
    sources: Vec<(ArchiveKind, String)>,
    digest: String,
}

/// What a turn found.
pub(crate) struct Found<'a> {
    pub(crate) now: i64,
    pub(crate) default_account: &'a str,
    /// The digest of a chart that is not in an object; empty for one that is.
    pub(crate) chart: &'a str,
    pub(crate) sources: &'a [Source],
    pub(crate) records: u64,
}

/// Whether the inputs of a request can all be watched: its release is in this cluster, and it waits for nobody.
pub(crate) fn is_watchable(spec: &HelmRequestSpec) -> bool {
    spec.kube_config.is_none()
        && spec.depends_on.is_empty()
        && spec.drift_detection.mode == crate::request::DriftMode::Disabled
}

impl Settled {
    /// The settled state of a request, if what it was made from can be watched.
    pub(crate) fn of(request: &HelmRequest, found: &Found<'_>) -> Option<Settled> {
        if !is_watchable(&request.spec) || found.sources.len() > MAX_SOURCES {
            return None;
        }
        let mut sources = found.sources.to_vec();
        sources.sort();
        // An object that changed while the turn read it twice leads to two states, and no watch has both.
        sources.dedup();
        let states: Vec<u64> = sources.iter().map(|source| source.state).chain([found.records]).collect();
        let annotations = request.metadata.annotations.as_ref();
        Some(Settled {
            at: found.now,
            interval: request.spec.interval().ok()?,
            generation: request.generation(),
            records: (request.storage_namespace().to_owned(), request.release_name()),
            chart: found.chart.to_owned(),
            sources: sources.into_iter().map(|source| (source.kind, source.name)).collect(),
            digest: digest(found.default_account, request.generation(), annotations, found.chart, &states),
        })
    }

    /// Whether this says the same as an earlier one that is still young.
    pub(crate) fn is_covered_by(&self, earlier: &Settled) -> bool {
        let age = u64::try_from(self.at.saturating_sub(earlier.at)).unwrap_or(u64::MAX);
        Settled { at: earlier.at, ..self.clone() } == *earlier && age < RENEWED.as_secs()
    }

    /// Whether the request was changed since, as far as its metadata tells.
    pub(crate) fn is_of(&self, generation: i64) -> bool {
        self.generation == generation
    }

    /// How often the request is looked at.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// The digest of a chart that is not in an object; empty for one that is.
    pub(crate) fn chart(&self) -> &str {
        &self.chart
    }

    /// The objects that were read.
    pub(crate) fn sources(&self) -> &[(ArchiveKind, String)] {
        &self.sources
    }

    /// Whether nothing changed: the request has this metadata, and the watches see what was read.
    pub(crate) fn holds(
        &self,
        (namespace, generation, annotations): (&str, i64, Option<&BTreeMap<String, String>>),
        seen: &dyn Seen,
        default_account: &str,
        now: i64,
    ) -> bool {
        // A clock that was set back counts as an age that nobody knows.
        let age = u64::try_from(now.saturating_sub(self.at)).unwrap_or(u64::MAX);
        if generation != self.generation || age > MAX_AGE.as_secs() {
            return false;
        }
        let state = |(kind, name): &(ArchiveKind, String)| seen.object(*kind, namespace, name);
        let records = std::iter::once_with(|| seen.records(&self.records.0, &self.records.1));
        let states: Option<Vec<u64>> = self.sources.iter().map(state).chain(records).collect();
        states.is_some_and(|states| {
            digest(default_account, generation, annotations, &self.chart, &states) == self.digest
        })
    }

    /// The text for the status.
    pub(crate) fn to_text(&self) -> String {
        let Settled { at, generation, records: (namespace, name), digest, .. } = self;
        let chart = if self.chart.is_empty() { "-" } else { &self.chart };
        let mut text = format!(
            "{FORMAT} {at} {} {generation} {namespace}/{name} {digest} {chart}",
            self.interval.as_millis()
        );
        for (kind, name) in &self.sources {
            text.push_str(&format!(" {}/{name}", kind.as_str()));
        }
        text
    }

    /// Reads the text of a status; `None` if it is none of this format.
    pub(crate) fn parse(text: &str) -> Option<Settled> {
        let mut words = text.split(' ');
        if words.next()? != FORMAT {
            return None;
        }
        let at = words.next()?.parse().ok()?;
        let interval = Duration::from_millis(words.next()?.parse().ok()?);
        let generation = words.next()?.parse().ok()?;
        let (namespace, name) = words.next()?.split_once('/')?;
        let digest = words.next()?.to_owned();
        let chart = words.next().filter(|chart| *chart != "-").unwrap_or_default().to_owned();
        let sources = words.take(MAX_SOURCES).map(|word| {
            let (kind, name) = word.split_once('/')?;
            let kinds = [ArchiveKind::ConfigMap, ArchiveKind::Secret];
            Some((kinds.into_iter().find(|known| known.as_str() == kind)?, name.to_owned()))
        });
        let sources = sources.collect::<Option<_>>()?;
        let records = (namespace.to_owned(), name.to_owned());
        Some(Settled { at, interval, generation, records, chart, sources, digest })
    }
}

/// The digest of everything that a turn depends on.
fn digest(
    default_account: &str,
    generation: i64,
    annotations: Option<&BTreeMap<String, String>>,
    chart: &str,
    states: &[u64],
) -> String {
    let annotations: Vec<_> =
        annotations.into_iter().flatten().filter(|(key, _)| *key != LAST_APPLIED).collect();
    // Another version of the controller may find something to do.
    let parts = (env!("CARGO_PKG_VERSION"), default_account, generation, annotations, chart, states);
    let text = serde_json::to_vec(&parts).unwrap_or_default();
    hex(&Sha256::digest(text))[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Watches(BTreeMap<String, u64>);

    impl Seen for Watches {
        fn object(&self, kind: ArchiveKind, namespace: &str, name: &str) -> Option<u64> {
            self.0.get(&format!("{} {namespace}/{name}", kind.as_str())).copied()
        }

        fn records(&self, namespace: &str, name: &str) -> Option<u64> {
            self.0.get(&format!("{namespace}/{name}")).copied()
        }
    }

    fn request() -> HelmRequest {
        let mut request = HelmRequest::default();
        request.metadata.name = Some("web".to_owned());
        request.metadata.namespace = Some("apps".to_owned());
        request.metadata.generation = Some(3);
        request
    }

    fn sources() -> Vec<Source> {
        vec![Source { kind: ArchiveKind::ConfigMap, name: "values".to_owned(), state: 7 }]
    }

    fn settled(request: &HelmRequest) -> Settled {
        let found =
            Found { now: 1_000_000, default_account: "default", chart: "", sources: &sources(), records: 9 };
        Settled::of(request, &found).expect("it can be watched")
    }

    fn watches() -> Watches {
        Watches(BTreeMap::from([("ConfigMap apps/values".to_owned(), 7), ("apps/web".to_owned(), 9)]))
    }

    #[test]
    fn it_survives_as_text() {
        let settled = settled(&request());
        assert_eq!(Settled::parse(&settled.to_text()), Some(settled));
        for wrong in ["", "2 1 1 1 a/b d -", "1 x 1 1 a/b d -", "1 1 1 1 ab d -", "1 1 1 1 a/b d - Pod/x"] {
            assert_eq!(Settled::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn it_holds_until_something_that_was_read_changes() {
        let settled = settled(&request());
        let annotations = BTreeMap::from([(LAST_APPLIED.to_owned(), "{}".to_owned())]);
        let holds = |seen: &Watches, generation, annotations: &BTreeMap<String, String>, account, now| {
            settled.holds(("apps", generation, Some(annotations)), seen, account, now)
        };
        let none = BTreeMap::new();
        assert!(holds(&watches(), 3, &none, "default", 1_000_060));
        assert!(holds(&watches(), 3, &annotations, "default", 1_000_060));
        assert!(!holds(&watches(), 4, &none, "default", 1_000_060), "the spec changed");
        assert!(!holds(&watches(), 3, &none, "other", 1_000_060), "it acts as somebody else");
        assert!(!holds(&watches(), 3, &none, "default", 1_000_000 + 25 * 3600), "a day has passed");
        assert!(!holds(&watches(), 3, &none, "default", 999_000), "the clock was set back");
        let asked = BTreeMap::from([("helm.sh/reconcile-requested-at".to_owned(), "now".to_owned())]);
        assert!(!holds(&watches(), 3, &asked, "default", 1_000_060));
        for changed in ["ConfigMap apps/values", "apps/web"] {
            let mut seen = watches();
            seen.0.insert(changed.to_owned(), 1);
            assert!(!holds(&seen, 3, &none, "default", 1_000_060), "{changed} changed");
            seen.0.remove(changed);
            assert!(!holds(&seen, 3, &none, "default", 1_000_060), "{changed} is not known");
        }
    }

    #[test]
    fn what_cannot_be_watched_is_never_settled() {
        let found = Found { now: 0, default_account: "", chart: "", sources: &[], records: 9 };
        let with = |change: &dyn Fn(&mut HelmRequestSpec)| {
            let mut request = request();
            change(&mut request.spec);
            Settled::of(&request, &found)
        };
        assert!(with(&|_| {}).is_some());
        assert!(with(&|spec| spec.kube_config = Some(Default::default())).is_none());
        assert!(with(&|spec| spec.depends_on = vec![Default::default()]).is_none());
        assert!(with(&|spec| spec.drift_detection.mode = crate::request::DriftMode::Warn).is_none());
    }

    #[test]
    fn it_is_written_again_only_if_it_says_something_new_or_is_old() {
        let (one, request) = (settled(&request()), request());
        let at = |now: i64, records: u64| {
            let found = Found { now, default_account: "default", chart: "", sources: &sources(), records };
            Settled::of(&request, &found).expect("it can be watched")
        };
        assert!(at(1_000_600, 9).is_covered_by(&one));
        assert!(!at(1_000_600, 8).is_covered_by(&one));
        assert!(!at(1_000_000 + 21 * 3600, 9).is_covered_by(&one));
    }
}
