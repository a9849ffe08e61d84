//! Helm's install and uninstall order of kinds (`kind_sorter.go`).

use pintle_tree::Str;

/// Which of the two orders applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Namespaces and accounts before what depends on them.
    #[default]
    Install,
    /// Roughly the reverse.
    Uninstall,
}

/// The install order. Kinds that are not listed come last, by name.
const INSTALL: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// The uninstall order. Not quite the reverse: a Service goes before what it routes to.
const UNINSTALL: [&str; 38] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

impl Order {
    /// The kinds of this order, first to last.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            Order::Install => &INSTALL,
            Order::Uninstall => &UNINSTALL,
        }
    }

    /// A sort key: listed kinds by position, others after them by name.
    pub(crate) fn rank(self, kind: &Str) -> (usize, Str) {
        match self.kinds().iter().position(|known| kind == known) {
            Some(position) => (position, Str::EMPTY),
            // Listed kinds have no name in the key, so that a stable sort keeps the order of their files.
            None => (usize::MAX, kind.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_come_last_by_name() {
        let mut kinds: Vec<Str> = ["Zebra", "Job", "", "Apple", "Namespace"].map(Str::from).to_vec();
        kinds.sort_by_cached_key(|kind| Order::Install.rank(kind));
        assert_eq!(kinds, ["Namespace", "Job", "", "Apple", "Zebra"].map(Str::from));
    }

    #[test]
    fn both_orders_know_the_same_kinds() {
        let mut install = INSTALL;
        let mut uninstall = UNINSTALL;
        install.sort_unstable();
        uninstall.sort_unstable();
        assert_eq!(install, uninstall);
    }
}
