//! The live objects that a plan is computed against.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};

/// Live objects by identity. The API version does not count: an object is the same in all versions of its group.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    objects: BTreeMap<ObjectId, Object>,
}

impl Snapshot {
    /// Adds or replaces a live object.
    pub fn insert(&mut self, object: Object) {
        self.objects.insert(object.id().unversioned(), object);
    }

    /// Removes an object that does not exist any more.
    pub fn remove(&mut self, id: &ObjectId) -> Option<Object> {
        self.objects.remove(&id.clone().unversioned())
    }

    /// The live object, if it exists.
    pub fn get(&self, id: &ObjectId) -> Option<&Object> {
        self.objects.get(&id.clone().unversioned())
    }

    /// The number of live objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no live objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

impl FromIterator<Object> for Snapshot {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        Snapshot { objects: objects.into_iter().map(|object| (object.id().unversioned(), object)).collect() }
    }
}
