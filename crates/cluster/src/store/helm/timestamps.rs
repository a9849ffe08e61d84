//! The labels `createdAt` and `modifiedAt`, as Helm carries them from write to write.
//!
//! Helm reads a record with its labels, times included, and writes them back over the time of the write. So what it has read
//! keeps its times, whatever it changes: only a record that an operation has just created is given the time of its last write,
//! and loses `createdAt`. The next version of an upgrade takes over the labels of the last one, and with them its times; that
//! of a rollback does not.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pintle_release::helm;
use pintle_release::{ReleaseVersion, Status, Summary};

type Labels = BTreeMap<String, String>;

/// The times that records keep when they are written again, by namespace and object.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    carried: Mutex<BTreeMap<(String, String), Labels>>,
}

impl Timestamps {
    /// The times that a record keeps.
    pub(super) fn of(&self, namespace: &str, object: &str) -> Labels {
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        carried.get(&(namespace.to_owned(), object.to_owned())).cloned().unwrap_or_default()
    }

    /// The times that a new version takes over from the one that it follows.
    pub(super) fn for_next(&self, version: &ReleaseVersion, after: Option<&Summary>) -> Labels {
        match (version.info.status, after) {
            (Status::PendingUpgrade, Some(after)) => {
                self.of(&after.namespace, &helm::object_name(&after.name, after.number))
            }
            _ => Labels::new(),
        }
    }

    /// Sets the times that a record keeps from now on; none for one that is still to be finished.
    pub(super) fn set(&self, namespace: &str, object: &str, labels: &Labels) {
        let key = (namespace.to_owned(), object.to_owned());
        self.carried.lock().unwrap_or_else(PoisonError::into_inner).insert(key, times(labels));
    }

    /// Notes the times of a record that was read, unless it was written here: an operation may read what it has just created.
    pub(super) fn note_read(&self, namespace: &str, object: &str, labels: &Labels) {
        let key = (namespace.to_owned(), object.to_owned());
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        carried.entry(key).or_insert_with(|| times(labels));
    }
}

fn times(labels: &Labels) -> Labels {
    let is_time = |key: &str| matches!(key, "createdAt" | "modifiedAt");
    labels.iter().filter(|(key, _)| is_time(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}
