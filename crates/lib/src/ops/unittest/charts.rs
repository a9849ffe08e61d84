//! Tests several charts at a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use pintle_unittest::{Capabilities, Options};

use super::{TestedChart, UnittestRequest};

/// Runs `test` on every chart, and returns the results in the order of the charts. With `fail_fast`, no chart is tested after
/// the first error.
pub(super) fn run(
    request: &UnittestRequest,
    test: impl Fn(&str, Options, Turn<'_>) -> TestedChart + Sync,
) -> Vec<TestedChart> {
    let charts = &request.charts;
    let processors = match request.options.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let at_a_time = if must_run_in_order(request) { 1 } else { processors.min(charts.len()) };
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let turns = Turns::default();
    let results: Mutex<BTreeMap<usize, TestedChart>> = Mutex::default();
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = charts.get(index) else { return };
            // Charts share the processors. The last one gets all of them, because the others are nearly done.
            let left = (charts.len() - index).min(at_a_time);
            let options = Options { threads: processors.div_ceil(left), ..request.options };
            let tested = test(path, options, Turn { turns: &turns, index });
            stop.fetch_or(request.options.fail_fast && tested.error.is_some(), Ordering::Relaxed);
            lock(&results).insert(index, tested);
        }
    };
    thread::scope(|scope| {
        for _ in 1..at_a_time {
            scope.spawn(work);
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Whether the charts have to be tested one after the other: for `fail_fast`, or because they write the same files, as when a
/// chart is given twice or is inside another one.
fn must_run_in_order(request: &UnittestRequest) -> bool {
    let mut folders: Vec<PathBuf> =
        request.charts.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    folders.sort();
    let overlap = folders.windows(2).any(|pair| pair[1].starts_with(&pair[0]));
    request.options.fail_fast || request.rendered_folder.is_some() || overlap
}

/// The capabilities that tests carry over to the next chart, which may be prepared, but not tested, before they are known.
#[derive(Default)]
struct Turns {
    /// The index of the chart whose turn it is, and the capabilities so far.
    current: Mutex<(usize, Capabilities)>,
    advanced: Condvar,
}

/// The turn of one chart. It ends when this is dropped, so that the next chart gets its turn even if this one fails.
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    index: usize,
}

impl Turn<'_> {
    /// Waits for the turn, and ends it after `work`.
    pub(super) fn take<R>(self, work: impl FnOnce(&mut Capabilities) -> R) -> R {
        work(&mut self.wait().1)
    }

    fn wait(&self) -> MutexGuard<'_, (usize, Capabilities)> {
        let current = lock(&self.turns.current);
        let is_another = |current: &mut (usize, Capabilities)| current.0 != self.index;
        self.turns.advanced.wait_while(current, is_another).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.wait().0 += 1;
        self.turns.advanced.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
