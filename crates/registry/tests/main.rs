//! All integration tests of this crate in one binary; every further binary would be linked separately.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod charts;
mod copies;
mod faults;
mod support;
