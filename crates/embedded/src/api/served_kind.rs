//! The served kinds: built-in ones and custom resources.

use std::sync::Arc;

use pintle_tree::{Node, Str};

use super::conversion;
use super::custom_resources::{self, CustomResource, ScalePaths};
use crate::schema::{ApiCatalog, Kind, Resource, Schema, Shape};

/// A served kind. Cheap to clone.
#[derive(Clone)]
pub(super) enum ServedKind {
    BuiltIn(&'static Resource),
    Custom(Arc<CustomResource>),
}

/// The schema of kinds without one: every field is allowed.
fn schemaless() -> &'static Shape {
    static SCHEMALESS: std::sync::LazyLock<Shape> = std::sync::LazyLock::new(|| {
        Shape::parse(&pintle_tree::Node::empty_map()).expect("an empty map is a schema")
    });
    &SCHEMALESS
}

impl ServedKind {
    pub(super) fn resource(&self) -> &Resource {
        match self {
            ServedKind::BuiltIn(resource) => resource,
            ServedKind::Custom(kind) => &kind.resource,
        }
    }

    /// What decoding, validation and admission need to know of the kind.
    pub(super) fn kind(&self, catalog: &'static ApiCatalog) -> Kind<'_> {
        Kind {
            resource: self.resource(),
            schema: Some(self.schema(catalog)),
            custom: matches!(self, ServedKind::Custom(_)),
            minor: catalog.minor(),
        }
    }

    pub(super) fn schema(&self, catalog: &'static ApiCatalog) -> Schema<'_> {
        match self {
            ServedKind::BuiltIn(resource) => {
                catalog.schema(resource).unwrap_or_else(|| Schema::new(schemaless(), catalog.definitions()))
            }
            ServedKind::Custom(kind) => Schema::new(&kind.shape, catalog.definitions()),
        }
    }

    /// The prefix of keys. Events are stored once for both of their groups.
    pub(super) fn storage_prefix(&self) -> String {
        let resource = self.resource();
        if resource.group == "events.k8s.io" { "events".to_owned() } else { resource.qualified_name() }
    }

    /// The storage version.
    pub(super) fn storage_version_of(&self) -> Str {
        let resource = self.resource();
        match self {
            ServedKind::Custom(kind) => Str::from(format!("{}/{}", resource.group, kind.storage_version)),
            ServedKind::BuiltIn(_) if resource.group == "events.k8s.io" => Str::from("v1"),
            // `v2` can express everything of `v1`, but not the other way round.
            ServedKind::BuiltIn(_) if resource.group == "autoscaling" => Str::from("autoscaling/v2"),
            ServedKind::BuiltIn(_) => Str::from(resource.api_version()),
        }
    }

    /// Whether changes of the spec increment `metadata.generation`.
    pub(super) fn has_generation(&self, minor: u16) -> bool {
        const WITH: [&str; 27] = [
            "PriorityClass",
            "IngressClass",
            "NetworkPolicy",
            "Ingress",
            "EndpointSlice",
            "PodDisruptionBudget",
            "ResourceSlice",
            "DeviceClass",
            "FlowSchema",
            "PriorityLevelConfiguration",
            "DaemonSet",
            "StatefulSet",
            "Deployment",
            "ReplicaSet",
            "Job",
            "CronJob",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ValidatingAdmissionPolicy",
            "MutatingAdmissionPolicy",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicyBinding",
            "CustomResourceDefinition",
            "DeviceTaintRule",
        ];
        match self {
            ServedKind::Custom(_) => true,
            ServedKind::BuiltIn(resource) if resource.kind == "HorizontalPodAutoscaler" => minor >= 37,
            ServedKind::BuiltIn(resource) => WITH.iter().any(|kind| resource.kind == **kind),
        }
    }

    /// Whether an update may omit the resourceVersion (`AllowUnconditionalUpdate`).
    pub(super) fn allows_unconditional_update(&self) -> bool {
        const NOT: [&str; 16] = [
            "RuntimeClass",
            "PodDisruptionBudget",
            "CSIDriver",
            "CSIStorageCapacity",
            "VolumeAttachment",
            "CSINode",
            "Lease",
            "ValidatingAdmissionPolicy",
            "MutatingAdmissionPolicy",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicyBinding",
            "CustomResourceDefinition",
            "APIService",
            "ClusterTrustBundle",
        ];
        match self {
            ServedKind::Custom(_) => false,
            // `v1alpha3` and `v1beta2` keep what they once allowed.
            ServedKind::BuiltIn(resource) if resource.kind == "DeviceTaintRule" => resource.version != "v1",
            ServedKind::BuiltIn(resource) => !NOT.iter().any(|kind| resource.kind == **kind),
        }
    }

    /// Whether an update creates an object that does not exist (`AllowCreateOnUpdate`).
    pub(super) fn allows_create_on_update(&self) -> bool {
        const THESE: [&str; 10] = [
            "RuntimeClass",
            "RoleBinding",
            "ClusterRoleBinding",
            "Role",
            "ClusterRole",
            "Lease",
            "LimitRange",
            "Event",
            "Service",
            "Endpoints",
        ];
        matches!(self, ServedKind::BuiltIn(resource) if THESE.iter().any(|kind| resource.kind == **kind))
    }

    /// Whether a delete answers with the object instead of a `Status` (`ReturnDeletedObject`).
    pub(super) fn returns_deleted_object(&self) -> bool {
        const THESE: [&str; 19] = [
            "ResourceClaimTemplate",
            "ResourceSlice",
            "ResourceClaim",
            "DeviceClass",
            "DeviceTaintRule",
            "CSIDriver",
            "StorageClass",
            "VolumeAttachment",
            "CSINode",
            "VolumeAttributesClass",
            "ResourceQuota",
            "PersistentVolume",
            "ServiceAccount",
            "PersistentVolumeClaim",
            "Namespace",
            "Pod",
            "Service",
            "PodTemplate",
            "ResourcePoolStatusRequest",
        ];
        match self {
            // As for unconditional updates.
            ServedKind::BuiltIn(resource) if resource.kind == "DeviceTaintRule" => resource.version != "v1",
            ServedKind::BuiltIn(resource) => THESE.iter().any(|kind| resource.kind == **kind),
            ServedKind::Custom(_) => false,
        }
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self, ServedKind::Custom(_))
    }

    /// Whether objects are served as stored, without conversion. Custom resources may have been written when another
    /// version was the storage version, so only those with a single version are.
    pub(super) fn is_served_as_stored(&self) -> bool {
        match self {
            ServedKind::Custom(kind) => kind.only_version,
            ServedKind::BuiltIn(resource) => self.storage_version_of() == *resource.api_version(),
        }
    }

    /// Converts an object from the storage version to the served one.
    pub(super) fn convert_from_storage(&self, object: &mut Node) {
        if !self.is_served_as_stored() {
            conversion::from_storage(object, self.resource());
        }
    }

    /// Converts an object from the served version to the storage version.
    pub(super) fn convert_to_storage(&self, object: &mut Node, catalog: &'static ApiCatalog) {
        if self.is_served_as_stored() {
            return;
        }
        conversion::to_storage(object, self.resource(), &self.storage_version_of());
        if let ServedKind::Custom(kind) = self
            && let Some(storage_shape) = &kind.storage_shape
        {
            custom_resources::prune_for_storage(
                Schema::new(storage_shape, catalog.definitions()),
                &kind.resource,
                object,
            );
        }
    }

    /// The paths of the scale subresource.
    pub(super) fn scale_paths(&self) -> ScalePaths {
        let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<String>>();
        match self {
            ServedKind::Custom(kind) => kind.scale.clone().unwrap_or_default(),
            ServedKind::BuiltIn(_) => ScalePaths {
                spec_replicas: path(&["spec", "replicas"]),
                status_replicas: path(&["status", "replicas"]),
                selector: path(&["spec", "selector"]),
            },
        }
    }

    pub(super) fn is(&self, group: &str, kind: &str) -> bool {
        let resource = self.resource();
        resource.group == *group && resource.kind == *kind
    }
}
