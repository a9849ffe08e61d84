//! Shapes of output that several commands share.

pub(crate) mod table;
