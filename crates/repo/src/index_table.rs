//! Indexes in memory, for a process that resolves many references to few repositories: each is fetched once in a while,
//! conditionally, and parsed once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::config::Entry;
use crate::error::{Error, Result};
use crate::get::Getter;
use crate::index::Cached;
use crate::repository::fetch_index;

/// Indexes by repository and login, each at most as old as the table allows.
#[derive(Debug)]
pub struct IndexTable {
    max_age: Duration,
    max_bytes: usize,
    /// The slots, the one that was used last at the end.
    slots: Mutex<VecDeque<KeyedSlot>>,
}

/// The key, the slot, and the size of its index.
type KeyedSlot = (String, Arc<Mutex<Slot>>, usize);

#[derive(Debug, Default)]
struct Slot {
    /// The index, and when the server last said that it is current.
    held: Option<(Arc<Cached>, Instant)>,
    /// Why the last request failed, and when.
    failed: Option<(Instant, String)>,
}

impl IndexTable {
    /// A table whose indexes are asked for again after `max_age`. Together they have at most `max_bytes` of text, but for a
    /// single one that has more; those that were not used for longest are dropped one at a time.
    pub fn new(max_age: Duration, max_bytes: usize) -> IndexTable {
        IndexTable { max_age, max_bytes, slots: Mutex::default() }
    }

    /// The index of a repository. Whoever has another login gets nothing of what was fetched with this one. With `fresh`, the
    /// server is asked in any case.
    ///
    /// # Errors
    /// When it cannot be fetched or is no index. Those who waited for a request that failed get its error.
    pub(crate) fn get(&self, getter: &Getter, entry: &Entry, fresh: bool) -> Result<Arc<Cached>> {
        let asked = Instant::now();
        let key = key(entry);
        let shared = self.slot(&key);
        let mut slot = lock(&shared);
        if let Some((index, checked)) = &slot.held
            && (*checked >= asked || (!fresh && checked.elapsed() < self.max_age))
        {
            return Ok(Arc::clone(index));
        }
        if let Some((at, text)) = &slot.failed
            && *at >= asked
        {
            return Err(Error::Fetch(text.clone()));
        }
        match fetch(getter, entry, slot.held.as_ref().map(|(index, _)| index)) {
            Ok((index, size)) => {
                slot.failed = None;
                slot.held = Some((Arc::clone(&index), Instant::now()));
                drop(slot);
                self.note_size(&key, size);
                Ok(index)
            }
            Err(error) => {
                slot.failed = Some((Instant::now(), error.to_string()));
                Err(error)
            }
        }
    }

    fn slot(&self, key: &str) -> Arc<Mutex<Slot>> {
        let mut slots = lock(&self.slots);
        let found = slots.iter().position(|(other, ..)| other == key).and_then(|at| slots.remove(at));
        let (key, slot, size) = found.unwrap_or_else(|| (key.to_owned(), Arc::default(), 0));
        let shared = Arc::clone(&slot);
        slots.push_back((key, slot, size));
        shared
    }

    /// Notes the size of an index that was fetched, and drops others until all are small enough. What somebody uses stays until
    /// then.
    fn note_size(&self, key: &str, size: Option<usize>) {
        let mut slots = lock(&self.slots);
        if let (Some(size), Some(entry)) = (size, slots.iter_mut().find(|(other, ..)| other == key)) {
            entry.2 = size;
        }
        let mut total: usize = slots.iter().map(|(.., size)| size).sum();
        while total > self.max_bytes && slots.len() > 1 {
            let Some((.., size)) = slots.pop_front() else { return };
            total -= size;
        }
    }
}

/// Fetches an index, unless the known one is still current. Its size, if it was fetched.
fn fetch(
    getter: &Getter,
    entry: &Entry,
    known: Option<&Arc<Cached>>,
) -> Result<(Arc<Cached>, Option<usize>)> {
    let mut text = Vec::new();
    let validators = fetch_index(getter, entry, known.map(|known| &known.validators), &mut text)?;
    match (validators, known) {
        (Some(validators), _) => {
            let mut index = Cached::parse(&text)?;
            index.validators = validators;
            Ok((Arc::new(index), Some(text.len())))
        }
        (None, Some(known)) => Ok((Arc::clone(known), None)),
        (None, None) => Err(Error::Fetch("304 Not Modified".to_owned())),
    }
}

/// What tells repositories apart, and those who may read them: the URL and how it is reached. The password is only in there as
/// part of a digest.
fn key(entry: &Entry) -> String {
    let mut hash = Sha256::new();
    let texts =
        [&entry.url, &entry.username, &entry.password, &entry.cert_file, &entry.key_file, &entry.ca_file];
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update([u8::from(entry.insecure_skip_tls_verify), u8::from(entry.pass_credentials_all)]);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A poisoned lock is fine: what is behind it is replaced as a whole.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_login_has_a_key_of_its_own() {
        let entry = |url: &str, username: &str, password: &str| Entry {
            url: url.to_owned(),
            username: username.to_owned(),
            password: password.to_owned(),
            ..Entry::default()
        };
        let keys = [
            key(&entry("https://a", "", "")),
            key(&entry("https://a", "u", "p")),
            key(&entry("https://a", "up", "")),
            key(&entry("https://au", "", "p")),
            key(&Entry { insecure_skip_tls_verify: true, ..entry("https://a", "", "") }),
        ];
        let all: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(all.len(), keys.len());
    }

    #[test]
    fn indexes_are_dropped_one_at_a_time() {
        let table = IndexTable::new(Duration::ZERO, 10);
        for key in ["a", "b", "c"] {
            table.slot(key);
            table.note_size(key, Some(4));
        }
        let names = || -> Vec<String> { lock(&table.slots).iter().map(|(key, ..)| key.clone()).collect() };
        assert_eq!(names(), ["b", "c"]);
        table.slot("b");
        table.slot("d");
        table.note_size("d", Some(100));
        assert_eq!(names(), ["d"], "a single one may be larger");
    }
}
