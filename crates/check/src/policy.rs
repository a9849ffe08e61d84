//! Policy rules: what is valid, and still a mistake. Rules that kube-linter also has keep its names and meaning.

mod access;
mod container;
mod hook;
mod pod;
mod references;
mod workload;

use pintle_tree::Node;

use crate::document::{Object, get};
use crate::scope::Scope;

pub(crate) use references::Relations;

/// Applies all rules that need nothing but the object.
pub(crate) fn check(scope: &mut Scope<'_>, object: &Object) {
    if let Some(pod) = Pod::of(object) {
        container::check(scope, &pod);
        pod::check(scope, &pod);
        workload::check(scope, &pod);
    }
    access::check(scope, object);
    hook::check(scope, object);
    references::autoscaler(scope, object);
}

/// The pod of a workload.
pub(crate) struct Pod<'o> {
    pub(crate) object: &'o Object,
    /// The pod template: `metadata` and `spec`.
    pub(crate) template: &'o Node,
    pub(crate) spec: &'o Node,
    /// The JSON pointer of the spec.
    pub(crate) pointer: String,
}

impl<'o> Pod<'o> {
    pub(crate) fn of(object: &'o Object) -> Option<Self> {
        let path: &[&str] = match object.name.kind.as_str() {
            "Pod" => &[],
            "CronJob" => &["spec", "jobTemplate", "spec", "template"],
            "Deployment"
            | "StatefulSet"
            | "DaemonSet"
            | "ReplicaSet"
            | "ReplicationController"
            | "Job"
            | "DeploymentConfig"
            | "Rollout" => &["spec", "template"],
            _ => return None,
        };
        let template = object.get(path)?;
        let pointer: String = path.iter().map(|key| format!("/{key}")).collect();
        Some(Pod { object, template, spec: template.get("spec")?, pointer: format!("{pointer}/spec") })
    }

    /// The containers with the pointers to them; init containers too if asked.
    pub(crate) fn containers(&self, with_init: bool) -> impl Iterator<Item = Container<'o>> {
        let lists: &[&str] = if with_init { &["initContainers", "containers"] } else { &["containers"] };
        let (spec, pointer) = (self.spec, self.pointer.clone());
        lists.iter().flat_map(move |list| {
            let items = spec.get(list).and_then(Node::as_list).unwrap_or_default();
            let pointer = pointer.clone();
            items.iter().enumerate().map(move |(index, node)| Container {
                node,
                pointer: format!("{pointer}/{list}/{index}"),
                // An init container that is always restarted is a sidecar.
                is_init: *list == "initContainers" && node.get("restartPolicy").is_none(),
            })
        })
    }

    /// The labels of the pods.
    pub(crate) fn labels(&self) -> Option<&'o Node> {
        get(self.template, &["metadata", "labels"])
    }
}

/// A container of a pod.
pub(crate) struct Container<'o> {
    pub(crate) node: &'o Node,
    pub(crate) pointer: String,
    pub(crate) is_init: bool,
}

impl<'o> Container<'o> {
    pub(crate) fn name(&self) -> &'o str {
        self.node.get("name").and_then(Node::as_str).unwrap_or_default()
    }

    pub(crate) fn list(&self, key: &str) -> &'o [Node] {
        self.node.get(key).and_then(Node::as_list).unwrap_or_default()
    }
}

/// The text of a field; empty if there is none.
pub(crate) fn text<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    get(node, path).and_then(Node::as_str).unwrap_or_default()
}

/// The number of a field.
pub(crate) fn number(node: &Node) -> Option<i64> {
    match node {
        Node::Int(value) => Some(*value),
        Node::Float(value) if value.fract() == 0.0 => Some(*value as i64),
        _ => None,
    }
}

/// Whether labels have everything that a map of labels asks for. An empty selector selects nothing here.
pub(crate) fn selects(selector: &Node, labels: Option<&Node>) -> bool {
    let Some(selector) = selector.as_map().filter(|selector| !selector.is_empty()) else { return false };
    let Some(labels) = labels.and_then(Node::as_map) else { return false };
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}
