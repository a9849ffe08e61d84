//! A Kubernetes API in one process: for trying, rehearsing and testing without a cluster.
//!
//! [`schema`] knows what objects of every built-in kind look like, from tables taken from real API servers.

mod api;
pub mod apply;
pub mod fit;
pub mod patch;
pub mod schema;
pub mod serve;
pub mod settle;
mod spell;
mod status;
pub mod store;

pub use api::{Api, Body, Clock, FieldValidation, Options, SystemClock};
pub use status::{Cause, Details, Status};
