//! The server against the embedded cluster, in one process: every route, and everything that must not work.

#![allow(clippy::unwrap_used, reason = "tests")]

mod attacks;
mod faults;
mod measure;
mod openapi;
mod operations;
mod records;
mod support;
