//! A map as a sorted vector: compact, fast for the small maps of charts, and always in key order.

use crate::{Str, with_stack};

/// A map from strings to `V`, kept in byte order of its keys.
///
/// Go templates iterate over maps in this order, so iteration needs no sorting.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<V> {
    entries: Vec<(Str, V)>,
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Map { entries: Vec::new() }
    }
}

impl<V> Map<V> {
    /// Returns an empty map.
    pub const fn new() -> Self {
        Map { entries: Vec::new() }
    }

    /// Returns an empty map with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Map { entries: Vec::with_capacity(capacity) }
    }

    /// Builds a map from entries in any order; of equal keys the last wins.
    pub fn from_entries(mut entries: Vec<(Str, V)>) -> Self {
        // Readers of sorted input, such as Helm's own output, pay one comparison per entry.
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            // The sort is stable, so the last of equal keys is the last given: keep that one.
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Map { entries }
    }

    fn position(&self, key: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|(candidate, _)| candidate.as_bytes().cmp(key))
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&V> {
        self.position(key.as_ref()).ok().map(|index| &self.entries[index].1)
    }

    /// Returns the value under `key`, mutable.
    pub fn get_mut(&mut self, key: impl AsRef<[u8]>) -> Option<&mut V> {
        self.position(key.as_ref()).ok().map(|index| &mut self.entries[index].1)
    }

    /// Whether `key` is present, even with a nil value.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.position(key.as_ref()).is_ok()
    }

    /// Sets `key` to `value` and returns the previous value.
    pub fn insert(&mut self, key: Str, value: V) -> Option<V> {
        // Sorted input, the usual case when copying, is appended without a search.
        if self.entries.last().is_none_or(|(last, _)| *last < key) {
            self.entries.push((key, value));
            return None;
        }
        match self.position(key.as_bytes()) {
            Ok(index) => Some(std::mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    /// Returns the value under `key`, created by `default` if absent.
    pub fn entry_or_insert_with(&mut self, key: &Str, default: impl FnOnce() -> V) -> &mut V {
        let index = match self.position(key.as_bytes()) {
            Ok(index) => index,
            Err(index) => {
                self.entries.insert(index, (key.clone(), default()));
                index
            }
        };
        &mut self.entries[index].1
    }

    /// Removes `key` and returns its value.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Option<V> {
        self.position(key.as_ref()).ok().map(|index| self.entries.remove(index).1)
    }

    /// Keeps only the entries that `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&Str, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Str, &V)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The entries in key order, with mutable values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&Str, &mut V)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Str> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in key order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The entries as a slice in key order.
    pub fn entries(&self) -> &[(Str, V)] {
        &self.entries
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Str, V);
    type IntoIter = std::vec::IntoIter<(Str, V)>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(&mut self.entries).into_iter()
    }
}

impl<V> FromIterator<(Str, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (Str, V)>>(entries: I) -> Self {
        Map::from_entries(entries.into_iter().collect())
    }
}

/// Nested maps can be too deep to be dropped recursively.
impl<V> Drop for Map<V> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<V>() && !self.entries.is_empty() {
            with_stack(|| self.entries.clear());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_of_equal_keys_wins_and_keys_are_sorted() {
        let map = Map::from_entries(vec![("b".into(), 1), ("a".into(), 2), ("b".into(), 3), ("b".into(), 4)]);
        assert_eq!(map.entries(), &[("a".into(), 2), ("b".into(), 4)]);
    }

    #[test]
    fn insert_keeps_the_order() {
        let mut map = Map::new();
        for key in ["m", "z", "a", "m"] {
            map.insert(key.into(), key.len());
        }
        assert_eq!(map.keys().map(ToString::to_string).collect::<Vec<_>>(), ["a", "m", "z"]);
        assert_eq!(map.remove("m"), Some(1));
        assert_eq!(map.get("m"), None);
    }
}
