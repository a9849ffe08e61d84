//! All integration tests of this crate in one program, because linking each separately takes long.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod contents;
mod drift;
mod embedded;
mod examples;
mod front_end;
mod lifecycle;
mod lifecycle_cluster;
mod owners;
mod remote;
mod send;
mod stores;
mod support;
mod threads;
mod undone;
mod uninstall;
