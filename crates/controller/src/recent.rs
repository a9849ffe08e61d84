//! A map with a limit: what was not used for longest goes first, one at a time.

use std::collections::BTreeMap;

/// Values by keys, each with a size. The sum of the sizes stays within the limit, but for a single value that is larger.
#[derive(Debug)]
pub(crate) struct Recent<V> {
    limit: usize,
    size: usize,
    /// Counts uses.
    now: u64,
    values: BTreeMap<String, Entry<V>>,
    /// The keys by their last use.
    uses: BTreeMap<u64, String>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    size: usize,
    used: u64,
}

impl<V> Recent<V> {
    /// A map of values whose sizes are at most `limit` together.
    pub(crate) fn new(limit: usize) -> Recent<V> {
        Recent { limit, size: 0, now: 0, values: BTreeMap::new(), uses: BTreeMap::new() }
    }

    /// The value of a key, which counts as used.
    pub(crate) fn get(&mut self, key: &str) -> Option<&V> {
        self.now += 1;
        let entry = self.values.get_mut(key)?;
        if let Some(key) = self.uses.remove(&entry.used) {
            self.uses.insert(self.now, key);
        }
        entry.used = self.now;
        Some(&entry.value)
    }

    /// Sets the value of a key, and drops what was not used for longest if there is too much.
    pub(crate) fn insert(&mut self, key: String, value: V, size: usize) {
        self.remove(&key);
        self.now += 1;
        self.size += size;
        self.uses.insert(self.now, key.clone());
        self.values.insert(key, Entry { value, size, used: self.now });
        while self.size > self.limit && self.values.len() > 1 {
            let Some((_, oldest)) = self.uses.pop_first() else { return };
            if let Some(dropped) = self.values.remove(&oldest) {
                self.size -= dropped.size;
            }
        }
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(entry) = self.values.remove(key) {
            self.size -= entry.size;
            self.uses.remove(&entry.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes_one_at_a_time() {
        let mut recent = Recent::new(3);
        for key in ["a", "b", "c"] {
            recent.insert(key.to_owned(), (), 1);
        }
        assert!(recent.get("a").is_some());
        recent.insert("d".to_owned(), (), 1);
        let mut there = |key: &str| recent.values.contains_key(key);
        assert_eq!(["a", "b", "c", "d"].map(&mut there), [true, false, true, true]);
        recent.insert("large".to_owned(), (), 10);
        assert!(recent.get("large").is_some() && recent.values.len() == 1, "a single one may be larger");
        recent.insert("large".to_owned(), (), 1);
        recent.remove("none");
        assert_eq!((recent.size, recent.uses.len()), (1, 1), "it is replaced and not counted twice");
    }
}
