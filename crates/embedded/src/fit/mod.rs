//! Whether objects fit their kinds: reading, defaults, rules.

pub(crate) mod raw;
