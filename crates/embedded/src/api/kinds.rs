//! The kinds that are served: those that are built in, and those that custom resource definitions make.

use std::sync::Arc;

use pintle_tree::{Node, Str};

use super::convert;
use super::custom::{self, CustomKind, ScalePaths};
use crate::schema::{Kind, Resource, Schema, Shape, Table};

/// A kind that is served. Cheap to clone.
#[derive(Clone)]
pub(super) enum Known {
    BuiltIn(&'static Resource),
    Custom(Arc<CustomKind>),
}

/// What has no schema is free.
fn free() -> &'static Shape {
    static FREE: std::sync::LazyLock<Shape> = std::sync::LazyLock::new(|| {
        Shape::read(&pintle_tree::Node::empty_map()).expect("an empty map is a schema")
    });
    &FREE
}

impl Known {
    pub(super) fn resource(&self) -> &Resource {
        match self {
            Known::BuiltIn(resource) => resource,
            Known::Custom(kind) => &kind.resource,
        }
    }

    /// Its schema, and what discovery says.
    pub(super) fn kind(&self, table: &'static Table) -> Kind<'_> {
        Kind {
            resource: self.resource(),
            schema: Some(self.schema(table)),
            custom: matches!(self, Known::Custom(_)),
            minor: table.minor(),
        }
    }

    pub(super) fn schema(&self, table: &'static Table) -> Schema<'_> {
        match self {
            Known::BuiltIn(resource) => {
                table.schema(resource).unwrap_or_else(|| Schema::new(free(), table.definitions()))
            }
            Known::Custom(kind) => Schema::new(&kind.shape, table.definitions()),
        }
    }

    /// What keys of its objects begin with. Events are the same objects in both their groups.
    pub(super) fn store_name(&self) -> String {
        let resource = self.resource();
        if resource.group == "events.k8s.io" { "events".to_owned() } else { resource.qualified() }
    }

    /// The version that its objects are kept in.
    pub(super) fn stored_version(&self) -> Str {
        let resource = self.resource();
        match self {
            Known::Custom(kind) => Str::from(format!("{}/{}", resource.group, kind.storage_version)),
            Known::BuiltIn(_) if resource.group == "events.k8s.io" => Str::from("v1"),
            Known::BuiltIn(_) if resource.group == "autoscaling" => Str::from("autoscaling/v2"),
            Known::BuiltIn(_) => Str::from(resource.api_version()),
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
            Known::Custom(_) => true,
            Known::BuiltIn(resource) => WITH.iter().any(|kind| resource.kind == **kind),
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
            Known::Custom(_) => false,
            Known::BuiltIn(resource) => !NOT.iter().any(|kind| resource.kind == **kind),
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
        matches!(self, Known::BuiltIn(resource) if THESE.iter().any(|kind| resource.kind == **kind))
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
        matches!(self, Known::BuiltIn(resource) if THESE.iter().any(|kind| resource.kind == **kind))
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self, Known::Custom(_))
    }

    /// Whether objects are sent as they are kept. Custom ones may have been written in a version that no longer is the
    /// one to keep, so that only those with one version are.
    pub(super) fn is_shown_as_kept(&self) -> bool {
        match self {
            Known::Custom(kind) => kind.only_version,
            Known::BuiltIn(resource) => self.stored_version() == *resource.api_version(),
        }
    }

    /// Turns an object as it is kept into one of the version that is asked for.
    pub(super) fn show(&self, object: &mut Node) {
        if !self.is_shown_as_kept() {
            convert::show(object, self.resource());
        }
    }

    /// Turns an object of the version that was sent into what is kept.
    pub(super) fn keep(&self, object: &mut Node, table: &'static Table) {
        if self.is_shown_as_kept() {
            return;
        }
        convert::keep(object, self.resource(), &self.stored_version());
        if let Known::Custom(kind) = self
            && let Some(kept) = &kind.kept
        {
            custom::fit_kept(Schema::new(kept, table.definitions()), &kind.resource, object);
        }
    }

    /// Where the scale of its objects is.
    pub(super) fn scale_paths(&self) -> ScalePaths {
        let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<String>>();
        match self {
            Known::Custom(kind) => kind.scale.clone().unwrap_or_default(),
            Known::BuiltIn(_) => ScalePaths {
                wanted: path(&["spec", "replicas"]),
                there: path(&["status", "replicas"]),
                selector: path(&["spec", "selector"]),
            },
        }
    }

    pub(super) fn is(&self, group: &str, kind: &str) -> bool {
        let resource = self.resource();
        resource.group == *group && resource.kind == *kind
    }
}
