//! CPU load during a test run: tests must pass on a busy machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::Result;

use crate::shell::print_line;

/// Threads that keep processors busy until this is dropped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The number of busy loops, and how often the tests must pass.
const LOOPS: usize = 4;
const ROUNDS: usize = 3;

impl Load {
    /// Runs `work` three times in a row under four busy loops.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn rounds<T>(work: impl Fn() -> Result<T>) -> Result<()> {
        let _load = Load::start(LOOPS);
        for round in 1..=ROUNDS {
            print_line(&format!("under load, round {round} of {ROUNDS}"));
            work()?;
        }
        Ok(())
    }

    /// Starts so many busy loops.
    fn start(count: usize) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |stop: Arc<AtomicBool>| {
            move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count).map(|_| std::thread::spawn(spin(Arc::clone(&stop)))).collect();
        Load { stop, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a busy loop does not panic");
        }
    }
}
