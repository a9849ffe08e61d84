//! All integration tests of this crate, in one program.

mod gnupg;
mod own;
