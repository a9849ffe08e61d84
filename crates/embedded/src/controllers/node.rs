//! The one simulated node.

use pintle_tree::Node;

use super::client::{Client, NODES};
use crate::api::meta::{map, set, unset};
use crate::status::Status;
use crate::store::key;

pub(super) const NAME: &str = "pintle";
pub(super) const ADDRESS: &str = "172.18.0.2";

/// Creates the node if it does not exist.
pub(super) async fn ensure(client: &Client<'_>) -> Result<(), Status> {
    let key = key("nodes", "", NAME);
    if client.get(&key).is_some() {
        return Ok(());
    }
    let labels = map([
        ("beta.kubernetes.io/arch", "amd64".into()),
        ("beta.kubernetes.io/os", "linux".into()),
        ("kubernetes.io/arch", "amd64".into()),
        ("kubernetes.io/hostname", NAME.into()),
        ("kubernetes.io/os", "linux".into()),
    ]);
    let metadata = map([("name", NAME.into()), ("labels", labels)]);
    let node = map([("apiVersion", "v1".into()), ("kind", "Node".into()), ("metadata", metadata)]);
    client.create(NODES, "", &node).await?;
    let now = client.api.timestamp();
    let version = format!("v{}", client.api.catalog().version());
    client.update(&key, |node| set_status(node, &now, &version)).await
}

fn set_status(node: &mut Node, now: &str, version: &str) {
    // Admission (`TaintNodesByCondition`) taints every new node as not ready; this one is ready at once.
    unset(node, &["spec", "taints"]);
    // The scheduler here does not compute what fits; these numbers are only shown.
    let resources = || {
        map([
            ("cpu", "64".into()),
            ("ephemeral-storage", "1Ti".into()),
            ("memory", "256Gi".into()),
            ("pods", "1000".into()),
        ])
    };
    set(node, &["status", "capacity"], resources());
    set(node, &["status", "allocatable"], resources());
    let address = |kind: &str, address: &str| map([("type", kind.into()), ("address", address.into())]);
    let addresses = vec![address("InternalIP", ADDRESS), address("Hostname", NAME)];
    set(node, &["status", "addresses"], addresses);
    set(node, &["status", "nodeInfo"], info(version));
    let condition = |kind: &str, is: bool, reason: &str, message: &str| {
        map([
            ("type", kind.into()),
            ("status", if is { "True" } else { "False" }.into()),
            ("lastHeartbeatTime", now.into()),
            ("lastTransitionTime", now.into()),
            ("reason", reason.into()),
            ("message", message.into()),
        ])
    };
    let conditions = vec![
        condition(
            "MemoryPressure",
            false,
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        condition("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", true, "KubeletReady", "kubelet is posting ready status"),
    ];
    set(node, &["status", "conditions"], conditions);
}

fn info(version: &str) -> Node {
    map([
        ("architecture", "amd64".into()),
        ("bootID", "".into()),
        ("containerRuntimeVersion", "pintle://0".into()),
        ("kernelVersion", "simulated".into()),
        ("kubeProxyVersion", "".into()),
        ("kubeletVersion", version.into()),
        ("machineID", "".into()),
        ("operatingSystem", "linux".into()),
        ("osImage", "simulated by pintle".into()),
        ("systemUUID", "".into()),
    ])
}
