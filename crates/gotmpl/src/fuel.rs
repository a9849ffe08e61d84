//! Limits of a render, so that a hostile template ends in an error.
//! See decision 0004. Costs are rough on purpose: what counts is that no loop, recursion or function can do
//! unbounded work for a bounded charge.

use crate::function::CallError;
use crate::print::MAX_BYTES;
use crate::value::Value;

/// Go's limit on nested template calls, which its message names.
pub(crate) const GO_DEPTH: usize = 100_000;

/// How the text of an error begins that says that a limit is reached.
pub const LIMIT_REACHED: &str = "render limit reached: ";

/// The limits of one render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Executed nodes, including loops and repeated calls.
    pub steps: u64,
    /// Output bytes, including those of included templates.
    pub output_bytes: u64,
    /// Nested template calls.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // About a hundred times what the largest known charts need. Go allows a depth of 100,000, which only
        // endless recursion reaches and which would take gigabytes of stack.
        Limits { steps: 50_000_000, output_bytes: 256 << 20, depth: 10_000 }
    }
}

/// The limit that was exceeded.
#[derive(Clone, Copy, Debug)]
enum ExceededLimit {
    Steps,
    Output,
    Memory,
    Text,
}

/// The remaining limits.
#[derive(Debug)]
pub struct Fuel {
    steps: u64,
    bytes: u64,
    memory: u64,
    limits: Limits,
    exceeded: Option<ExceededLimit>,
}

impl Fuel {
    /// Returns fuel for the given limits.
    pub fn new(limits: Limits) -> Self {
        // Functions produce more text than is written; it has a limit of its own.
        let memory = limits.output_bytes.saturating_mul(2);
        Fuel { steps: limits.steps, bytes: limits.output_bytes, memory, limits, exceeded: None }
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Charges steps, for functions that do much work.
    ///
    /// # Errors
    /// When too few are left.
    pub fn spend(&mut self, steps: u64) -> Result<(), CallError> {
        if self.step(steps) { Ok(()) } else { Err(self.error()) }
    }

    /// The steps left, for functions whose cost is expensive to compute.
    pub fn steps_left(&self) -> u64 {
        self.steps
    }

    /// The bytes that functions may still produce.
    pub fn memory_left(&self) -> u64 {
        self.memory
    }

    /// Charges bytes that a function produces, before it does.
    ///
    /// # Errors
    /// When too few are left.
    pub fn allocate(&mut self, bytes: usize) -> Result<(), CallError> {
        if self.take_memory(bytes) { Ok(()) } else { Err(self.error()) }
    }

    #[inline]
    pub(crate) fn step(&mut self, steps: u64) -> bool {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                true
            }
            None => self.exhaust(ExceededLimit::Steps),
        }
    }

    /// Charges steps for the arguments of a function, which may read all of them.
    #[inline]
    pub(crate) fn read(&mut self, arguments: &[Value]) -> bool {
        // Reading is cheap compared with executing a node, hence the divisors.
        let steps: usize = arguments
            .iter()
            .map(|argument| match argument {
                Value::Str(text) | Value::Bytes(text) => text.len() / 16,
                Value::List(list) => list.items().len() / 8,
                Value::Map(map) => map.borrow().len() / 8,
                _ => 0,
            })
            .sum();
        // Escaping makes text several times as long, so the limit must be well below.
        if steps > MAX_BYTES / 16 {
            return self.exhaust(ExceededLimit::Text);
        }
        self.step((arguments.len() + steps) as u64)
    }

    #[inline]
    pub(crate) fn write(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => self.exhaust(ExceededLimit::Output),
        }
    }

    #[inline]
    pub(crate) fn take_memory(&mut self, bytes: usize) -> bool {
        match self.memory.checked_sub(bytes as u64) {
            Some(left) => {
                self.memory = left;
                true
            }
            None => self.exhaust(ExceededLimit::Memory),
        }
    }

    /// Once a limit is exceeded nothing continues, even if a function swallows the error.
    #[cold]
    fn exhaust(&mut self, exceeded: ExceededLimit) -> bool {
        self.exceeded.get_or_insert(exceeded);
        self.steps = 0;
        self.bytes = 0;
        self.memory = 0;
        false
    }

    /// Whether a limit was exceeded.
    pub fn is_exhausted(&self) -> bool {
        self.exceeded.is_some()
    }

    /// The text of the error.
    pub(crate) fn message(&self) -> String {
        let Limits { steps, output_bytes, .. } = self.limits;
        match self.exceeded {
            Some(ExceededLimit::Output) => {
                format!("{LIMIT_REACHED}more than {output_bytes} bytes of output")
            }
            Some(ExceededLimit::Memory) => {
                let bytes = output_bytes.saturating_mul(2);
                format!("{LIMIT_REACHED}functions made more than {bytes} bytes")
            }
            Some(ExceededLimit::Text) => {
                format!("{LIMIT_REACHED}a text of more than {MAX_BYTES} bytes")
            }
            _ => format!("{LIMIT_REACHED}more than {steps} steps"),
        }
    }

    fn error(&self) -> CallError {
        CallError::new(self.message())
    }
}
