//! All integration tests of this crate, in one program: each more would be linked whole.

mod depth;
mod goldens;
mod outline;
mod readers;
mod texts;
