//! Plans and patches, against answers that were recorded from Kubernetes' own libraries.

mod apply;
mod patches;
mod plans;
mod recorded;
