//! Workloads that move: what controllers, the scheduler and the kubelet of a real cluster would do to objects, on one
//! node on which nothing really runs.
//!
//! Every controller looks at one object, does the next thing that is to be done for it, and says when it wants to look
//! again. Nothing is remembered between looks but what objects say, so that a cluster in a file goes on where it was.

mod claim;
mod clock;
mod cron;
mod cron_job;
mod daemon_set;
mod deployment;
mod engine;
mod event;
mod hand;
mod job;
mod later;
mod network;
mod node;
mod pod;
mod replica_set;
mod revision;
mod scale;
mod selecting;
mod stateful_set;
mod status;
pub(crate) mod steer;
mod template;
pub(crate) mod words;

pub use clock::Pace;
pub(crate) use clock::SimulatedClock;
pub(crate) use engine::Workloads;
