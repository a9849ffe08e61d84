//! Workloads that move: what controllers, the scheduler and the kubelet of a real cluster would do to objects, on one
//! node on which nothing really runs.
//!
//! Every controller looks at one object, does the next thing that is to be done for it, and says when it wants to look
//! again. Nothing is remembered between looks but what objects say, so that a cluster in a file goes on where it was.

mod client;
mod clock;
pub(crate) mod container_log;
mod cron;
mod cron_job;
mod daemon_set;
mod delay_queue;
mod deployment;
mod event;
mod job;
mod network;
mod node;
mod persistent_volume;
mod pod;
mod reconcile;
mod replica_set;
mod revision;
mod scale;
mod selector_index;
pub(crate) mod simulation;
mod stateful_set;
mod status;
mod template;

pub use clock::Pace;
pub(crate) use clock::SimulatedClock;
pub(crate) use reconcile::ControllerManager;
