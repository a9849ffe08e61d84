//! What scripts may use up, and the meter that stops them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mlua::Lua;

use crate::budget::{Budget, Spent};
use crate::error::caller_location;

/// What scripts may use up: those of one chart, and those of all charts that are loaded together.
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
    /// The memory of the states of all charts together, in bytes.
    pub all_memory: usize,
    /// The steps of all handlers of all charts together.
    pub all_steps: u64,
    /// The time of all handlers of all charts together.
    pub all_time: Duration,
    /// What all charts together may write to files, in bytes. A file counts as at least one block of a disk.
    pub all_disk: u64,
    /// How long handlers of `wait` and `ready` may say that it is not time yet, all together.
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
            all_memory: 256 << 20,
            all_steps: 500_000_000,
            all_time: Duration::from_secs(60),
            all_disk: 256 << 20,
            wait: Duration::from_secs(300),
            pause: Duration::from_secs(1),
        }
    }
}

/// Tells whether the user has had enough.
pub type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// Counts what a run of a script uses, and remembers which limit it ran into. A script that catches the error runs into
/// it again at its next step, and the run fails even if its function returns.
pub(crate) struct Meter {
    limits: Limits,
    cancelled: Cancelled,
    /// What is left for all charts.
    budget: Arc<Budget>,
    left: AtomicU64,
    /// How much memory the state may hold: its own limit, or what other states leave.
    memory: AtomicUsize,
    /// How much it was known to hold at the end of its last run.
    held: AtomicUsize,
    /// How much memory may be used before garbage is collected.
    collect_above: AtomicUsize,
    exceeded: AtomicBool,
    run: Mutex<Run>,
}

#[derive(Default)]
struct Run {
    started: Option<Instant>,
    /// Time that passed while someone else was at work.
    excluded: Duration,
    /// The steps that it began with.
    steps: u64,
    /// The time that it began with.
    time: Duration,
    limit: Option<ExceededLimit>,
}

impl Run {
    /// The time that it has taken so far.
    fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |started| started.elapsed().saturating_sub(self.excluded))
    }
}

/// The limit that a run ran into, and where.
#[derive(Clone, Debug)]
pub(crate) struct ExceededLimit {
    pub(crate) message: String,
    pub(crate) trace: String,
}

/// Time is looked at once in so many steps: often enough for steps that are long, such as turning a long text around.
const STEPS_PER_CLOCK_CHECK: u64 = 32;

impl Meter {
    pub(crate) fn new(limits: Limits, cancelled: Cancelled, budget: Arc<Budget>) -> Self {
        Meter {
            limits,
            cancelled,
            budget,
            left: AtomicU64::new(0),
            memory: AtomicUsize::new(limits.memory),
            held: AtomicUsize::new(0),
            collect_above: AtomicUsize::new(limits.memory / 2),
            exceeded: AtomicBool::new(false),
            run: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// How much memory the state may hold in this run.
    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    /// Whether other states leave less memory than the chart's own limit.
    pub(crate) fn is_memory_shared(&self) -> bool {
        self.memory() < self.limits.memory
    }

    /// Begins a run.
    pub(crate) fn start(&self, lua: &Lua) -> mlua::Result<()> {
        let steps = self.limits.steps.min(self.budget.steps());
        let time = self.limits.time.min(self.budget.time());
        // No memory at all would mean no limit to the engine.
        let memory = self.limits.memory.min(self.budget.memory_for(self.held.load(Ordering::Relaxed))).max(1);
        self.left.store(steps, Ordering::Relaxed);
        self.exceeded.store(false, Ordering::Relaxed);
        self.memory.store(memory, Ordering::Relaxed);
        self.collect_above.store(memory / 2, Ordering::Relaxed);
        *self.lock() = Run { started: Some(Instant::now()), steps, time, ..Run::default() };
        lua.set_memory_limit(memory)?;
        Ok(())
    }

    /// Ends a run, and takes what it used from what is left for all.
    pub(crate) fn stop(&self, lua: &Lua) -> Spent {
        let run = self.lock();
        let steps = run.steps.saturating_sub(self.left.load(Ordering::Relaxed));
        let spent = Spent { steps, time: run.elapsed() };
        drop(run);
        self.budget.spend(spent);
        self.report_memory(lua);
        spent
    }

    /// Tells the others how much the state holds.
    pub(crate) fn report_memory(&self, lua: &Lua) {
        let now = lua.used_memory();
        self.budget.update_memory(self.held.swap(now, Ordering::Relaxed), now);
    }

    /// Leaves out time that passed while someone else was at work.
    pub(crate) fn exclude_time(&self, time: Duration) {
        let mut run = self.lock();
        run.excluded = run.excluded.saturating_add(time);
    }

    /// The steps that are left.
    pub(crate) fn steps_left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// The time that is left.
    pub(crate) fn time_left(&self) -> Duration {
        let run = self.lock();
        run.time.saturating_sub(run.elapsed())
    }

    /// Whether the user has had enough.
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.cancelled)()
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
        let (used, most) = (lua.used_memory(), self.memory());
        let room = most.saturating_sub(used) / 2;
        self.collect_above.store((used + room).max(most / 2), Ordering::Relaxed);
        Ok(())
    }

    /// Counts work that a module does, in steps.
    pub(crate) fn charge(&self, lua: &Lua, steps: u64) -> mlua::Result<()> {
        if self.exceeded.load(Ordering::Relaxed) {
            return Err(self.error());
        }
        // A state belongs to one thread at a time, so nobody counts in between.
        let before = self.left.load(Ordering::Relaxed);
        let left = before.saturating_sub(steps);
        self.left.store(left, Ordering::Relaxed);
        if steps > before {
            return Err(self.exceed(lua, self.too_many_steps()));
        }
        if left / STEPS_PER_CLOCK_CHECK == before / STEPS_PER_CLOCK_CHECK {
            return Ok(());
        }
        self.check_deadline(lua)
    }

    /// Looks at the clock, and at the user.
    fn check_deadline(&self, lua: &Lua) -> mlua::Result<()> {
        if self.time_left().is_zero() {
            return Err(self.exceed(lua, self.too_long()));
        }
        if self.is_cancelled() {
            Err(self.exceed(lua, "the operation was cancelled".to_owned()))
        } else {
            Ok(())
        }
    }

    fn too_many_steps(&self) -> String {
        let Limits { steps, all_steps, .. } = self.limits;
        match self.lock().steps < steps {
            true => format!("the scripts of all charts together took more than {all_steps} steps"),
            false => format!("the script took more than {steps} steps"),
        }
    }

    fn too_long(&self) -> String {
        let Limits { time, all_time, .. } = self.limits;
        match self.lock().time < time {
            true => format!("the scripts of all charts together took longer than {all_time:?}"),
            false => format!("the script took longer than {time:?}"),
        }
    }

    /// The limit that the run has run into.
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        if self.exceeded.load(Ordering::Relaxed) { self.lock().limit.clone() } else { None }
    }

    fn exceed(&self, lua: &Lua, reason: String) -> mlua::Error {
        let place = caller_location(lua).map(|place| format!("{place}: ")).unwrap_or_default();
        let trace = lua.traceback(None, 0).map(|text| text.to_string_lossy()).unwrap_or_default();
        self.lock().limit = Some(ExceededLimit { message: format!("{place}{reason}"), trace });
        self.exceeded.store(true, Ordering::Relaxed);
        self.error()
    }

    fn error(&self) -> mlua::Error {
        let trip = self.lock().limit.clone();
        mlua::Error::RuntimeError(trip.map(|trip| trip.message).unwrap_or_default())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
