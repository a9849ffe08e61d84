//! What is there: the live objects that a plan is made against.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};

/// Live objects by who they are. Their version does not count: an object is the same in all versions of its group.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    objects: BTreeMap<ObjectId, Object>,
}

impl Snapshot {
    /// Adds a live object, or replaces what was known of it.
    pub fn insert(&mut self, object: Object) {
        self.objects.insert(object.id().unversioned(), object);
    }

    /// Notes that an object is not there any more.
    pub fn remove(&mut self, id: &ObjectId) -> Option<Object> {
        self.objects.remove(&id.clone().unversioned())
    }

    /// The live object, if it is there.
    pub fn get(&self, id: &ObjectId) -> Option<&Object> {
        self.objects.get(&id.clone().unversioned())
    }

    /// How many objects are there.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}

impl FromIterator<Object> for Snapshot {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        Snapshot { objects: objects.into_iter().map(|object| (object.id().unversioned(), object)).collect() }
    }
}
