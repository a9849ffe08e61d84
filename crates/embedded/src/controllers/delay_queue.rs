//! Requeues by due time, soonest first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pintle_tree::Str;

use super::reconcile::Requeue;

/// The keys to reconcile later. Ordered sets make finding the next one and the due ones cheap, however many wait.
#[derive(Default)]
pub(super) struct DelayQueue {
    requeues: BTreeMap<Str, Requeue>,
    /// Requeues that the clock may be advanced to.
    advancing: BTreeSet<(Duration, Str)>,
    /// Requeues that wait for real time to pass.
    waiting: BTreeSet<(Duration, Str)>,
}

impl DelayQueue {
    fn bucket(&mut self, requeue: Requeue) -> &mut BTreeSet<(Duration, Str)> {
        if requeue.advances_clock { &mut self.advancing } else { &mut self.waiting }
    }

    pub(super) fn insert(&mut self, key: Str, requeue: Requeue) {
        self.remove(&key);
        self.bucket(requeue).insert((requeue.at, key.clone()));
        self.requeues.insert(key, requeue);
    }

    /// Removes a key and returns when it was due.
    pub(super) fn remove(&mut self, key: &Str) -> Option<Requeue> {
        let requeue = self.requeues.remove(key)?;
        self.bucket(requeue).remove(&(requeue.at, key.clone()));
        Some(requeue)
    }

    /// The earliest time that the clock may be advanced to.
    pub(super) fn next_advance(&self) -> Option<Duration> {
        self.advancing.first().map(|(at, _)| *at)
    }

    /// The earliest due time.
    pub(super) fn next(&self) -> Option<Duration> {
        let soonest = [self.advancing.first(), self.waiting.first()].into_iter().flatten();
        soonest.map(|(at, _)| *at).min()
    }

    /// Removes and returns a key that is due.
    pub(super) fn pop_due(&mut self, now: Duration) -> Option<Str> {
        let buckets = [self.advancing.first(), self.waiting.first()];
        // By time and then by key, so that requeues of the same moment come in the same order in every run.
        let (_, key) = buckets.into_iter().flatten().filter(|(at, _)| *at <= now).min()?;
        let key = key.clone();
        self.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_requeue_comes_first_and_only_once() {
        let second = Duration::from_secs;
        let mut queue = DelayQueue::default();
        let requeue = |at, advances_clock| Requeue { at: second(at), advances_clock };
        queue.insert("a".into(), requeue(9, true));
        queue.insert("b".into(), requeue(3, false));
        queue.insert("a".into(), requeue(5, true));
        assert_eq!((queue.next(), queue.next_advance()), (Some(second(3)), Some(second(5))));
        assert_eq!(queue.pop_due(second(2)), None);
        assert_eq!(queue.pop_due(second(9)), Some("b".into()));
        assert_eq!(queue.pop_due(second(9)), Some("a".into()));
        assert_eq!((queue.pop_due(second(9)), queue.next()), (None, None));
        queue.insert("c".into(), requeue(1, true));
        queue.remove(&"c".into());
        assert_eq!(queue.next_advance(), None);
    }
}
