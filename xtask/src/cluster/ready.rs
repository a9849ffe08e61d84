//! Waits until a cluster is ready, and reports the log if it does not become so.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::api::Api;
use super::components::log;
use super::state::Cluster;
use crate::shell::root;

const LIMIT: Duration = Duration::from_secs(120);

/// The objects that every cluster starts with.
const OBJECTS: [(&str, &str); 2] = [
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/apiserver-asks-kubelet",
        "testbed/objects/kubelet-access.yaml",
    ),
    ("/apis/storage.k8s.io/v1/storageclasses/standard", "testbed/objects/storage.yaml"),
];

/// Waits until the API server answers, and creates the initial objects.
pub(super) fn server(cluster: &Cluster) -> Result<()> {
    let api = Api::new(&cluster.server, &cluster.folder);
    wait(cluster, "the API server", "kube-apiserver", || api.is_ready())?;
    OBJECTS.into_iter().try_for_each(|(path, file)| api.apply(path, &root().join(file)))
}

/// Waits until the controllers work: pods can be created once each namespace has its service account.
pub(super) fn controllers(cluster: &Cluster) -> Result<()> {
    let api = Api::new(&cluster.server, &cluster.folder);
    wait(cluster, "the controllers", "kube-controller-manager", || {
        api.read("/api/v1/namespaces/default/serviceaccounts/default").is_some()
    })
}

/// Waits until pods can be scheduled on the node.
pub(super) fn node(cluster: &Cluster) -> Result<()> {
    let api = Api::new(&cluster.server, &cluster.folder);
    wait(cluster, "the node", "kubelet", || {
        api.read("/api/v1/nodes/node1").is_some_and(|node| takes_pods(&node))
    })
}

/// Whether a node is ready and has no taints.
fn takes_pods(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    node["spec"]["taints"].is_null() && conditions.is_some_and(|all| all.iter().any(ready))
}

/// Waits until `check` is true; on timeout, the error has the end of the component's log.
pub(super) fn wait(cluster: &Cluster, what: &str, part: &str, mut check: impl FnMut() -> bool) -> Result<()> {
    let limit = Instant::now() + LIMIT;
    loop {
        if check() {
            return Ok(());
        }
        if let Some(name) = cluster.ended() {
            bail!("{name} has ended\n{}", tail(&log(&cluster.folder, name)));
        }
        if Instant::now() > limit {
            bail!("{what} is not ready after {LIMIT:?}\n{}", tail(&log(&cluster.folder, part)));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The end of a log, and where the rest is.
fn tail(path: &Path) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(15)..].join("\n");
    format!("{last}\n(all of it: {})", path.display())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_takes_pods_when_it_is_ready_and_free_of_taints() {
        let ready = json!([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        assert!(takes_pods(&json!({"spec": {}, "status": {"conditions": ready}})));
        let taints = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        assert!(!takes_pods(&json!({"spec": {"taints": taints}, "status": {"conditions": ready}})));
        assert!(!takes_pods(&json!({"spec": {}, "status": {}})));
    }
}
