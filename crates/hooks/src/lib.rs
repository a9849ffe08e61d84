//! Typed hooks from annotations: events, weights, policies, environment.
//!
//! A hook is an object that runs at certain events of a release. Helm has one weight for all events of a hook. The
//! annotations that this crate adds allow a weight per event, pass event and weight to the containers as environment
//! variables, and let an object outlive its release. A hook without these additions behaves exactly as in Helm.
//!
//! This crate knows no chart, store or cluster, and runs nothing: it determines which objects are created, in which
//! order, and what happens to them afterwards.
//!
//! Start at [`read`] for a rendered hook, or at [`read_stored`] for one of a stored release; then [`in_order`]
//! returns the hooks of an event and [`objects_for`] the objects to create. [`Filter`] splits hooks with several
//! events into one hook per event, for tools that know only Helm's annotations, and leaves all other text unchanged;
//! [`split`] does the same on trees.
//!
//! ```
//! use pintle_hooks::{Source, in_order, read};
//! use pintle_objects::HookEvent;
//!
//! let manifest = br#"
//! apiVersion: batch/v1
//! kind: Job
//! metadata:
//!   name: migrate
//!   annotations:
//!     helm.sh/hook: pre-install,post-upgrade
//!     helm.sh/hook-weights: pre-install=-5,post-upgrade=10
//! "#;
//! let events = [HookEvent::PreInstall, HookEvent::PostUpgrade];
//! let hook = read(&Source { name: "migrate", kind: "Job", manifest, events: &events, ..Source::default() })?;
//! assert_eq!(hook.weight(HookEvent::PostUpgrade), Some(10));
//! assert!(in_order(&[hook], HookEvent::PreDelete).is_empty());
//! # Ok::<(), pintle_hooks::Error>(())
//! ```

mod annotation;
mod change;
mod env;
mod error;
mod filter;
mod hook;
mod name;
mod order;
mod plan;
mod policy;
mod reference;
mod split;
mod view;
mod weight;

pub use annotation::{
    Annotations, DELETE_POLICY, ENV, EVENT_NAMES, HOOK, LOG_POLICY, NAME_SUFFIX, POLICY, WEIGHT, WEIGHTS,
};
pub use env::EnvRule;
pub use error::{Error, Problem, Result};
pub use filter::{Filter, FilterError, ObjectLocation};
pub use hook::{
    EventWeight, Hook, Source, is_hook_by_weights, object_for, objects_for, objects_to_delete, read,
    read_stored,
};
pub use name::split_name;
pub use order::{batches, in_order, indices_in_order};
pub use policy::{DeletePolicy, LogPolicy, UnknownPolicyValue};
pub use split::split;
