//! All integration tests of this crate, in one program: each more would be linked whole.

mod copies;
mod faults;
mod support;
