//! Storage, in the place of etcd: one ordered map, one revision counter, and a history of recent events for watches.

mod file;
mod history;
mod label_index;
mod object;
mod state;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use pintle_tree::{Node, Str};
use tokio::sync::watch;

use file::FileWriter;
pub use file::{FILE_THREAD, FileError};
pub use history::{Event, HistoryWindow, TooOld};
pub use label_index::IndexHint;
pub use object::{Object, ObjectMeta, key, prefix};
use state::{Change, State};
pub use state::{Precondition, WriteError};

/// Objects in memory, optionally backed by a file.
pub struct Store {
    state: Arc<RwLock<State>>,
    /// The newest revision; watches wait for it to change.
    revision: Arc<watch::Sender<u64>>,
    writer: Option<FileWriter>,
}

/// The result of a list.
pub struct Listing {
    /// The revision of the list.
    pub revision: u64,
    /// In the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// How many objects follow the last one.
    pub remaining: usize,
}

impl Store {
    /// A store that is lost with the process.
    pub fn in_memory(window: HistoryWindow) -> Store {
        let state = Arc::new(RwLock::new(State::new(0, window)));
        Store { state, revision: Arc::new(watch::Sender::new(0)), writer: None }
    }

    /// Opens the store in a file, which is created if it does not exist. Writes are acknowledged when they are on
    /// disk.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is in use by another process, or is not a store.
    pub fn in_file(path: &Path, window: HistoryWindow) -> Result<Store, FileError> {
        let file::Opened { state, revision, writer } = FileWriter::open(path, window)?;
        Ok(Store { state, revision, writer: Some(writer) })
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        // A panic during a write must not make the store unusable for all other requests.
        read(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.read(State::revision)
    }

    /// Notifies of every new revision.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// The object under `key`.
    pub fn get(&self, key: &Str) -> Option<Arc<Object>> {
        self.read(|state| state.get(key).cloned())
    }

    /// The object with this uid, if there is one.
    pub fn by_uid(&self, uid: &Str) -> Option<Arc<Object>> {
        self.read(|state| state.by_uid(uid).cloned())
    }

    /// The objects that have an owner reference to this uid.
    pub fn dependents(&self, uid: &Str) -> Vec<Arc<Object>> {
        self.read(|state| state.dependents(uid))
    }

    /// The number of objects that have an owner reference to this uid.
    pub fn count_dependents(&self, uid: &Str) -> usize {
        self.read(|state| state.count_dependents(uid))
    }

    /// Lists the objects with the key prefix `prefix`: those after the key `after`, at most `limit` of those that
    /// `matches` accepts, at `revision` or the newest one.
    ///
    /// # Errors
    ///
    /// If the revision is no longer in the history.
    pub fn list(
        &self,
        prefix: &str,
        after: Option<&Str>,
        limit: usize,
        revision: Option<u64>,
        matches: &dyn Fn(&Object) -> bool,
    ) -> Result<Listing, TooOld> {
        self.read(|state| state.list(prefix, after, limit, revision, matches))
    }

    /// Like [`Store::list`], with a hint that lets the index find the matching objects. `remaining` is then 0 or 1,
    /// as counting would need a full scan.
    ///
    /// # Errors
    ///
    /// If the revision is no longer in the history.
    pub fn find(
        &self,
        prefix: &str,
        after: Option<&Str>,
        limit: usize,
        revision: Option<u64>,
        (hint, matches): (&IndexHint, &dyn Fn(&Object) -> bool),
    ) -> Result<Listing, TooOld> {
        self.read(|state| {
            // The index only knows the present; lists of the past are reconstructed from the history.
            let is_now = revision.is_none_or(|revision| revision == state.revision());
            let found = is_now.then(|| state.find(prefix, after, limit, hint, matches)).flatten();
            found.map_or_else(|| state.list(prefix, after, limit, revision, matches), Ok)
        })
    }

    /// Whether there is any object under `prefix`.
    pub fn has(&self, prefix: &str) -> bool {
        self.read(|state| state.has(prefix))
    }

    /// The events after `revision` under `prefix`, and the revision that they lead up to.
    ///
    /// # Errors
    ///
    /// If the revision is no longer in the history.
    pub fn changes(&self, prefix: &str, revision: u64) -> Result<(Vec<Arc<Event>>, u64), TooOld> {
        self.read(|state| state.changes(prefix, revision))
    }

    /// Writes an object and sets its `metadata.resourceVersion`.
    ///
    /// # Errors
    ///
    /// If the precondition does not hold, or the file cannot be written.
    pub async fn put(
        &self,
        key: Str,
        precondition: Precondition,
        object: Node,
    ) -> Result<Arc<Object>, WriteError> {
        self.write(Change { key, precondition, object: Some(object) }).await
    }

    /// Removes an object and returns its last state, with the revision of the removal.
    ///
    /// # Errors
    ///
    /// If the precondition does not hold, or the file cannot be written.
    pub async fn remove(&self, key: Str, precondition: Precondition) -> Result<Arc<Object>, WriteError> {
        self.write(Change { key, precondition, object: None }).await
    }

    async fn write(&self, change: Change) -> Result<Arc<Object>, WriteError> {
        if let Some(writer) = &self.writer {
            return writer.write(change).await;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut staged = state.stage();
        let object = staged.add(change)?;
        let staged = staged.finish();
        state.apply(staged);
        let revision = state.revision();
        // Sent without the lock, so that woken watches do not wait for it. Two writers may send in the wrong
        // order; receivers wait for any change and read the revision from the store.
        drop(state);
        self.revision.send_replace(revision);
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> Node {
        let text = format!(r#"{{"metadata":{{"name":"{name}","uid":"u-{name}"}}}}"#);
        pintle_tree::json::read_exact(text.as_bytes()).unwrap()
    }

    async fn put(store: &Store, name: &str, precondition: Precondition) -> Result<Arc<Object>, WriteError> {
        store.put(key("configmaps", "a", name), precondition, object(name)).await
    }

    fn names(listing: &Listing) -> Vec<String> {
        listing
            .objects
            .iter()
            .map(|object| object.key.to_str_lossy().rsplit('/').next().unwrap().to_owned())
            .collect()
    }

    fn all(store: &Store, revision: Option<u64>) -> Result<Listing, TooOld> {
        store.list("configmaps/", None, usize::MAX, revision, &|_| true)
    }

    #[tokio::test]
    async fn every_write_has_its_own_revision_and_only_one_of_two_writers_wins() {
        let store = Store::in_memory(HistoryWindow::default());
        let first = put(&store, "x", Precondition::Absent).await.unwrap();
        assert!(matches!(put(&store, "x", Precondition::Absent).await, Err(WriteError::Exists)));
        let second = put(&store, "x", Precondition::Revision(first.revision)).await.unwrap();
        assert!(matches!(
            put(&store, "x", Precondition::Revision(first.revision)).await,
            Err(WriteError::Changed(_))
        ));
        assert_eq!((first.revision, second.revision), (1, 2));
        let shown = second.node();
        assert_eq!(shown.get("metadata").unwrap().get("resourceVersion"), Some(&Node::from("2")));
    }

    #[tokio::test]
    async fn lists_at_older_revisions_are_available() {
        let store = Store::in_memory(HistoryWindow::default());
        for name in ["b", "a", "c"] {
            put(&store, name, Precondition::Absent).await.unwrap();
        }
        store.remove(key("configmaps", "a", "a"), Precondition::Present).await.unwrap();
        assert_eq!(names(&all(&store, None).unwrap()), ["b", "c"]);
        assert_eq!(names(&all(&store, Some(2)).unwrap()), ["a", "b"]);
        let page = store.list("configmaps/", None, 1, Some(3), &|_| true).unwrap();
        assert_eq!((names(&page), page.remaining), (vec!["a".to_owned()], 2));
        let rest = store.list("configmaps/", Some(&page.objects[0].key), 9, Some(3), &|_| true).unwrap();
        assert_eq!(names(&rest), ["b", "c"]);
    }

    /// A list by labels is the same with and without the help of an index, whatever the page.
    #[tokio::test]
    async fn index_hints_do_not_change_results() {
        let store = Store::in_memory(HistoryWindow::default());
        let labelled = |name: &str, labels: &str| {
            let text = format!(r#"{{"metadata":{{"name":"{name}","labels":{{{labels}}}}}}}"#);
            (key("pods", "a", name), pintle_tree::json::read_exact(text.as_bytes()).unwrap())
        };
        for index in 0..20 {
            let labels = format!(r#""even":"{}","all":"yes""#, index % 2 == 0);
            let (key, object) = labelled(&format!("p{index:02}"), &labels);
            store.put(key, Precondition::Absent, object).await.unwrap();
        }
        let (moved, object) = labelled("p02", r#""even":"false""#);
        store.put(moved, Precondition::Present, object).await.unwrap();
        store.remove(key("pods", "a", "p04"), Precondition::Present).await.unwrap();
        let pair = (Str::from("even"), Str::from("true"));
        let matches = |object: &Object| object.meta.labels.contains(&pair);
        let hint = IndexHint::Labels(vec![pair.clone(), ("all".into(), "yes".into())]);
        for limit in [1, 3, 8, 9, usize::MAX] {
            for (start, revision) in [(None, None), (Some("p09"), None), (None, Some(20))] {
                let after = start.map(|name| key("pods", "a", name));
                let plain = store.list("pods/a/", after.as_ref(), limit, revision, &matches).unwrap();
                let found =
                    store.find("pods/a/", after.as_ref(), limit, revision, (&hint, &matches)).unwrap();
                assert_eq!(names(&plain), names(&found));
                assert_eq!(plain.remaining > 0, found.remaining > 0, "{limit} after {start:?}");
            }
        }
        let one = IndexHint::Key(key("pods", "a", "p06"));
        let found = store.find("pods/a/", None, 9, None, (&one, &matches)).unwrap();
        assert_eq!(names(&found), ["p06"]);
        let nobody = IndexHint::Labels(vec![("even".into(), "perhaps".into())]);
        assert!(store.find("pods/a/", None, 9, None, (&nobody, &|_| true)).unwrap().objects.is_empty());
    }

    #[tokio::test]
    async fn revisions_outside_the_history_are_too_old() {
        let store = Store::in_memory(HistoryWindow { events: 2, bytes: usize::MAX });
        for name in ["a", "b", "c", "d"] {
            put(&store, name, Precondition::Absent).await.unwrap();
        }
        assert_eq!(store.changes("configmaps/", 2).unwrap().0.len(), 2);
        assert!(store.changes("configmaps/", 1).is_err() && all(&store, Some(1)).is_err());
        assert_eq!(names(&all(&store, Some(2)).unwrap()), ["a", "b"]);
    }

    #[tokio::test]
    async fn a_file_keeps_acknowledged_writes_and_the_revision() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cluster.db");
        let store = Store::in_file(&path, HistoryWindow::default()).unwrap();
        for name in ["a", "b"] {
            put(&store, name, Precondition::Absent).await.unwrap();
        }
        store.remove(key("configmaps", "a", "a"), Precondition::Present).await.unwrap();
        let in_use = Store::in_file(&path, HistoryWindow::default()).err().unwrap().to_string();
        assert!(in_use.contains("another process"), "{in_use}");
        drop(store);
        let store = Store::in_file(&path, HistoryWindow::default()).unwrap();
        assert_eq!((store.revision(), names(&all(&store, None).unwrap())), (3, vec!["b".to_owned()]));
        assert!(store.by_uid(&"u-b".into()).is_some());
        assert!(store.changes("", 2).is_err(), "the past is gone");
        assert_eq!(put(&store, "c", Precondition::Absent).await.unwrap().revision, 4);
    }

    #[test]
    fn a_file_that_is_not_a_store_is_rejected_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "not a store").unwrap();
        let error = Store::in_file(&path, HistoryWindow::default()).err().unwrap().to_string();
        assert!(error.contains("notes.txt"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"not a store");
    }
}
