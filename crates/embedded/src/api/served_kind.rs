//! The kinds that are served: those that are built in, and those that custom resource definitions make.

use std::sync::Arc;

use pintle_tree::{Node, Str};

use super::conversion;
use super::custom_resources::{self, CustomResource, ScalePaths};
use crate::schema::{ApiCatalog, Kind, Resource, Schema, Shape};

/// A kind that is served. Cheap to clone.
#[derive(Clone)]
pub(super) enum ServedKind {
    BuiltIn(&'static Resource),
    Custom(Arc<CustomResource>),
}

/// What has no schema is free.
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

    /// Its schema, and what discovery says.
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

    /// What keys of its objects begin with. Events are the same objects in both their groups.
    pub(super) fn store_name(&self) -> String {
        let resource = self.resource();
        if resource.group == "events.k8s.io" { "events".to_owned() } else { resource.qualified_name() }
    }

    /// The version that its objects are kept in.
    pub(super) fn stored_version(&self) -> Str {
        let resource = self.resource();
        match self {
            ServedKind::Custom(kind) => Str::from(format!("{}/{}", resource.group, kind.storage_version)),
            ServedKind::BuiltIn(_) if resource.group == "events.k8s.io" => Str::from("v1"),
            ServedKind::BuiltIn(_) if resource.group == "autoscaling" => Str::from("autoscaling/v2"),
            ServedKind::BuiltIn(_) => Str::from(resource.api_version()),
        }
    }

    /// Whether a change of its spec counts up `metadata.generation`.
    pub(super) fn has_generation(&self) -> bool {
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
            ServedKind::BuiltIn(resource) => WITH.iter().any(|kind| resource.kind == **kind),
        }
    }

    /// Whether objects may be replaced without naming their revision.
    pub(super) fn may_replace_blindly(&self) -> bool {
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
            ServedKind::BuiltIn(resource) => !NOT.iter().any(|kind| resource.kind == **kind),
        }
    }

    /// Whether replacing what is not there makes it.
    pub(super) fn is_made_by_replacing(&self) -> bool {
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

    /// Whether deleting answers with the object rather than with a success.
    pub(super) fn is_returned_when_deleted(&self) -> bool {
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
        matches!(self, ServedKind::BuiltIn(resource) if THESE.iter().any(|kind| resource.kind == **kind))
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self, ServedKind::Custom(_))
    }

    /// Whether objects are sent as they are kept. Custom ones may have been written in a version that no longer is the
    /// one to keep, so that only those with one version are.
    pub(super) fn is_served_as_stored(&self) -> bool {
        match self {
            ServedKind::Custom(kind) => kind.only_version,
            ServedKind::BuiltIn(resource) => self.stored_version() == *resource.api_version(),
        }
    }

    /// Turns an object as it is kept into one of the version that is asked for.
    pub(super) fn convert_from_storage(&self, object: &mut Node) {
        if !self.is_served_as_stored() {
            conversion::from_storage(object, self.resource());
        }
    }

    /// Turns an object of the version that was sent into what is kept.
    pub(super) fn convert_to_storage(&self, object: &mut Node, catalog: &'static ApiCatalog) {
        if self.is_served_as_stored() {
            return;
        }
        conversion::to_storage(object, self.resource(), &self.stored_version());
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

    /// Where the scale of its objects is.
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
