//! All integration tests of this crate in one program, because linking each separately takes long.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod budgets;
mod deploy;
mod failures;
mod idle;
mod interrupted;
mod lifecycle;
mod options;
mod ownership;
mod process;
mod program;
mod replicas;
mod sets;
mod simulation;
mod sources;
mod support;
mod tenants;
