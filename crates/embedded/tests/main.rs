//! All integration tests of this crate in one binary: linking one per file would take much longer.

mod clients;
mod contract;
mod differences;
mod events_and_revisions;
mod serve;
mod stress;
mod support;
mod workloads;
