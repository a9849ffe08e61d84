//! Controllers, the scheduler and the kubelet: what they would do to objects on a real cluster, for one node on which
//! no container runs.
//!
//! A controller reconciles one object: it reads the current state, takes the next step and returns when to be
//! requeued. All state is in objects, so that a cluster in a file continues where it was closed.

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
