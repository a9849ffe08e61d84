//! Who wants to be looked at later, soonest first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pintle_tree::Str;

use super::engine::Wake;

/// Keys by the time at which they want to be looked at. Neither the next one nor those that are due have to be
/// searched for, however many wait.
#[derive(Default)]
pub(super) struct Later {
    wakes: BTreeMap<Str, Wake>,
    /// Those that the clock may jump to.
    near: BTreeSet<(Duration, Str)>,
    /// Those that come when their time comes.
    far: BTreeSet<(Duration, Str)>,
}

impl Later {
    fn row(&mut self, wake: Wake) -> &mut BTreeSet<(Duration, Str)> {
        if wake.jumps { &mut self.near } else { &mut self.far }
    }

    pub(super) fn insert(&mut self, key: Str, wake: Wake) {
        self.remove(&key);
        self.row(wake).insert((wake.at, key.clone()));
        self.wakes.insert(key, wake);
    }

    /// Forgets about an object, and tells when it was due.
    pub(super) fn remove(&mut self, key: &Str) -> Option<Wake> {
        let wake = self.wakes.remove(key)?;
        self.row(wake).remove(&(wake.at, key.clone()));
        Some(wake)
    }

    /// When the clock may jump to something.
    pub(super) fn next_jump(&self) -> Option<Duration> {
        self.near.first().map(|(at, _)| *at)
    }

    /// When anything is due.
    pub(super) fn next(&self) -> Option<Duration> {
        let soonest = [self.near.first(), self.far.first()].into_iter().flatten();
        soonest.map(|(at, _)| *at).min()
    }

    /// Takes out one whose time has come.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<Str> {
        let rows = [self.near.first(), self.far.first()];
        let (_, key) = rows.into_iter().flatten().filter(|(at, _)| *at <= now).min()?;
        let key = key.clone();
        self.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_comes_first_and_only_once() {
        let second = Duration::from_secs;
        let mut later = Later::default();
        let wake = |at, jumps| Wake { at: second(at), jumps };
        later.insert("a".into(), wake(9, true));
        later.insert("b".into(), wake(3, false));
        later.insert("a".into(), wake(5, true));
        assert_eq!((later.next(), later.next_jump()), (Some(second(3)), Some(second(5))));
        assert_eq!(later.take_due(second(2)), None);
        assert_eq!(later.take_due(second(9)), Some("b".into()));
        assert_eq!(later.take_due(second(9)), Some("a".into()));
        assert_eq!((later.take_due(second(9)), later.next()), (None, None));
        later.insert("c".into(), wake(1, true));
        later.remove(&"c".into());
        assert_eq!(later.next_jump(), None);
    }
}
