//! The current objects and their indices, and the application of writes.
//!
//! A write is staged first, against a shared reference, and applied afterwards. The file writer commits to
//! disk in between, so that readers never see a write that a crash could undo.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use pintle_tree::{Node, Str};

use super::Listing;
use super::history::{Event, History, HistoryWindow, TooOld};
use super::label_index::{IndexHint, LabelIndex};
use super::object::Object;

/// What a write expects to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// No object: a create.
    Absent,
    /// An object in any state.
    Present,
    /// The object at this revision: an update.
    Revision(u64),
}

/// Why a write failed.
#[derive(Debug)]
pub enum WriteError {
    /// The object already exists.
    Exists,
    /// The object does not exist.
    Missing,
    /// The object has another revision: a conflict.
    Changed(Arc<Object>),
    /// The file cannot be written.
    Broken(String),
}

/// A requested write.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) key: Str,
    pub(super) precondition: Precondition,
    /// `None` to remove the object.
    pub(super) object: Option<Node>,
}

/// The number of recently written objects whose parsed trees are cached: the writer, watches and controllers are
/// about to read them.
const MAX_CACHED_TREES: usize = 256;

#[derive(Debug)]
pub(super) struct State {
    objects: BTreeMap<Str, Arc<Object>>,
    uids: BTreeMap<Str, Str>,
    /// The keys of dependents, by the uid of the owner.
    dependents: BTreeMap<Str, BTreeSet<Str>>,
    labels: LabelIndex,
    /// The objects with cached trees, oldest first.
    cached_trees: VecDeque<Arc<Object>>,
    revision: u64,
    history: History,
}

impl State {
    pub(super) fn new(revision: u64, window: HistoryWindow) -> State {
        State {
            objects: BTreeMap::new(),
            uids: BTreeMap::new(),
            dependents: BTreeMap::new(),
            labels: LabelIndex::default(),
            cached_trees: VecDeque::new(),
            revision,
            history: History::new(revision, window),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: &Str) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    pub(super) fn by_uid(&self, uid: &Str) -> Option<&Arc<Object>> {
        self.uids.get(uid).and_then(|key| self.objects.get(key))
    }

    pub(super) fn dependents(&self, uid: &Str) -> Vec<Arc<Object>> {
        let keys = self.dependents.get(uid).into_iter().flatten();
        keys.filter_map(|key| self.objects.get(key).cloned()).collect()
    }

    pub(super) fn count_dependents(&self, uid: &Str) -> usize {
        self.dependents.get(uid).map_or(0, BTreeSet::len)
    }

    fn with_prefix(&self, prefix: &str, after: Option<&Str>) -> impl Iterator<Item = &Arc<Object>> {
        let start = match after {
            Some(key) => Bound::Excluded(key.as_bytes()),
            None => Bound::Included(prefix.as_bytes()),
        };
        let prefix = prefix.as_bytes().to_vec();
        let range = self.objects.range::<[u8], _>((start, Bound::Unbounded));
        range.map(|(_, object)| object).take_while(move |object| object.key.as_bytes().starts_with(&prefix))
    }

    pub(super) fn has(&self, prefix: &str) -> bool {
        self.with_prefix(prefix, None).next().is_some()
    }

    pub(super) fn list(
        &self,
        prefix: &str,
        after: Option<&Str>,
        limit: usize,
        revision: Option<u64>,
        matches: &dyn Fn(&Object) -> bool,
    ) -> Result<Listing, TooOld> {
        let revision = revision.unwrap_or(self.revision);
        // A list of the past is the current state with the recent changes undone.
        let past = self.differences(prefix, revision)?;
        let mut objects: Vec<Arc<Object>> = Vec::new();
        let mut remaining = 0;
        // Beyond the limit, objects are only counted, without evaluating the selector: the real server does
        // not send a count for lists with a selector either.
        let mut take = |object: &Arc<Object>| {
            if objects.len() < limit {
                if matches(object) {
                    objects.push(Arc::clone(object));
                }
            } else {
                remaining += 1;
            }
        };
        // Both are in the order of keys, so they can be merged in one pass.
        let mut past = past.iter().filter(|(key, _)| after.is_none_or(|after| *key > after)).peekable();
        for object in self.with_prefix(prefix, after) {
            while let Some((_, then)) = past.next_if(|(key, _)| **key < object.key) {
                then.iter().for_each(&mut take);
            }
            match past.next_if(|(key, _)| **key == object.key) {
                Some((_, then)) => then.iter().for_each(&mut take),
                None => take(object),
            }
        }
        past.for_each(|(_, then)| then.iter().for_each(&mut take));
        Ok(Listing { revision, objects, remaining })
    }

    /// Like [`State::list`] at the newest revision, by the index. The remaining objects are not counted.
    pub(super) fn find(
        &self,
        prefix: &str,
        after: Option<&Str>,
        limit: usize,
        hint: &IndexHint,
        matches: &dyn Fn(&Object) -> bool,
    ) -> Option<Listing> {
        let is_in_range =
            |key: &&Str| key.starts_with(prefix.as_bytes()) && after.is_none_or(|after| *key > after);
        let mut keys: Box<dyn Iterator<Item = &Str> + '_> = match hint {
            IndexHint::Nothing => return None,
            IndexHint::Key(key) => Box::new(self.objects.get_key_value(key).map(|(key, _)| key).into_iter()),
            IndexHint::Labels(pairs) => self.labels.with_prefix(prefix, pairs)?,
        };
        let mut objects = Vec::new();
        let candidates = keys.by_ref().filter(is_in_range).filter_map(|key| self.objects.get(key));
        objects.extend(candidates.filter(|object| matches(object)).take(limit).cloned());
        let is_full = objects.len() >= limit;
        let last = objects.last().map(|object: &Arc<Object>| &object.key);
        let remaining = usize::from(is_full && self.with_prefix(prefix, last.or(after)).next().is_some());
        Some(Listing { revision: self.revision, objects, remaining })
    }

    /// The objects at `revision` for all keys that have changed since.
    fn differences(&self, prefix: &str, revision: u64) -> Result<BTreeMap<Str, Option<Arc<Object>>>, TooOld> {
        let mut then = BTreeMap::new();
        if revision >= self.revision {
            return Ok(then);
        }
        // From the newest to the oldest event, so that the oldest state of a key wins.
        for event in self.history.after(revision)?.rev() {
            if event.object.key.as_bytes().starts_with(prefix.as_bytes()) {
                then.insert(event.object.key.clone(), event.previous.clone());
            }
        }
        Ok(then)
    }

    pub(super) fn changes(&self, prefix: &str, revision: u64) -> Result<(Vec<Arc<Event>>, u64), TooOld> {
        let events = self.history.after(revision)?;
        let under = |event: &&Arc<Event>| event.object.key.as_bytes().starts_with(prefix.as_bytes());
        Ok((events.filter(under).cloned().collect(), self.revision))
    }

    /// Starts a batch of writes, each of which sees those before it.
    pub(super) fn stage(&self) -> Staging<'_> {
        Staging { state: self, staged: Staged { events: Vec::new() }, newest: BTreeMap::new() }
    }

    /// Applies a batch.
    pub(super) fn apply(&mut self, staged: Staged) {
        for event in staged.events {
            // Past states are read rarely; their trees are not worth the memory.
            if let Some(previous) = &event.previous {
                previous.drop_tree();
                self.unindex(previous);
            }
            // The newest revision of an object is read at least once, by its watchers or its controller.
            self.cached_trees.push_back(Arc::clone(&event.object));
            if self.cached_trees.len() > MAX_CACHED_TREES
                && let Some(oldest) = self.cached_trees.pop_front()
            {
                oldest.drop_tree();
            }
            if !event.removed {
                self.restore(Arc::clone(&event.object));
            }
            self.revision = event.object.revision;
            self.history.push(event);
        }
    }

    /// Inserts an object without an event, as read from a file.
    pub(super) fn restore(&mut self, object: Arc<Object>) {
        let key = &object.key;
        for owner in &object.meta.owners {
            self.dependents.entry(owner.clone()).or_default().insert(key.clone());
        }
        if !object.meta.uid.is_empty() {
            self.uids.insert(object.meta.uid.clone(), key.clone());
        }
        self.labels.add(&object);
        self.objects.insert(key.clone(), object);
    }

    fn unindex(&mut self, object: &Object) {
        for owner in &object.meta.owners {
            if let Some(keys) = self.dependents.get_mut(owner) {
                keys.remove(&object.key);
                if keys.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
        self.uids.remove(&object.meta.uid);
        self.labels.remove(object);
        self.objects.remove(&object.key);
    }
}

/// Accepted writes that are not yet applied.
pub(super) struct Staged {
    pub(super) events: Vec<Arc<Event>>,
}

/// A batch under construction.
pub(super) struct Staging<'s> {
    state: &'s State,
    staged: Staged,
    newest: BTreeMap<Str, Option<Arc<Object>>>,
}

impl Staging<'_> {
    /// Checks the precondition of a write and adds it to the batch.
    pub(super) fn add(&mut self, change: Change) -> Result<Arc<Object>, WriteError> {
        let Change { key, precondition, object } = change;
        let existing = match self.newest.get(&key) {
            Some(newest) => newest.clone(),
            None => self.state.get(&key).cloned(),
        };
        match (precondition, &existing) {
            (Precondition::Absent, Some(_)) => return Err(WriteError::Exists),
            (Precondition::Present | Precondition::Revision(_), None) => return Err(WriteError::Missing),
            (Precondition::Revision(revision), Some(existing)) if existing.revision != revision => {
                return Err(WriteError::Changed(Arc::clone(existing)));
            }
            _ => {}
        }
        let removed = object.is_none();
        // The last state of a removed object gets the revision of the removal, as in watch events of the real
        // server: clients resume from there.
        let Some(node) = object.or_else(|| existing.as_ref().map(|existing| existing.node())) else {
            return Err(WriteError::Missing);
        };
        // Revisions have no gaps: the history finds an event by its distance to the oldest one.
        let revision = self.state.revision + self.staged.events.len() as u64 + 1;
        let object = Arc::new(Object::new(key.clone(), revision, node));
        self.newest.insert(key, (!removed).then(|| Arc::clone(&object)));
        self.staged.events.push(Arc::new(Event { object: Arc::clone(&object), previous: existing, removed }));
        Ok(object)
    }

    pub(super) fn finish(self) -> Staged {
        self.staged
    }
}
