//! All integration tests of this crate, in one program: each more would be linked whole.

mod embedded;
mod examples;
mod lifecycle;
mod lifecycle_cluster;
mod owners;
mod support;
mod threads;
mod undone;
