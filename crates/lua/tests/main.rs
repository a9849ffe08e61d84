//! All integration tests of this crate in one binary; every further binary would be linked separately.

mod bridge;
mod common;
mod escape;
mod growth;
mod random;
mod rules;
