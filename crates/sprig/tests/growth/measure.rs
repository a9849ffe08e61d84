//! What a call takes and what it is charged, for arguments of two sizes.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_gotmpl::{Exec, Functions, Limits, Set, Value};
use pintle_tree::{Map, Str};

use super::Native;
use super::arguments::Shape;

/// A template that calls a function with arguments of one shape.
pub(super) struct Call<'a> {
    pub(super) native: &'a Native,
    pub(super) shape: &'a Shape,
}

/// What one call took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) time: Duration,
    pub(super) steps: u64,
    /// Whether a limit ended it.
    pub(super) refused: bool,
}

const NAME: &str = "t";

/// Allocated memory is charged, too, against a limit of its own; this many bytes take about as long as a step.
const BYTES_PER_STEP: u64 = 16;

/// The CPU time of this thread, which does not depend on other load.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl<'a> Call<'a> {
    pub(super) fn new(native: &'a Native, shape: &'a Shape) -> Self {
        Call { native, shape }
    }

    /// Calls the function on arguments of a size.
    pub(super) fn run(&self, size: usize) -> Cost {
        self.prepared(size, |exec, data| {
            let limits = Limits::default();
            let memory = exec.fuel().memory_left();
            let started = processor_time();
            // Errors of the function do not matter.
            let _ = exec.execute(NAME, data, &mut Vec::new());
            let time = processor_time().saturating_sub(started);
            let fuel = exec.fuel();
            let made = memory - fuel.memory_left();
            let steps = limits.steps - fuel.steps_left() + made / BYTES_PER_STEP;
            Cost { time, steps, refused: fuel.is_exhausted() }
        })
    }

    /// Prepares everything for the call, and makes it only if `called`: the difference is the cost of the call.
    pub(super) fn run_counted(&self, size: usize, called: bool) {
        self.prepared(size, |exec, data| {
            if called {
                let _ = exec.execute(NAME, data, &mut Vec::new());
            }
        });
    }

    fn prepared<T>(&self, size: usize, run: impl FnOnce(&mut Exec<'_>, &Value) -> T) -> T {
        let mut source = format!("{{{{ $_ := {}", self.native.name);
        let mut data = Map::new();
        for (index, (wanted, kind)) in self.shape.arguments.iter().enumerate() {
            data.insert(Str::from(format!("a{index}")), kind.value(*wanted, size));
            source.push_str(&format!(" .a{index}"));
        }
        if let Some(bytes) = self.shape.repeated {
            let last = format!(" .a{}", self.shape.arguments.len() - 1);
            source.push_str(&last.repeat(size / bytes));
        }
        source.push_str(" }}");
        let mut set = Set::new(functions());
        set.parse(NAME, source).expect("a call is a template");
        run(&mut Exec::new(&set, Limits::default()), &Value::map(data))
    }
}

fn functions() -> Arc<Functions> {
    static FUNCTIONS: OnceLock<Arc<Functions>> = OnceLock::new();
    Arc::clone(FUNCTIONS.get_or_init(|| {
        let mut functions = Functions::new();
        pintle_sprig::functions().into_iter().for_each(|function| functions.add(function));
        Arc::new(functions)
    }))
}

/// The sizes that are compared, in bytes.
pub(super) const SIZES: [usize; 2] = [4 << 10, 64 << 10];

/// Calls faster than this are not compared.
const QUICK: Duration = Duration::from_millis(10);

/// How a call grows from the smaller to the larger size.
pub(super) struct Growth {
    small: Cost,
    large: Cost,
}

impl Growth {
    /// Measures both sizes, again and again while the larger takes too long: a machine that is busy makes calls longer,
    /// never shorter.
    pub(super) fn measured(call: &Call<'_>, tolerance: f64, attempts: usize) -> Self {
        let mut growth = Growth { small: call.run(SIZES[0]), large: call.run(SIZES[1]) };
        for _ in 0..attempts {
            if growth.excess() <= tolerance {
                break;
            }
            let (small, large) = (call.run(SIZES[0]), call.run(SIZES[1]));
            // The slowest small run and the fastest large one, so that other load does not look like growth.
            growth.small.time = growth.small.time.max(small.time);
            growth.large.time = growth.large.time.min(large.time);
        }
        growth
    }

    /// How many times more the time grows than the charge.
    pub(super) fn excess(&self) -> f64 {
        if self.large.time < QUICK || self.large.refused {
            return 0.0;
        }
        self.over_steps(self.large.time.as_secs_f64() / self.small.time.as_secs_f64().max(1e-7))
    }

    /// How many times more the instructions grow than the charge. `count` returns those of a process that prepares a
    /// call of a size and, if the flag is set, makes it.
    pub(super) fn excess_of_instructions(&self, count: impl Fn(usize, bool) -> Option<u64>) -> Option<f64> {
        let of = |size| Some(count(size, true)?.saturating_sub(count(size, false)?).max(1) as f64);
        Some(self.over_steps(of(SIZES[1])? / of(SIZES[0])?))
    }

    fn over_steps(&self, growth: f64) -> f64 {
        growth / (self.large.steps as f64 / self.small.steps.max(1) as f64).max(1.0)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (small, large) = (&self.small, &self.large);
        write!(
            formatter,
            "{:?} for {} steps at {} bytes, {:?} for {} steps at {}",
            small.time, small.steps, SIZES[0], large.time, large.steps, SIZES[1]
        )
    }
}
