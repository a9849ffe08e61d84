//! Computes what to change in a cluster, without touching it: steps, patches, ownership.
//!
//! [`plan`] compares the desired objects with the previous release and with the live state, and returns a step for
//! each object; [`removal`] reads what an uninstall deletes. [`patch`] computes the patches of client-side apply,
//! [`ownership`] checks and sets the metadata that makes an object part of a release, [`managed_fields`] moves field
//! ownership from client-side to server-side apply, and [`diff`] compares two trees. [`conflicts`] decides about fields of
//! other managers and [`recreation`] about immutable fields; [`field_owners`] finds the managers of a field, and [`crd`]
//! what an update of a CRD would lose.
//! [`sequence`] orders groups of objects that depend on each other.
//!
//! This crate reads no cluster, file or clock. The executor provides the live objects in a [`Snapshot`] and gets the
//! request for each step from [`Change::for_step`].
//!
//! ```
//! use pintle_objects::Object;
//! use pintle_plan::{Action, Adoption, DeletionRule, PlanInput, Snapshot, plan};
//! let desired = [Object::read_json(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#)?];
//! let live = Snapshot::default();
//! let (adoption, deletion) = (Adoption::Unchecked, DeletionRule::ByLivePolicy);
//! let plan = plan(&PlanInput { desired: &desired, previous: &[], live: &live, adoption, deletion })?;
//! assert!(matches!(plan.steps[0].action, Action::Create));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod conflicts;
pub mod crd;
pub mod diff;
pub mod field_owners;
pub mod managed_fields;
pub mod ownership;
pub mod patch;
mod plan;
pub mod recreation;
mod removal;
pub mod sequence;
mod snapshot;
mod step;

pub use conflicts::{ConflictPolicy, FieldConflict};
pub use plan::{Adoption, DeletionRule, Error, Plan, PlanInput, RESOURCE_POLICY, plan};
pub use removal::{Removal, RemovalError, RetainedObject, removal};
pub use snapshot::Snapshot;
pub use step::{Action, Change, MergeBase, Method, Step, batches};
