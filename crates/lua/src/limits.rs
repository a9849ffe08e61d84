//! Resource limits of scripts, and the meter that enforces them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mlua::{Lua, Value};

use crate::budget::{Budget, Spent};
use crate::error::{MEMORY, OUT_OF_MEMORY, caller_location};

/// Resource limits: per chart, and for all charts that are loaded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of a chart's state, in bytes.
    pub memory: usize,
    /// Steps of one handler, or of loading: loop iterations and function calls. The work of modules counts too.
    pub steps: u64,
    /// Time of one handler, or of loading.
    pub time: Duration,
    /// The longest string that modules accept or return, and the total that a handler may return, in bytes.
    pub text: usize,
    /// New nodes that a handler may return.
    pub nodes: usize,
    /// Elements that one call of `table.sort` and similar functions may process.
    pub elements: usize,
    /// Memory of all charts' states together, in bytes.
    pub all_memory: usize,
    /// Steps of all handlers of all charts together.
    pub all_steps: u64,
    /// Time of all handlers of all charts together.
    pub all_time: Duration,
    /// Bytes that all charts together may write to files. A file counts as at least one disk block.
    pub all_disk: u64,
    /// How long all `wait` and `ready` handlers together may keep waiting.
    pub wait: Duration,
    /// The interval at which they are called again.
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

/// Returns whether the operation was cancelled.
pub type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// Counts the resources of a run and records the limit it exceeded. A script that catches the error gets it again at
/// its next step, and the run fails even if its function returns.
pub(crate) struct Meter {
    limits: Limits,
    cancelled: Cancelled,
    /// The budget shared by all charts.
    budget: Arc<Budget>,
    left: AtomicU64,
    /// The memory that the state may use: its own limit, or less if other states need it.
    memory: AtomicUsize,
    /// The memory measured at the end of the last run.
    held: AtomicUsize,
    /// The memory usage that triggers a garbage collection.
    collect_above: AtomicUsize,
    exceeded: AtomicBool,
    run: Mutex<Run>,
}

#[derive(Default)]
struct Run {
    started: Option<Instant>,
    /// Time spent outside of the script, which does not count.
    excluded: Duration,
    /// The steps available at the start.
    steps: u64,
    /// The time available at the start.
    time: Duration,
    limit: Option<ExceededLimit>,
}

impl Run {
    /// The time used so far.
    fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |started| started.elapsed().saturating_sub(self.excluded))
    }
}

/// The limit that a run exceeded, and where.
#[derive(Clone, Debug)]
pub(crate) struct ExceededLimit {
    pub(crate) message: String,
    pub(crate) trace: String,
}

/// The clock is read once in so many steps: often enough for long steps such as reversing a large string.
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

    /// The memory that the state may use in this run.
    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }

    /// Whether other states leave less memory than the chart's own limit.
    pub(crate) fn is_memory_shared(&self) -> bool {
        self.memory() < self.limits.memory
    }

    /// Starts a run.
    pub(crate) fn start(&self, lua: &Lua) -> mlua::Result<()> {
        let steps = self.limits.steps.min(self.budget.steps());
        let time = self.limits.time.min(self.budget.time());
        // The engine treats a limit of zero as unlimited.
        let memory = self.limits.memory.min(self.budget.memory_for(self.held.load(Ordering::Relaxed))).max(1);
        self.left.store(steps, Ordering::Relaxed);
        self.exceeded.store(false, Ordering::Relaxed);
        self.memory.store(memory, Ordering::Relaxed);
        self.collect_above.store(memory / 2, Ordering::Relaxed);
        *self.lock() = Run { started: Some(Instant::now()), steps, time, ..Run::default() };
        lua.set_memory_limit(memory)?;
        Ok(())
    }

    /// Ends a run, and deducts its cost from the shared budget.
    pub(crate) fn stop(&self, lua: &Lua) -> Spent {
        let run = self.lock();
        let steps = run.steps.saturating_sub(self.left.load(Ordering::Relaxed));
        let spent = Spent { steps, time: run.elapsed() };
        drop(run);
        self.budget.spend(spent);
        self.report_memory(lua);
        spent
    }

    /// Reports the state's memory to the shared budget.
    pub(crate) fn report_memory(&self, lua: &Lua) {
        let now = lua.used_memory();
        // The states share one memory budget; each reports the difference to its last report.
        self.budget.update_memory(self.held.swap(now, Ordering::Relaxed), now);
    }

    /// Excludes time spent outside of the script.
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

    /// Whether the operation was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    /// Counts one step; called from the engine's interrupt.
    pub(crate) fn step(&self, lua: &Lua) -> mlua::Result<()> {
        if lua.used_memory() > self.collect_above.load(Ordering::Relaxed) {
            self.collect(lua)?;
        }
        self.charge(lua, 1)
    }

    /// Collects garbage before the limit is reached: the engine's own pace is too slow for scripts that build long
    /// strings. The next threshold depends on what is left, so that a full state is not collected all the time.
    fn collect(&self, lua: &Lua) -> mlua::Result<()> {
        lua.gc_collect()?;
        let (used, most) = (lua.used_memory(), self.memory());
        let room = most.saturating_sub(used) / 2;
        self.collect_above.store((used + room).max(most / 2), Ordering::Relaxed);
        Ok(())
    }

    /// Charges the work of a module, in steps.
    pub(crate) fn charge(&self, lua: &Lua, steps: u64) -> mlua::Result<()> {
        // The same error again, so that `pcall` in a loop cannot keep a script alive.
        if self.exceeded.load(Ordering::Relaxed) {
            return Err(self.error());
        }
        // A state is used by one thread at a time, so load and store cannot race.
        let before = self.left.load(Ordering::Relaxed);
        let left = before.saturating_sub(steps);
        self.left.store(left, Ordering::Relaxed);
        if steps > before {
            return Err(self.exceed(lua, self.too_many_steps()));
        }
        // A charge of several steps may skip multiples, so the quotients are compared, not the remainder.
        if left / STEPS_PER_CLOCK_CHECK == before / STEPS_PER_CLOCK_CHECK {
            return Ok(());
        }
        self.check_deadline(lua)
    }

    /// Checks the deadline and the cancellation.
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

    /// Checks an error that a script has caught. The engine reports the memory limit like any other error, so this is where
    /// it becomes known that the limit was reached.
    ///
    /// # Errors
    /// When the error is a limit, which the script must not survive.
    pub(crate) fn check_caught(&self, lua: &Lua, error: &Value) -> mlua::Result<()> {
        if self.exceeded.load(Ordering::Relaxed) {
            return Err(self.error());
        }
        let is_memory = match error {
            Value::String(text) => text.as_bytes() == OUT_OF_MEMORY.as_bytes(),
            Value::Error(error) => error.chain().any(is_memory_error),
            _ => false,
        };
        if is_memory { Err(self.exceed(lua, MEMORY.to_owned())) } else { Ok(()) }
    }

    /// Records that a run failed. Unlike other limits, the engine enforces the memory limit by itself.
    pub(crate) fn note_failure(&self, error: &mlua::Error) {
        if error.chain().any(is_memory_error) {
            self.budget.mark_exceeded();
        }
    }

    /// The limit that the run exceeded, if any.
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        if self.exceeded.load(Ordering::Relaxed) { self.lock().limit.clone() } else { None }
    }

    /// Ends the run because of a limit: whatever the script does from now on, it fails.
    pub(crate) fn exceed(&self, lua: &Lua, reason: String) -> mlua::Error {
        let location = caller_location(lua).map(|location| format!("{location}: ")).unwrap_or_default();
        let trace = lua.traceback(None, 0).map(|text| text.to_string_lossy()).unwrap_or_default();
        self.end_by_limit(ExceededLimit { message: format!("{location}{reason}"), trace });
        self.error()
    }

    /// Ends the run because wrapped handlers of another chart exceeded a limit, which the wrapper must not survive either.
    pub(crate) fn exceed_with(&self, message: String) -> mlua::Error {
        self.end_by_limit(ExceededLimit { message, trace: String::new() });
        self.error()
    }

    fn end_by_limit(&self, limit: ExceededLimit) {
        self.lock().limit = Some(limit);
        self.exceeded.store(true, Ordering::Relaxed);
        self.budget.mark_exceeded();
    }

    fn error(&self) -> mlua::Error {
        let trip = self.lock().limit.clone();
        mlua::Error::RuntimeError(trip.map(|trip| trip.message).unwrap_or_default())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error is the engine's about the memory limit. In text form it comes from a script that failed in a callback.
fn is_memory_error(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<mlua::Error>().is_some_and(|error| match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::RuntimeError(text) => text.split('\n').next() == Some(OUT_OF_MEMORY),
        _ => false,
    })
}
