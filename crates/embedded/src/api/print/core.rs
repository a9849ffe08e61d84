//! Table cells of the core group.

use pintle_tree::Node;

use super::{PrintRow, labels};
use crate::api::meta::{at, list_at, number_at, text_at};

pub(super) fn cells(kind: &str, row: &PrintRow<'_>) -> Option<Vec<Node>> {
    let name = row.name();
    Some(match kind {
        "Pod" => pod(row),
        "Service" => service(row),
        "ConfigMap" => vec![name, Node::Int(row.count(&["data"]) + row.count(&["binaryData"])), row.age()],
        "Secret" => vec![name, row.text(&["type"]).into(), Node::Int(row.count(&["data"])), row.age()],
        "ServiceAccount" => vec![name, row.age()],
        "Namespace" => vec![name, row.text(&["status", "phase"]).into(), row.age()],
        "PersistentVolumeClaim" => claim(row),
        "PersistentVolume" => volume(row),
        "Event" => event(row),
        "Node" => node(row),
        "Endpoints" => vec![name, endpoints(row.object).into(), row.age()],
        "ReplicationController" => {
            let mut cells = vec![
                name,
                Node::Int(row.number(&["spec", "replicas"])),
                Node::Int(row.number(&["status", "replicas"])),
                Node::Int(row.number(&["status", "readyReplicas"])),
                row.age(),
            ];
            cells.extend(row.containers(&["spec", "template", "spec", "containers"]));
            cells.push(row.labels(&["spec", "selector"]));
            cells
        }
        "ResourceQuota" => quota(row),
        "PodTemplate" => {
            let mut cells = vec![name];
            cells.extend(row.containers(&["template", "spec", "containers"]));
            cells.push(row.labels(&["template", "metadata", "labels"]));
            cells
        }
        _ => return None,
    })
}

/// The summary of a pod's containers, as in the columns READY, STATUS and RESTARTS.
struct Containers {
    ready: i64,
    restarts: i64,
    reason: String,
}

fn pod(row: &PrintRow<'_>) -> Vec<Node> {
    let pod = row.object;
    let restartable = |container: &&Node| text_at(container, &["restartPolicy"]) == "Always";
    // Sidecars run for as long as the pod and count for READY; other init containers do not.
    let sidecars = list_at(pod, &["spec", "initContainers"]).iter().filter(restartable).count();
    let total = list_at(pod, &["spec", "containers"]).len() + sidecars;
    let state = containers(row);
    let or_none = |text: &str| Node::from(if text.is_empty() { "<none>" } else { text });
    vec![
        row.name(),
        format!("{}/{total}", state.ready).into(),
        state.reason.clone().into(),
        restarts(row, state.restarts).into(),
        row.age(),
        or_none(list_at(pod, &["status", "podIPs"]).first().map_or("", |address| text_at(address, &["ip"]))),
        or_none(row.text(&["spec", "nodeName"])),
        or_none(row.text(&["status", "nominatedNodeName"])),
        readiness_gates(row).into(),
    ]
}

fn readiness_gates(row: &PrintRow<'_>) -> String {
    let gates = list_at(row.object, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| row.has_condition(text_at(gate, &["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}

fn restarts(row: &PrintRow<'_>, count: i64) -> String {
    let statuses = list_at(row.object, &["status", "containerStatuses"]).iter();
    let last = statuses
        .map(|status| text_at(status, &["lastState", "terminated", "finishedAt"]))
        .max()
        .unwrap_or_default();
    if count == 0 || last.is_empty() {
        return count.to_string();
    }
    format!("{count} ({} ago)", super::since(last, row.now))
}

fn containers(row: &PrintRow<'_>) -> Containers {
    let pod = row.object;
    let phase = row.text(&["status", "phase"]).to_owned();
    let reason = row.text(&["status", "reason"]);
    let mut state = Containers {
        ready: 0,
        restarts: 0,
        reason: if reason.is_empty() { phase.clone() } else { reason.to_owned() },
    };
    let gated = list_at(pod, &["status", "conditions"])
        .iter()
        .any(|it| text_at(it, &["type"]) == "PodScheduled" && text_at(it, &["reason"]) == "SchedulingGated");
    if gated {
        "SchedulingGated".clone_into(&mut state.reason);
    }
    let initializing = initial_containers(pod, &mut state);
    if !initializing || row.has_condition("Initialized") {
        main_containers(row, &mut state);
    }
    let ended = matches!(phase.as_str(), "Succeeded" | "Failed");
    if row.is_deleted() && reason == "NodeLost" {
        "Unknown".clone_into(&mut state.reason);
    } else if row.is_deleted() && !ended {
        "Terminating".clone_into(&mut state.reason);
    }
    state
}

/// Summarizes init containers up to the first that has not completed. Returns whether there is one.
fn initial_containers(pod: &Node, state: &mut Containers) -> bool {
    let specs = list_at(pod, &["spec", "initContainers"]);
    for (index, status) in list_at(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        state.restarts += number_at(status, &["restartCount"]).unwrap_or(0);
        let name = text_at(status, &["name"]);
        let sidecar = specs
            .iter()
            .any(|it| text_at(it, &["name"]) == name && text_at(it, &["restartPolicy"]) == "Always");
        let terminated = at(status, &["state", "terminated"]);
        let waiting = text_at(status, &["state", "waiting", "reason"]);
        if terminated.is_some_and(|ended| number_at(ended, &["exitCode"]).unwrap_or(0) == 0) {
            continue;
        }
        if sidecar && status.get("started").and_then(Node::as_bool) == Some(true) {
            state.ready += i64::from(status.get("ready").and_then(Node::as_bool) == Some(true));
            continue;
        }
        state.reason = match terminated {
            Some(ended) => format!("Init:{}", end_reason(ended)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", specs.len()),
        };
        return true;
    }
    false
}

fn end_reason(ended: &Node) -> String {
    let reason = text_at(ended, &["reason"]);
    match number_at(ended, &["signal"]).unwrap_or(0) {
        _ if !reason.is_empty() => reason.to_owned(),
        0 => format!("ExitCode:{}", number_at(ended, &["exitCode"]).unwrap_or(0)),
        signal => format!("Signal:{signal}"),
    }
}

fn main_containers(row: &PrintRow<'_>, state: &mut Containers) {
    let (mut running, mut failure) = (false, String::new());
    // Restarts of init containers are shown only while these run.
    state.restarts = 0;
    // From the last to the first, as `printPod`, so that the reason of the first container wins.
    for status in list_at(row.object, &["status", "containerStatuses"]).iter().rev() {
        state.restarts += number_at(status, &["restartCount"]).unwrap_or(0);
        let waiting = text_at(status, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut state.reason);
        } else if let Some(ended) = at(status, &["state", "terminated"]) {
            state.reason = end_reason(ended);
            if number_at(ended, &["exitCode"]).unwrap_or(0) != 0 {
                failure.clone_from(&state.reason);
            }
        } else if status.get("ready").and_then(Node::as_bool) == Some(true)
            && at(status, &["state", "running"]).is_some()
        {
            running = true;
            state.ready += 1;
        }
    }
    if state.reason != "Completed" {
        return;
    }
    // `Completed` is the state of one container; the pod as a whole may well be running.
    if running && row.has_condition("Ready") {
        "Running".clone_into(&mut state.reason);
    } else if !failure.is_empty() {
        state.reason = failure;
    } else if running {
        "NotReady".clone_into(&mut state.reason);
    }
}

fn service(row: &PrintRow<'_>) -> Vec<Node> {
    let object = row.object;
    let texts = |path: &[&str]| {
        list_at(object, path).iter().filter_map(Node::as_str).map(str::to_owned).collect::<Vec<String>>()
    };
    let external_addresses = texts(&["spec", "externalIPs"]);
    let joined = |texts: &[String], otherwise: &str| {
        if texts.is_empty() { otherwise.to_owned() } else { texts.join(",") }
    };
    let external = match row.text(&["spec", "type"]) {
        "ClusterIP" | "NodePort" => joined(&external_addresses, "<none>"),
        "LoadBalancer" => {
            let mut all = load_balancer_addresses(object);
            all.extend(external_addresses);
            joined(&all, "<pending>")
        }
        "ExternalName" => row.text(&["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    };
    let ports: Vec<String> = list_at(object, &["spec", "ports"]).iter().map(port).collect();
    vec![
        row.name(),
        row.text(&["spec", "type"]).into(),
        texts(&["spec", "clusterIPs"]).first().cloned().unwrap_or_else(|| "<none>".to_owned()).into(),
        external.into(),
        joined(&ports, "<none>").into(),
        row.age(),
        labels(at(object, &["spec", "selector"])).into(),
    ]
}

/// The distinct addresses in `status.loadBalancer`.
pub(super) fn load_balancer_addresses(object: &Node) -> Vec<String> {
    let addresses = list_at(object, &["status", "loadBalancer", "ingress"]).iter().map(|entry| {
        let address = text_at(entry, &["ip"]);
        if address.is_empty() { text_at(entry, &["hostname"]) } else { address }.to_owned()
    });
    let mut addresses: Vec<String> = addresses.filter(|address| !address.is_empty()).collect();
    // `printService` collects them in a set, which Go's helpers list in order.
    addresses.sort();
    addresses.dedup();
    addresses
}

fn port(port: &Node) -> String {
    let number = |field: &str| number_at(port, &[field]).unwrap_or(0);
    let protocol = text_at(port, &["protocol"]);
    match number("nodePort") {
        0 => format!("{}/{protocol}", number("port")),
        node_port => format!("{}:{node_port}/{protocol}", number("port")),
    }
}

/// Access modes by their abbreviations, such as `RWO`.
fn access_modes(modes: &[Node]) -> String {
    let all = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let present = all.iter().filter(|(mode, _)| modes.iter().any(|it| it.as_str() == Some(mode)));
    present.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn claim(row: &PrintRow<'_>) -> Vec<Node> {
    let phase = if row.is_deleted() { "Terminating" } else { row.text(&["status", "phase"]) };
    let volume = row.text(&["spec", "volumeName"]);
    let bound = !volume.is_empty();
    let modes =
        if bound { access_modes(list_at(row.object, &["status", "accessModes"])) } else { String::new() };
    vec![
        row.name(),
        phase.into(),
        volume.into(),
        if bound { row.value_text(&["status", "capacity", "storage"], "0") } else { "".into() },
        modes.into(),
        row.text(&["spec", "storageClassName"]).into(),
        row.text_or(&["spec", "volumeAttributesClassName"], "<unset>"),
        row.age(),
        row.text_or(&["spec", "volumeMode"], "<unset>"),
    ]
}

fn volume(row: &PrintRow<'_>) -> Vec<Node> {
    let claim = at(row.object, &["spec", "claimRef"]);
    let claim =
        claim.map(|claim| format!("{}/{}", text_at(claim, &["namespace"]), text_at(claim, &["name"])));
    let phase = if row.is_deleted() { "Terminating" } else { row.text(&["status", "phase"]) };
    vec![
        row.name(),
        row.value_text(&["spec", "capacity", "storage"], "0"),
        access_modes(list_at(row.object, &["spec", "accessModes"])).into(),
        row.text(&["spec", "persistentVolumeReclaimPolicy"]).into(),
        phase.into(),
        claim.unwrap_or_default().into(),
        row.text(&["spec", "storageClassName"]).into(),
        row.text_or(&["spec", "volumeAttributesClassName"], "<unset>"),
        row.text(&["status", "reason"]).into(),
        row.age(),
        row.text_or(&["spec", "volumeMode"], "<unset>"),
    ]
}

/// An event of either group; the field names differ.
pub(super) fn event(row: &PrintRow<'_>) -> Vec<Node> {
    let either = |core: &[&str], own: &[&str]| {
        let text = row.text(core);
        if text.is_empty() { row.text(own).to_owned() } else { text.to_owned() }
    };
    let since = |text: &str| super::since(text, row.now);
    let event_time = row.text(&["eventTime"]).to_owned();
    let first = either(&["firstTimestamp"], &["deprecatedFirstTimestamp"]);
    let first = since(if first.is_empty() { &event_time } else { &first });
    let last = either(&["lastTimestamp"], &["deprecatedLastTimestamp"]);
    let mut last = if last.is_empty() { first.clone() } else { since(&last) };
    let count = row.number(&["count"]).max(row.number(&["deprecatedCount"]));
    // Events of the new group have no count until they become a series.
    let mut count = count.max(1);
    if at(row.object, &["series"]).is_some_and(|series| !series.is_nil()) {
        last = since(row.text(&["series", "lastObservedTime"]));
        count = row.number(&["series", "count"]);
    }
    let kind = either(&["involvedObject", "kind"], &["regarding", "kind"]).to_lowercase();
    let name = either(&["involvedObject", "name"], &["regarding", "name"]);
    let target = if name.is_empty() { kind } else { format!("{kind}/{name}") };
    let component = either(&["source", "component"], &["deprecatedSource", "component"]);
    let reporter = either(&["reportingComponent"], &["reportingController"]);
    let component = if component.is_empty() { reporter } else { component };
    let host = either(&["source", "host"], &["deprecatedSource", "host"]);
    let host = if host.is_empty() { row.text(&["reportingInstance"]).to_owned() } else { host };
    let source = if host.is_empty() { component } else { format!("{component}, {host}") };
    vec![
        last.into(),
        row.text(&["type"]).into(),
        row.text(&["reason"]).into(),
        target.into(),
        either(&["involvedObject", "fieldPath"], &["regarding", "fieldPath"]).into(),
        source.into(),
        either(&["message"], &["note"]).trim().into(),
        first.into(),
        Node::Int(count),
        row.name(),
    ]
}

fn node(row: &PrintRow<'_>) -> Vec<Node> {
    let conditions = list_at(row.object, &["status", "conditions"]);
    let ready = conditions.iter().find(|condition| text_at(condition, &["type"]) == "Ready");
    let mut status = match ready.map(|condition| text_at(condition, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if at(row.object, &["spec", "unschedulable"]).and_then(Node::as_bool) == Some(true) {
        status.push_str(",SchedulingDisabled");
    }
    let all = at(row.object, &["metadata", "labels"]).and_then(Node::as_map);
    let roles = all.into_iter().flat_map(pintle_tree::Map::iter);
    let roles = roles
        .filter_map(|(key, _)| key.as_str()?.strip_prefix("node-role.kubernetes.io/").map(str::to_owned));
    let roles = roles.filter(|role| !role.is_empty()).collect::<Vec<_>>().join(",");
    let address = |kind: &str| {
        let all = list_at(row.object, &["status", "addresses"]);
        let found = all.iter().find(|address| text_at(address, &["type"]) == kind);
        Node::from(found.map_or("<none>", |address| text_at(address, &["address"])))
    };
    let kernel = row.text(&["status", "nodeInfo", "kernelVersion"]);
    let architecture = row.text(&["status", "nodeInfo", "architecture"]);
    let kernel = if kernel.is_empty() { "<unknown>" } else { kernel };
    let kernel =
        if architecture.is_empty() { kernel.to_owned() } else { format!("{kernel} ({architecture})") };
    vec![
        row.name(),
        status.into(),
        if roles.is_empty() { "<none>".into() } else { roles.into() },
        row.age(),
        row.text(&["status", "nodeInfo", "kubeletVersion"]).into(),
        address("InternalIP"),
        address("ExternalIP"),
        row.text_or(&["status", "nodeInfo", "osImage"], "<unknown>"),
        kernel.into(),
        row.text_or(&["status", "nodeInfo", "containerRuntimeVersion"], "<unknown>"),
    ]
}

fn endpoints(object: &Node) -> String {
    // As `formatEndpoints` of the real printer.
    const MOST: usize = 3;
    let mut all = Vec::new();
    for subset in list_at(object, &["subsets"]) {
        let addresses: Vec<&str> =
            list_at(subset, &["addresses"]).iter().map(|it| text_at(it, &["ip"])).collect();
        let ports = list_at(subset, &["ports"]);
        if ports.is_empty() {
            all.extend(addresses.iter().map(|address| (*address).to_owned()));
        }
        for port in ports {
            let port = number_at(port, &["port"]).unwrap_or(0);
            all.extend(addresses.iter().map(|address| {
                if address.contains(':') {
                    format!("[{address}]:{port}")
                } else {
                    format!("{address}:{port}")
                }
            }));
        }
    }
    shortened(&all, MOST)
}

/// The first few, and the number of the others.
pub(super) fn shortened(all: &[String], most: usize) -> String {
    if all.is_empty() {
        return "<none>".to_owned();
    }
    let shown = all[..all.len().min(most)].join(",");
    if all.len() > most { format!("{shown} + {} more...", all.len() - most) } else { shown }
}

fn quota(row: &PrintRow<'_>) -> Vec<Node> {
    let hard = at(row.object, &["status", "hard"]).and_then(Node::as_map);
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, _) in hard.into_iter().flat_map(pintle_tree::Map::iter) {
        let name = name.to_str_lossy();
        let amount = |which: &str| match row.value_text(&["status", which, &name], "0") {
            Node::Str(text) => text.to_string(),
            _ => "0".to_owned(),
        };
        let text = format!("{name}: {}/{}", amount("used"), amount("hard"));
        if name.starts_with("limits.") { limits.push(text) } else { requests.push(text) }
    }
    vec![row.name(), requests.join(", ").into(), limits.join(", ").into(), row.age()]
}
