//! Numbered jobs on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads only contend for memory.
const MAX_THREADS: usize = 8;

/// The stack size of a thread, in bytes: nested schemas are validated recursively.
const STACK: usize = 8 << 20;

/// Runs jobs, each thread taking the next one that is left, and returns their results in order. `state` creates the state that
/// a thread keeps between jobs.
pub(crate) fn run<S, T: Send>(
    jobs: usize,
    parallel: bool,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let (mut state, mut done) = (state(), Vec::new());
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return done;
            }
            done.push((job, work(&mut state, job)));
        }
    };
    let available = thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
    let threads = if parallel { available.min(jobs) } else { 1 };
    let mut done = thread::scope(|scope| {
        let take = &take;
        // If the system refuses a thread, the others do its jobs.
        let spawn = |_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, take).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(job, _)| *job);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let expected: Vec<usize> = (0..1000).map(|job| job * 2).collect();
        for parallel in [false, true] {
            let results = super::run(1000, parallel, || (), |(), job| job * 2);
            assert_eq!(results, expected);
        }
        assert!(super::run(0, true, || (), |(), job| job).is_empty());
    }
}
