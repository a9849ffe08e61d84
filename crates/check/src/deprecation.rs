//! API versions that Kubernetes has deprecated or removed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_tree::Node;

use crate::document::Object;
use crate::fix::Replacement;
use crate::scope::Scope;

/// One row per kind, generated from the lifecycle markers of the Kubernetes API types.
const TABLE: &str = include_str!("deprecations.tsv");

/// What the markers do not say: kinds whose types Kubernetes has deleted, and replacements. Helm does not know these.
const MORE: &str = "\
policy/v1beta1\tPodSecurityPolicy\t1.21\t1.25\t-
extensions/v1beta1\tPodSecurityPolicy\t1.11\t1.16\t-
autoscaling/v2beta1\tHorizontalPodAutoscaler\t1.22\t1.25\tautoscaling/v2 HorizontalPodAutoscaler
autoscaling/v2beta2\tHorizontalPodAutoscaler\t1.23\t1.26\tautoscaling/v2 HorizontalPodAutoscaler
apiextensions.k8s.io/v1beta1\tCustomResourceDefinition\t1.16\t1.22\tapiextensions.k8s.io/v1 CustomResourceDefinition
apiregistration.k8s.io/v1beta1\tAPIService\t1.19\t1.22\tapiregistration.k8s.io/v1 APIService
batch/v2alpha1\tCronJob\t1.8\t1.21\tbatch/v1 CronJob
node.k8s.io/v1beta1\tRuntimeClass\t1.22\t1.25\tnode.k8s.io/v1 RuntimeClass
events.k8s.io/v1beta1\tEvent\t1.22\t1.25\tevents.k8s.io/v1 Event";

/// A minor version: `(1, 25)`.
type Minor = (u32, u32);

/// When an API version of a kind is deprecated and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deprecation {
    /// The first version in which it is deprecated.
    pub deprecated: Minor,
    /// The first version that does not serve it.
    pub removed: Option<Minor>,
    /// What replaces it: an API version and a kind.
    pub replacement: Option<(&'static str, &'static str)>,
}

/// Deprecations by API version and kind.
type Deprecations = BTreeMap<(&'static str, &'static str), Deprecation>;

static MARKED: LazyLock<Deprecations> = LazyLock::new(|| rows(TABLE));
static UNMARKED: LazyLock<Deprecations> = LazyLock::new(|| rows(MORE));

/// The deprecation of an API version by the markers of the Kubernetes API types, as Helm has them.
pub fn deprecation(api_version: &str, kind: &str) -> Option<Deprecation> {
    MARKED.get(&(api_version, kind)).copied()
}

/// The deprecation of an API version by everything that is known, also where Kubernetes has deleted the types.
pub fn known(api_version: &str, kind: &str) -> Option<Deprecation> {
    UNMARKED.get(&(api_version, kind)).copied().or_else(|| deprecation(api_version, kind))
}

fn rows(table: &'static str) -> Deprecations {
    let row = |line: &'static str| {
        let mut fields = line.split('\t');
        let key = (fields.next()?, fields.next()?);
        let deprecated = minor(fields.next()?)?;
        let removed = minor(fields.next()?);
        Some((key, Deprecation { deprecated, removed, replacement: fields.next()?.split_once(' ') }))
    };
    table.lines().filter_map(row).collect()
}

/// The minor version of `1.36.1`, `v1.36` …
pub(crate) fn minor(version: &str) -> Option<Minor> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let number = |text: Option<&str>| text?.parse().ok();
    Some((number(numbers.next())?, number(numbers.next())?))
}

/// Whether a version does not serve an API version any more.
pub(crate) fn is_removed(api_version: &str, kind: &str, kubernetes: &str) -> bool {
    let removed = known(api_version, kind).and_then(|it| it.removed);
    removed.is_some_and(|removed| minor(kubernetes).is_some_and(|current| current >= removed))
}

pub(crate) fn check(scope: &mut Scope<'_>, object: &Object) {
    let (api_version, kind) = (&object.name.api_version, &object.name.kind);
    let Some(found) = known(api_version, kind) else { return };
    for version in scope.versions().to_vec() {
        let Some(current) = minor(&version).filter(|current| *current >= found.deprecated) else {
            continue;
        };
        let shown = |(major, minor): Minor| format!("{major}.{minor}");
        let mut message =
            format!("{api_version} {kind} is deprecated since Kubernetes {}", shown(found.deprecated));
        let rule = match found.removed {
            Some(removed) if current >= removed => {
                message = format!("{api_version} {kind} is not served since Kubernetes {}", shown(removed));
                "removed-api"
            }
            Some(removed) => {
                message.push_str(&format!(" and not served from {} on", shown(removed)));
                "deprecated-api"
            }
            None => "deprecated-api",
        };
        match found.replacement {
            Some((api_version, kind)) => message.push_str(&format!("; use {api_version} {kind}")),
            None => message.push_str("; nothing replaces it"),
        }
        let fix = replacement(object, found.replacement);
        scope.add_fixable(rule, object, "/apiVersion", message, (Some(&version), fix));
    }
}

/// API versions whose objects need no other change.
const COMPATIBLE: [(&str, &str); 20] = [
    ("apps/v1beta2", "Deployment"),
    ("apps/v1beta2", "DaemonSet"),
    ("apps/v1beta2", "StatefulSet"),
    ("apps/v1beta2", "ReplicaSet"),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
    ("batch/v1beta1", "CronJob"),
    ("coordination.k8s.io/v1beta1", "Lease"),
    ("extensions/v1beta1", "NetworkPolicy"),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"),
    ("node.k8s.io/v1beta1", "RuntimeClass"),
    ("policy/v1beta1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1beta1", "Role"),
    ("rbac.authorization.k8s.io/v1beta1", "RoleBinding"),
    ("scheduling.k8s.io/v1beta1", "PriorityClass"),
    ("storage.k8s.io/v1beta1", "CSIDriver"),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity"),
    ("storage.k8s.io/v1beta1", "StorageClass"),
    ("storage.k8s.io/v1beta1", "VolumeAttachment"),
];

/// The new API version, if it is all that changes.
fn replacement(object: &Object, replacement: Option<(&str, &str)>) -> Option<Replacement> {
    let (old, kind) = (object.name.api_version.as_str(), object.name.kind.as_str());
    let (new, _) = replacement.filter(|_| COMPATIBLE.contains(&(old, kind)))?;
    // An empty selector means all pods in the new version, and none in the old one.
    let selector = object.get(&["spec", "selector"]).and_then(Node::as_map);
    if kind == "PodDisruptionBudget" && selector.is_none_or(|selector| selector.is_empty()) {
        return None;
    }
    Some(Replacement { from: old.to_owned(), to: new.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_api_version_and_kind() {
        let ingress = deprecation("networking.k8s.io/v1beta1", "Ingress").unwrap();
        assert_eq!((ingress.deprecated, ingress.removed), ((1, 19), Some((1, 22))));
        assert_eq!(ingress.replacement, Some(("networking.k8s.io/v1", "Ingress")));
        assert!(deprecation("apps/v1", "Deployment").is_none());
        assert!(is_removed("policy/v1beta1", "PodSecurityPolicy", "1.36.1"));
        assert!(!is_removed("policy/v1beta1", "PodSecurityPolicy", "1.24"));
    }
}
