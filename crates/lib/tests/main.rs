//! All integration tests of this crate in one program, because linking each separately takes long.

mod embedded;
mod examples;
mod lifecycle;
mod lifecycle_cluster;
mod owners;
mod support;
mod threads;
mod undone;
