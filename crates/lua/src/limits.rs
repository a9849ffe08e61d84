//! What scripts may use up, and the meter that stops them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mlua::Lua;

use crate::error::place_of_caller;

/// What the scripts of one chart may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The memory of the chart's state, in bytes.
    pub memory: usize,
    /// The steps of one handler, or of loading: turns of loops and calls of functions. What modules do is counted too.
    pub steps: u64,
    /// The time of one handler, or of loading.
    pub time: Duration,
    /// The longest text that modules take or make, and the most that comes back from a handler, in bytes.
    pub text: usize,
    /// How many new values may come back from a handler.
    pub nodes: usize,
    /// How many elements one call of `table.sort` and its like may work on.
    pub elements: usize,
    /// How long handlers of `wait` and `ready` may say that it is not time yet.
    pub wait: Duration,
    /// How long to pause before they are asked again.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: 64 << 20,
            steps: 50_000_000,
            time: Duration::from_secs(10),
            text: 16 << 20,
            nodes: 500_000,
            elements: 1_000_000,
            wait: Duration::from_secs(300),
            pause: Duration::from_secs(1),
        }
    }
}

/// Tells whether the user has had enough.
pub(crate) type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// Counts what a run of a script uses, and remembers which limit it ran into. A script that catches the error runs into
/// it again at its next step, and the run fails even if its function returns.
pub(crate) struct Meter {
    limits: Limits,
    cancelled: Cancelled,
    left: AtomicU64,
    /// How much memory may be used before garbage is collected.
    collect_above: AtomicUsize,
    tripped: AtomicBool,
    run: Mutex<Run>,
}

#[derive(Default)]
struct Run {
    deadline: Option<Instant>,
    trip: Option<Trip>,
}

/// The limit that a run ran into, and where.
#[derive(Clone, Debug)]
pub(crate) struct Trip {
    pub(crate) message: String,
    pub(crate) trace: String,
}

/// Time is looked at once in so many steps: often enough for steps that are long, such as turning a long text around.
const STEPS_PER_LOOK: u64 = 32;

impl Meter {
    pub(crate) fn new(limits: Limits, cancelled: Cancelled) -> Self {
        Meter {
            limits,
            cancelled,
            left: AtomicU64::new(0),
            collect_above: AtomicUsize::new(limits.memory / 2),
            tripped: AtomicBool::new(false),
            run: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Begins a run.
    pub(crate) fn start(&self) {
        self.left.store(self.limits.steps, Ordering::Relaxed);
        self.tripped.store(false, Ordering::Relaxed);
        *self.lock() = Run { deadline: Instant::now().checked_add(self.limits.time), trip: None };
    }

    /// Leaves out time that passed while someone else was at work.
    pub(crate) fn leave_out(&self, time: Duration) {
        let mut run = self.lock();
        run.deadline = run.deadline.and_then(|deadline| deadline.checked_add(time));
    }

    /// Counts one step, from the interrupt of the state.
    pub(crate) fn step(&self, lua: &Lua) -> mlua::Result<()> {
        if lua.used_memory() > self.collect_above.load(Ordering::Relaxed) {
            self.collect(lua)?;
        }
        self.charge(lua, 1)
    }

    /// Collects garbage before the limit is reached: the engine does so at its own pace, which is too slow for a script
    /// that makes long texts. What is left decides when to do so again, so that a full state is not swept all the time.
    fn collect(&self, lua: &Lua) -> mlua::Result<()> {
        lua.gc_collect()?;
        let used = lua.used_memory();
        let room = self.limits.memory.saturating_sub(used) / 2;
        self.collect_above.store((used + room).max(self.limits.memory / 2), Ordering::Relaxed);
        Ok(())
    }

    /// Counts work that a module does, in steps.
    pub(crate) fn charge(&self, lua: &Lua, steps: u64) -> mlua::Result<()> {
        if self.tripped.load(Ordering::Relaxed) {
            return Err(self.error());
        }
        // A state belongs to one thread at a time, so nobody counts in between.
        let before = self.left.load(Ordering::Relaxed);
        let left = before.saturating_sub(steps);
        self.left.store(left, Ordering::Relaxed);
        if steps > before {
            return Err(self.trip(lua, format!("the script took more than {} steps", self.limits.steps)));
        }
        if left / STEPS_PER_LOOK == before / STEPS_PER_LOOK {
            return Ok(());
        }
        self.look(lua)
    }

    /// Looks at the clock, and at the user.
    fn look(&self, lua: &Lua) -> mlua::Result<()> {
        let deadline = self.lock().deadline;
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(self.trip(lua, format!("the script took longer than {:?}", self.limits.time)));
        }
        if (self.cancelled)() {
            Err(self.trip(lua, "the operation was cancelled".to_owned()))
        } else {
            Ok(())
        }
    }

    /// The limit that the run has run into.
    pub(crate) fn tripped(&self) -> Option<Trip> {
        if self.tripped.load(Ordering::Relaxed) { self.lock().trip.clone() } else { None }
    }

    fn trip(&self, lua: &Lua, reason: String) -> mlua::Error {
        let place = place_of_caller(lua).map(|place| format!("{place}: ")).unwrap_or_default();
        let trace = lua.traceback(None, 0).map(|text| text.to_string_lossy()).unwrap_or_default();
        self.lock().trip = Some(Trip { message: format!("{place}{reason}"), trace });
        self.tripped.store(true, Ordering::Relaxed);
        self.error()
    }

    fn error(&self) -> mlua::Error {
        let trip = self.lock().trip.clone();
        mlua::Error::RuntimeError(trip.map(|trip| trip.message).unwrap_or_default())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
