//! Annotations to typed hooks: events, weights, policies, environment.
//!
//! A hook is an object that runs at moments of a release's life. Helm gives it one weight for all its events; the
//! annotations that this room adds give it one for each, tell its containers why they run, and let it outlive its
//! release. A hook that uses none of these additions means exactly what Helm takes it to mean.
//!
//! It knows no chart, no store and no cluster, and it runs nothing: it says which objects are made, in which order,
//! and what happens to them afterwards.
//!
//! Enter at [`read`] with a hook of a fresh render, or at [`read_stored`] with one of a stored release; then
//! [`in_order`] for the hooks of one event and [`objects_for`] for what to create. [`Filter`] turns hooks of several
//! events into hooks of one, for programs that know only Helm's annotations, and leaves all other text as it is;
//! [`split`] does the same to trees.
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
