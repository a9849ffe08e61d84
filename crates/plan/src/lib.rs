//! Computes what to change in a cluster, without touching it: steps, patches, ownership.
//!
//! [`plan`] compares the desired objects with the previous release and with the live state, and returns a step for
//! each object; [`removal`] does the same for uninstalling. [`patch`] computes the patches of client-side apply,
//! [`ownership`] checks and sets the metadata that makes an object part of a release, [`managed_fields`] moves field
//! ownership from client-side to server-side apply, and [`diff`] compares two trees.
//!
//! This crate reads no cluster, file or clock. The executor provides the live objects in a [`Snapshot`] and gets the
//! request for each step from [`Change::for_step`].
//!
//! ```
//! use pintle_objects::Object;
//! use pintle_plan::{Action, Adoption, PlanInput, Snapshot, plan};
//! let desired = [Object::read_json(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#)?];
//! let live = Snapshot::default();
//! let plan = plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption: Adoption::Unchecked })?;
//! assert!(matches!(plan.steps[0].action, Action::Create));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod diff;
pub mod managed_fields;
pub mod ownership;
pub mod patch;
mod plan;
mod removal;
mod snapshot;
mod step;

pub use plan::{Adoption, Error, Plan, PlanInput, RESOURCE_POLICY, plan};
pub use removal::{Removal, RemovalError, RetainedObject, removal};
pub use snapshot::Snapshot;
pub use step::{Action, Change, MergeBase, Method, Step, batches};
