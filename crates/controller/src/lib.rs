//! The controller: `HelmRequest` objects in, the operations of the library out.
//!
//! [`request`] is the custom resource, [`state`] the state machine as a pure function, and [`Reconciler`] reconciles one
//! request. [`run`] puts these under `kube`'s runtime: watches, a work queue, workers, leader election.
//!
//! Releases are the same objects that the command line makes and sees. Everything about a release is done with the rights of
//! the request's service account, by impersonation; the controller's own rights are for requests, Events and its lease.

mod address;
pub mod args;
mod breaker;
mod charts;
mod clusters;
mod conditions;
mod dependency;
mod error;
mod events;
pub mod export;
mod expression;
mod fair_queue;
mod health;
mod helm_releases;
mod leader;
mod memory;
mod metrics;
pub mod origin_labels;
mod post_render;
mod process_metrics;
mod recent;
mod reconcile;
mod report;
pub mod request;
mod ring;
mod run;
mod serve;
pub mod set;
mod settled;
pub mod state;
mod storage;
mod value_files;
mod values;
mod watched;

pub use address::AddressRules;
pub use charts::Charts;
pub use error::{Error, Result};
pub use leader::{Candidate, LeaderElection};
pub use memory::Memory;
pub use metrics::Metrics;
pub use reconcile::{ClusterCache, Log, Reconciler, Requeue};
pub use run::{Options, run};
pub use serve::{Health, serve};
pub use value_files::ValueFiles;

/// The name of the controller in managed fields and Events.
pub const FIELD_MANAGER: &str = "pintle-controller";
