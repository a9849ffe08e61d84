//! All integration tests of this crate in one program, because each program is linked separately.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod live;
mod node;
mod requests;
mod stores;
mod support;
