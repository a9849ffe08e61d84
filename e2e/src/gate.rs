//! Who is on the cluster: all tests share it, but for those that change something that concerns everybody.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Who is in.
#[derive(Debug, Default)]
struct State {
    /// The tests that share the cluster, and how often each of them is in.
    sharing: BTreeMap<String, usize>,
    /// Whether one is in that must be alone.
    is_alone: bool,
    /// How many wait to be alone.
    waiting: usize,
}

/// The way to a cluster that several tests use side by side.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

/// The cluster that the environment names.
static CLUSTER: Gate = Gate {
    state: Mutex::new(State { sharing: BTreeMap::new(), is_alone: false, waiting: 0 }),
    changed: Condvar::new(),
};

/// That a test is in; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: &'static Gate,
    /// The test that shares; `None` for one that is alone.
    test: Option<String>,
}

impl Gate {
    /// Waits until nobody is in who must be alone, or wants to be: otherwise that one might wait for the end of all
    /// tests. A test that is in already does not wait again, because nobody would ever let it out.
    fn share(&'static self, test: &str) -> Pass {
        let is_shut =
            |state: &mut State| !state.sharing.contains_key(test) && (state.is_alone || state.waiting > 0);
        let state = self.changed.wait_while(self.lock(), is_shut);
        *state.unwrap_or_else(PoisonError::into_inner).sharing.entry(test.to_owned()).or_default() += 1;
        Pass { gate: self, test: Some(test.to_owned()) }
    }

    /// Waits until nobody else is in.
    fn alone(&'static self) -> Pass {
        let mut state = self.lock();
        state.waiting += 1;
        let state = self.changed.wait_while(state, |state| state.is_alone || !state.sharing.is_empty());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.is_alone = true;
        Pass { gate: self, test: None }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Lets a test on the cluster beside others.
    pub(crate) fn to_share(test: &str) -> Pass {
        CLUSTER.share(test)
    }

    /// Lets a test on the cluster when it has it for itself.
    pub(crate) fn to_be_alone() -> Pass {
        CLUSTER.alone()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        match &self.test {
            None => state.is_alone = false,
            Some(test) => {
                let count = state.sharing.get_mut(test).map_or(0, |count| {
                    *count -= 1;
                    *count
                });
                if count == 0 {
                    state.sharing.remove(test);
                }
            }
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn gate() -> &'static Gate {
        Box::leak(Box::default())
    }

    /// Waits until so many want to be alone.
    fn until_waiting(gate: &Gate, count: usize) {
        while gate.lock().waiting != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_that_must_be_alone_waits_for_those_inside_and_goes_before_newcomers() {
        let gate = gate();
        let (told, order) = mpsc::channel();
        let first = gate.share("first");
        let alone = told.clone();
        let alone = std::thread::spawn(move || {
            let _pass = gate.alone();
            alone.send("alone").expect("somebody listens");
        });
        until_waiting(gate, 1);
        let newcomer = std::thread::spawn(move || {
            let _pass = gate.share("newcomer");
            told.send("newcomer").expect("somebody listens");
        });
        // Who is in may come in again, or nobody would ever leave.
        let again = gate.share("first");
        assert!(order.try_recv().is_err());
        drop((first, again));
        assert_eq!(order.iter().collect::<Vec<_>>(), ["alone", "newcomer"]);
        alone.join().expect("it does not panic");
        newcomer.join().expect("it does not panic");
        assert!(gate.lock().sharing.is_empty() && !gate.lock().is_alone);
    }

    #[test]
    fn tests_that_share_do_not_wait_for_each_other() {
        let gate = gate();
        let passes = ["one", "two", "one"].map(|test| gate.share(test));
        assert_eq!(gate.lock().sharing, BTreeMap::from([("one".to_owned(), 2), ("two".to_owned(), 1)]));
        drop(passes);
        drop(gate.alone());
    }
}
