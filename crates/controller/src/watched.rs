//! What the controller's own watches see of the objects that requests depend on: which objects there are, and in which state.
//! Only metadata is watched, and only digests of it are kept: 32 bytes for a ConfigMap or Secret, twice that for a version of a
//! release.
//!
//! The content is never read here, but for a request and with its rights.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::ObjectMeta;
use kube::runtime::watcher::{self, Event};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::request::ArchiveKind;
use crate::settled::{MISSING, Seen, state};

/// Identifies an object of a kind, or a release, by its namespace and name.
pub(crate) type Key = u128;

/// The key of an object.
pub(crate) fn key(namespace: &str, name: &str) -> Key {
    let digest = Sha256::digest(format!("{namespace}\n{name}"));
    digest.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// `Release` objects.
    Release,
    /// `ReleaseVersion` objects.
    Version,
    /// ConfigMaps.
    ConfigMap,
    /// Secrets.
    Secret,
}

impl From<ArchiveKind> for Kind {
    fn from(kind: ArchiveKind) -> Kind {
        match kind {
            ArchiveKind::ConfigMap => Kind::ConfigMap,
            ArchiveKind::Secret => Kind::Secret,
        }
    }
}

/// How much of a kind is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Nothing.
    #[default]
    None,
    /// Some objects, so that one that is not seen may exist.
    Some,
    /// All of the namespaces that the controller works for.
    All,
}

/// What all watches see.
#[derive(Debug)]
pub(crate) struct Watched {
    kinds: Mutex<BTreeMap<Kind, Objects>>,
    /// The namespace that is watched; all if empty.
    namespace: String,
    /// Told when a watch has seen all objects, or failed to.
    progress: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Objects {
    coverage: Coverage,
    phase: Phase,
    seen: States,
    /// What the list has so far that the watch begins with, or begins again with.
    listed: Option<States>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Not everything was listed yet.
    #[default]
    Listing,
    /// All changes are seen.
    Following,
    /// The account may not watch, or the kind does not exist.
    Refused,
}

/// The states of objects, and their sums by what they belong to: a version to its release, any other to itself.
#[derive(Debug, Default)]
struct States {
    objects: BTreeMap<Key, (Key, u64)>,
    sums: BTreeMap<Key, u64>,
}

impl States {
    fn set(&mut self, object: Key, group: Key, state: u64) {
        self.remove(object);
        self.objects.insert(object, (group, state));
        // The sum of a single object is its state, which is there already.
        if group != object {
            let sum = self.sums.entry(group).or_default();
            *sum = sum.wrapping_add(state);
        }
    }

    /// Removes an object, and returns what it belonged to.
    fn remove(&mut self, object: Key) -> Option<Key> {
        let (group, state) = self.objects.remove(&object)?;
        if let Some(sum) = self.sums.get_mut(&group) {
            *sum = sum.wrapping_sub(state);
            // No version is left, but for the case that states cancel each other out, in which nothing is known of it.
            if *sum == 0 {
                self.sums.remove(&group);
            }
        }
        Some(group)
    }

    fn state(&self, object: Key) -> Option<u64> {
        self.objects.get(&object).map(|(_, state)| *state)
    }

    /// The objects that differ.
    fn changed(&self, other: &States) -> Vec<Key> {
        let differs = |(key, value): &(&Key, &(Key, u64))| other.objects.get(key) != Some(value);
        let new = other.objects.keys().filter(|key| !self.objects.contains_key(key)).copied();
        self.objects.iter().filter(differs).map(|(key, _)| *key).chain(new).collect()
    }
}

impl Watched {
    /// Watches of a namespace; of all if it is empty.
    pub(crate) fn new(namespace: &str, coverage: impl IntoIterator<Item = (Kind, Coverage)>) -> Arc<Watched> {
        let kinds = coverage.into_iter().filter(|(_, coverage)| *coverage != Coverage::None);
        let kinds =
            kinds.map(|(kind, coverage)| (kind, Objects { coverage, ..Objects::default() })).collect();
        let (kinds, progress) = (Mutex::new(kinds), watch::Sender::new(()));
        Arc::new(Watched { kinds, namespace: namespace.to_owned(), progress })
    }

    /// How much of a kind is watched.
    pub(crate) fn coverage(&self, kind: Kind) -> Coverage {
        self.kinds().get(&kind).map(|objects| objects.coverage).unwrap_or_default()
    }

    /// Waits until every watch has listed its objects, or cannot.
    pub(crate) async fn listed(&self) {
        let mut progress = self.progress.subscribe();
        loop {
            progress.borrow_and_update();
            if self.kinds().values().all(|objects| objects.phase != Phase::Listing) {
                return;
            }
            if progress.changed().await.is_err() {
                return;
            }
        }
    }

    /// Notes an event of a watch. Returns the objects that changed, but not those of the first list.
    pub(crate) fn note(&self, kind: Kind, event: &watcher::Result<Event<ObjectMeta>>) -> Vec<Key> {
        let mut kinds = self.kinds();
        let Some(objects) = kinds.get_mut(&kind) else { return Vec::new() };
        let changed = objects.note(kind, event);
        drop(kinds);
        if matches!(event, Ok(Event::InitDone) | Err(_)) {
            self.progress.send_replace(());
        }
        changed
    }

    /// A poisoned lock is fine: nothing in its critical sections panics halfway.
    fn kinds(&self) -> MutexGuard<'_, BTreeMap<Kind, Objects>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sees(&self, namespace: &str) -> bool {
        self.namespace.is_empty() || self.namespace == namespace
    }
}

impl Objects {
    fn note(&mut self, kind: Kind, event: &watcher::Result<Event<ObjectMeta>>) -> Vec<Key> {
        match event {
            Ok(Event::Init) => self.listed = Some(States::default()),
            Ok(Event::InitApply(object)) => {
                let (key, group, state) = identify(kind, object);
                self.listed.get_or_insert_default().set(key, group, state);
            }
            Ok(Event::InitDone) => {
                let listed = self.listed.take().unwrap_or_default();
                let before = std::mem::replace(&mut self.seen, listed);
                let is_first = std::mem::replace(&mut self.phase, Phase::Following) == Phase::Listing;
                return if is_first { Vec::new() } else { before.changed(&self.seen) };
            }
            Ok(Event::Apply(object)) => {
                let (key, group, state) = identify(kind, object);
                let is_new = self.seen.state(key) != Some(state);
                self.seen.set(key, group, state);
                return if is_new { vec![key] } else { Vec::new() };
            }
            Ok(Event::Delete(object)) => {
                let (key, ..) = identify(kind, object);
                self.seen.remove(key);
                return vec![key];
            }
            Err(error) if is_refused(error) => {
                *self = Objects { coverage: self.coverage, phase: Phase::Refused, ..Objects::default() }
            }
            // The watch goes on by itself where it ended, or lists everything again.
            Err(_) => {}
        }
        Vec::new()
    }

    fn is_complete(&self) -> bool {
        self.phase == Phase::Following
    }
}

/// Key, group and state of an object.
fn identify(kind: Kind, object: &ObjectMeta) -> (Key, Key, u64) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (text(&object.namespace), text(&object.name));
    let version = text(&object.resource_version);
    let own = key(&namespace, &name);
    match kind {
        Kind::Version => {
            let release = object.labels.as_ref().and_then(|labels| labels.get("name"));
            let release = release.map(String::as_str).unwrap_or_default();
            // A version is never its own group, so that each is in a sum.
            (own, key(&namespace, &format!("{release}\n")), state(&name, &version))
        }
        Kind::Release => (own, own, state(&name, &version)),
        Kind::ConfigMap | Kind::Secret => (own, own, state(&text(&object.uid), &version)),
    }
}

/// Whether a watch cannot work: the account has no right, or there is no such kind. Then what was seen grows old.
fn is_refused(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) = error else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404 | 405))
}

impl Seen for Watched {
    fn object(&self, kind: ArchiveKind, namespace: &str, name: &str) -> Option<u64> {
        let kinds = self.kinds();
        let objects = kinds.get(&kind.into()).filter(|objects| objects.is_complete())?;
        let found = objects.seen.state(key(namespace, name));
        match objects.coverage {
            Coverage::All if self.sees(namespace) => Some(found.unwrap_or(MISSING)),
            _ => found,
        }
    }

    fn records(&self, namespace: &str, name: &str) -> Option<u64> {
        let kinds = self.kinds();
        let complete = |kind| kinds.get(&kind).filter(|objects| objects.is_complete());
        let (releases, versions) = (complete(Kind::Release)?, complete(Kind::Version)?);
        let release = releases.seen.state(key(namespace, name))?;
        let versions = versions.seen.sums.get(&key(namespace, &format!("{name}\n")))?;
        Some(release.wrapping_add(*versions))
    }
}

/// Which requests read which objects, so that a change of an object leads to its users without looking at all requests.
#[derive(Debug)]
pub(crate) struct Users<R> {
    by_request: BTreeMap<String, BTreeSet<(Kind, Key)>>,
    by_object: BTreeMap<(Kind, Key), BTreeMap<String, R>>,
}

impl<R> Default for Users<R> {
    fn default() -> Users<R> {
        Users { by_request: BTreeMap::new(), by_object: BTreeMap::new() }
    }
}

impl<R: Clone> Users<R> {
    /// Sets what the request with this uid reads.
    pub(crate) fn set(&mut self, uid: &str, request: &R, objects: BTreeSet<(Kind, Key)>) {
        if self.by_request.get(uid) == Some(&objects) {
            return;
        }
        self.forget(uid);
        for object in &objects {
            self.by_object.entry(*object).or_default().insert(uid.to_owned(), request.clone());
        }
        self.by_request.insert(uid.to_owned(), objects);
    }

    /// Forgets a request.
    pub(crate) fn forget(&mut self, uid: &str) {
        for object in self.by_request.remove(uid).unwrap_or_default() {
            if let Some(users) = self.by_object.get_mut(&object) {
                users.remove(uid);
                if users.is_empty() {
                    self.by_object.remove(&object);
                }
            }
        }
    }

    /// The requests that read an object, with their uids.
    pub(crate) fn of(&self, kind: Kind, object: Key) -> Vec<(String, R)> {
        let users = self.by_object.get(&(kind, object)).into_iter().flatten();
        users.map(|(uid, request)| (uid.clone(), request.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settled::records_state;

    fn meta(name: &str, version: &str, release: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            namespace: Some("apps".to_owned()),
            name: Some(name.to_owned()),
            uid: Some(format!("uid of {name}")),
            resource_version: Some(version.to_owned()),
            labels: release.map(|release| BTreeMap::from([("name".to_owned(), release.to_owned())])),
            ..ObjectMeta::default()
        }
    }

    fn watched() -> Arc<Watched> {
        let all = [Kind::Release, Kind::Version, Kind::ConfigMap].map(|kind| (kind, Coverage::All));
        Watched::new("", all.into_iter().chain([(Kind::Secret, Coverage::Some)]))
    }

    fn list(watched: &Watched, kind: Kind, objects: Vec<ObjectMeta>) -> Vec<Key> {
        watched.note(kind, &Ok(Event::Init));
        for object in objects {
            watched.note(kind, &Ok(Event::InitApply(object)));
        }
        watched.note(kind, &Ok(Event::InitDone))
    }

    #[test]
    fn the_state_of_a_release_is_that_of_all_its_objects() {
        let watched = watched();
        assert_eq!(watched.records("apps", "web"), None, "nothing was listed");
        list(&watched, Kind::Release, vec![meta("web", "5", None)]);
        list(&watched, Kind::Version, vec![meta("web-1", "3", Some("web")), meta("web-2", "4", Some("web"))]);
        let versions = |second: &str| {
            vec![("web-1".to_owned(), "3".to_owned()), ("web-2".to_owned(), second.to_owned())]
        };
        assert_eq!(watched.records("apps", "web"), Some(records_state("web", "5", &versions("4"))));
        watched.note(Kind::Version, &Ok(Event::Apply(meta("web-2", "9", Some("web")))));
        assert_eq!(watched.records("apps", "web"), Some(records_state("web", "5", &versions("9"))));
        for name in ["web-1", "web-2"] {
            watched.note(Kind::Version, &Ok(Event::Delete(meta(name, "10", Some("web")))));
        }
        assert_eq!(watched.records("apps", "web"), None, "a release without versions is looked at");
    }

    #[test]
    fn changes_are_those_after_the_first_list_also_if_the_watch_was_interrupted() {
        let watched = watched();
        let first = list(&watched, Kind::ConfigMap, vec![meta("a", "1", None), meta("b", "1", None)]);
        assert!(first.is_empty(), "the first list is no change");
        let one = |name: &str| key("apps", name);
        assert_eq!(watched.note(Kind::ConfigMap, &Ok(Event::Apply(meta("a", "2", None)))), [one("a")]);
        assert!(watched.note(Kind::ConfigMap, &Ok(Event::Apply(meta("a", "2", None)))).is_empty());
        let mut changed = list(&watched, Kind::ConfigMap, vec![meta("a", "3", None), meta("c", "1", None)]);
        changed.sort_unstable();
        let mut expected = vec![one("a"), one("b"), one("c")];
        expected.sort_unstable();
        assert_eq!(changed, expected, "changed, gone and new");
        assert_eq!(watched.object(ArchiveKind::ConfigMap, "apps", "b"), Some(MISSING));
        assert_eq!(watched.object(ArchiveKind::ConfigMap, "apps", "a"), Some(state("uid of a", "3")));
    }

    #[test]
    fn what_a_watch_with_a_selector_does_not_see_is_unknown_and_not_missing() {
        let watched = watched();
        list(&watched, Kind::Secret, vec![meta("a", "1", None)]);
        assert_eq!(watched.object(ArchiveKind::Secret, "apps", "a"), Some(state("uid of a", "1")));
        assert_eq!(watched.object(ArchiveKind::Secret, "apps", "b"), None);
        let one = Watched::new("apps", [(Kind::ConfigMap, Coverage::All)]);
        list(&one, Kind::ConfigMap, vec![]);
        assert_eq!(one.object(ArchiveKind::ConfigMap, "apps", "a"), Some(MISSING));
        assert_eq!(
            one.object(ArchiveKind::ConfigMap, "other", "a"),
            None,
            "another namespace is not watched"
        );
    }

    #[tokio::test]
    async fn a_watch_that_is_refused_holds_nobody_up_and_says_nothing() {
        let watched = Watched::new("", [(Kind::ConfigMap, Coverage::All)]);
        let status = kube::core::Status::failure("no", "Forbidden").with_code(403).boxed();
        let refused = watcher::Error::InitialListFailed(kube::Error::Api(status));
        watched.note(Kind::ConfigMap, &Err(refused));
        watched.listed().await;
        assert_eq!(watched.object(ArchiveKind::ConfigMap, "apps", "a"), None);
        list(&watched, Kind::ConfigMap, vec![meta("a", "1", None)]);
        assert!(watched.object(ArchiveKind::ConfigMap, "apps", "a").is_some(), "the right was given later");
    }

    #[test]
    fn a_change_of_an_object_leads_to_its_users_alone() {
        let mut users: Users<&str> = Users::default();
        let object = |name: &str| (Kind::Secret, key("apps", name));
        users.set("1", &"one", BTreeSet::from([object("a"), object("b")]));
        users.set("2", &"two", BTreeSet::from([object("b")]));
        let of = |users: &Users<&'static str>, name: &str| -> Vec<&str> {
            users.of(Kind::Secret, key("apps", name)).into_iter().map(|(_, request)| request).collect()
        };
        assert_eq!((of(&users, "a"), of(&users, "b")), (vec!["one"], vec!["one", "two"]));
        users.set("1", &"one", BTreeSet::from([object("c")]));
        users.forget("2");
        assert_eq!((of(&users, "a"), of(&users, "b"), of(&users, "c")), (vec![], vec![], vec!["one"]));
        users.forget("1");
        assert!(users.by_object.is_empty() && users.by_request.is_empty());
    }
}
