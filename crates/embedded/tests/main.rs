//! All integration tests of this crate, in one program: each more would be linked whole.

mod clients;
mod contract;
mod differences;
mod hardship;
mod port;
mod support;
mod telling;
mod workloads;
