//! Plans and patches, against answers recorded from Kubernetes' own libraries.

mod apply;
mod patches;
mod plans;
mod recorded;
