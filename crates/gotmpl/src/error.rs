//! Placeholder.

/// A template error.
#[derive(Debug)]
pub struct Error;
