//! All integration tests of this crate, in one program.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod gnupg;
mod keyless;
mod own;
mod sigstore;
