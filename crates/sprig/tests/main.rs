//! All integration tests of this crate, in one program: each more would be linked whole.

mod goldens;
mod growth;
