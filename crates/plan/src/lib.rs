//! Decides what to do to a cluster, touching nothing: steps, patches, ownership.
//!
//! [`plan`] compares what is wanted with what was wanted before and with what is there, and says step by step what has
//! to be done; [`removal`] does the same for taking a whole release away. [`patch`] makes the patches that client-side
//! apply sends, [`ownership`] knows which marks make an object part of a release, [`managed_fields`] hands the fields
//! of client-side apply over to server-side apply, and [`diff`] tells two trees apart.
//!
//! This room reads no cluster, no file and no clock. Whoever carries the plan out brings the live objects in a
//! [`Snapshot`] and asks [`Change::for_step`] what to send for each step.
//!
//! ```
//! use pintle_objects::Object;
//! use pintle_plan::{Action, Adoption, PlanInput, Snapshot, plan};
//! let wanted = [Object::read_json(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#)?];
//! let live = Snapshot::default();
//! let plan = plan(&PlanInput { desired: &wanted, previous: &[], live: &live, adoption: Adoption::Unchecked })?;
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
