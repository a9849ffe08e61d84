//! Patches for client-side apply.
//!
//! Built-in kinds get strategic merge patches, in which list elements are matched by merge key. All others get JSON
//! merge patches, which replace lists.

mod error;
mod go_format;
mod json_merge;
mod lists;
mod merge;
mod merge_keys;
mod strategic;

pub use error::PatchError;
pub use json_merge::{three_way_json, two_way_json};
pub use merge_keys::{MergeKeys, Schema};
pub use strategic::three_way_strategic;

use pintle_objects::ObjectId;

/// The groups in client-go's scheme. Helm converts their objects to Go types and so sends strategic merge patches for them.
const BUILT_IN: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether objects of this kind get a strategic merge patch rather than a JSON merge patch.
pub fn is_strategic(id: &ObjectId) -> bool {
    // The one built-in type that Helm excludes (`kube.createPatch`).
    let beta_definition = id.group == "apiextensions.k8s.io" && id.version == "v1beta1";
    BUILT_IN.contains(&id.group.as_str()) && !beta_definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregated_and_custom_kinds_are_not_strategic() {
        let strategic = |api_version, kind| is_strategic(&ObjectId::new(api_version, kind, "", "x"));
        assert!(strategic("v1", "Service") && strategic("apps/v1", "Deployment"));
        assert!(strategic("apiextensions.k8s.io/v1", "CustomResourceDefinition"));
        assert!(!strategic("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"));
        assert!(!strategic("apiregistration.k8s.io/v1", "APIService"));
        assert!(!strategic("snapshot.storage.k8s.io/v1", "VolumeSnapshot"));
    }
}
