//! Stack growth for recursion over deep trees.

/// Runs a step of a recursion with enough stack on any thread.
#[inline]
pub fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    // Below 64 KiB of stack a segment of 1 MiB is added; one level of a recursion must get by with the
    // former.
    stacker::maybe_grow(64 << 10, 1 << 20, step)
}
