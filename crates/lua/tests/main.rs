//! All integration tests of this crate, in one program: each more would be linked whole.

mod bridge;
mod common;
mod escape;
mod growth;
mod random;
mod rules;
