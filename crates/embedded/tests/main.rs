//! All integration tests of this crate in one binary: linking one per file would take much longer.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod clients;
mod contract;
mod differences;
mod events_and_revisions;
mod serve;
mod stress;
mod support;
mod workloads;
