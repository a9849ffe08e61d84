//! Controllers of Services (endpoints, load balancer addresses), Ingresses and PodDisruptionBudgets.

use pintle_tree::{Map, Node, Str};

use super::client::{ENDPOINTS, ResourcePath, SLICES};
use super::node;
use super::reconcile::{Request, Requeue};
use super::scale::scaled_value;
use super::status::{observe, set_condition};
use super::template::{hash_text, is_active, owner_reference, ready_since};
use crate::api::meta::{at, is_deleted, list_at, map, number_at, set, text_at};
use crate::status::Status;
use crate::store::{IndexHint, Object, ObjectMeta, key, prefix};

/// The annotation with which the endpoints controllers record when the change of the endpoints was triggered.
const LAST_CHANGE_TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// A label selector of equality requirements.
pub(super) type Labels = Vec<(Str, Str)>;

/// The selector of a Service or a PodDisruptionBudget. `matchExpressions` of budgets are not supported.
pub(super) fn selector(object: &Node) -> Labels {
    let selector = match text_at(object, &["kind"]) {
        "Service" => at(object, &["spec", "selector"]),
        _ => at(object, &["spec", "selector", "matchLabels"]),
    };
    let labels = selector.and_then(Node::as_map).into_iter().flat_map(Map::iter);
    labels.filter_map(|(name, value)| Some((name.clone(), value.as_text()?.clone()))).collect()
}

/// Whether a selector matches a pod. An empty selector matches nothing.
pub(super) fn selects(labels: &[(Str, Str)], pod: &ObjectMeta) -> bool {
    !labels.is_empty() && labels.iter().all(|pair| pod.labels.contains(pair))
}

fn selected_pods(request: &Request<'_>) -> Vec<Node> {
    let labels = selector(&request.object);
    let prefix = prefix("pods", Some(request.namespace()));
    let matches = |pod: &Object| selects(&labels, &pod.meta);
    let hint = IndexHint::Labels(labels.clone());
    let listing = request.client.api.store().find(&prefix, None, usize::MAX, None, (&hint, &matches));
    let pods = listing.map(|listing| listing.objects).unwrap_or_default();
    pods.iter().map(|pod| pod.node()).filter(|pod| !is_deleted(pod)).collect()
}

/// A load balancer address, derived from the uid so that it stays the same.
/// It is in the network of the node, above the addresses of containers.
fn load_balancer_ingress(uid: &str) -> Node {
    let number = hash_text(uid);
    map([("ip", format!("172.18.{}.{}", 200 + (number >> 8) % 50, number % 254 + 1).into())])
}

pub(super) async fn reconcile_service(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if request.text(&["spec", "type"]) == "LoadBalancer"
        && at(&request.object, &["status", "loadBalancer", "ingress"]).is_none()
    {
        let mut address = load_balancer_ingress(request.uid());
        set(&mut address, &["ipMode"], "VIP");
        request
            .client
            .update(request.key, |it| set(it, &["status", "loadBalancer", "ingress"], vec![address.clone()]))
            .await?;
        let source = "service-controller";
        request
            .client
            .record_event(&request.object, source, ("Normal", "EnsuredLoadBalancer"), "Ensured load balancer")
            .await?;
    }
    let has_selector =
        at(&request.object, &["spec", "selector"]).and_then(Node::as_map).is_some_and(|it| !it.is_empty());
    if !has_selector || request.text(&["spec", "type"]) == "ExternalName" {
        return Ok(None);
    }
    let pods: Vec<Node> = selected_pods(request)
        .into_iter()
        .filter(|pod| is_active(pod) && !text_at(pod, &["status", "podIP"]).is_empty())
        .collect();
    write_slice(request, &pods).await?;
    write_endpoints(request, &pods).await?;
    Ok(None)
}

/// Resolves the `targetPort` of a service port; named ports are looked up in the pods.
fn target_port(pods: &[Node], port: &Node) -> Option<i64> {
    match port.get("targetPort") {
        Some(Node::Int(number)) => Some(*number),
        Some(Node::Str(name)) => {
            let containers = pods.iter().flat_map(|pod| list_at(pod, &["spec", "containers"]));
            let mut ports = containers.flat_map(|container| list_at(container, &["ports"]));
            ports
                .find(|it| it.get("name").and_then(Node::as_text) == Some(name))
                .and_then(|it| number_at(it, &["containerPort"]))
        }
        _ => number_at(port, &["port"]),
    }
}

fn ports(request: &Request<'_>, pods: &[Node]) -> Vec<Node> {
    let port = |port: &Node| {
        let number = target_port(pods, port)?;
        let protocol = text_at(port, &["protocol"]);
        let mut entry = map([("port", Node::Int(number)), ("protocol", protocol.into())]);
        let name = text_at(port, &["name"]);
        set(&mut entry, &["name"], name);
        Some(entry)
    };
    list_at(&request.object, &["spec", "ports"]).iter().filter_map(port).collect()
}

fn target_reference(pod: &Node) -> Node {
    let text = |path: &[&str]| Node::from(text_at(pod, path));
    map([
        ("kind", "Pod".into()),
        ("name", text(&["metadata", "name"])),
        ("namespace", text(&["metadata", "namespace"])),
        ("uid", text(&["metadata", "uid"])),
    ])
}

async fn write_slice(request: &Request<'_>, pods: &[Node]) -> Result<(), Status> {
    let endpoint = |pod: &Node| {
        let ready = ready_since(pod).is_some();
        let conditions =
            map([("ready", ready.into()), ("serving", ready.into()), ("terminating", false.into())]);
        map([
            ("addresses", vec![Node::from(text_at(pod, &["status", "podIP"]))].into()),
            ("conditions", conditions),
            ("nodeName", node::NAME.into()),
            ("targetRef", target_reference(pod)),
        ])
    };
    let endpoints = Node::List(pods.iter().map(endpoint).collect());
    let ports = Node::List(ports(request, pods));
    let now = request.client.api.timestamp();
    let current = request.owned("endpointslices.discovery.k8s.io");
    if let Some(slice) = current.first() {
        let key = key(
            "endpointslices.discovery.k8s.io",
            request.namespace(),
            text_at(slice, &["metadata", "name"]),
        );
        let act = |it: &mut Node| {
            // The trigger time changes only with the endpoints. Otherwise every reconcile would write a new state,
            // which would enqueue the service again.
            if it.get("endpoints") != Some(&endpoints) || it.get("ports") != Some(&ports) {
                set(it, &["metadata", "annotations", LAST_CHANGE_TRIGGER], now.as_str());
            }
            set(it, &["endpoints"], endpoints.clone());
            set(it, &["ports"], ports.clone());
        };
        return request.client.update(&key, act).await;
    }
    let mut slice = map([
        ("apiVersion", "discovery.k8s.io/v1".into()),
        ("kind", "EndpointSlice".into()),
        ("addressType", "IPv4".into()),
        ("endpoints", endpoints),
        ("ports", ports),
    ]);
    set(&mut slice, &["metadata", "annotations", LAST_CHANGE_TRIGGER], now.as_str());
    set(&mut slice, &["metadata", "generateName"], format!("{}-", request.name()));
    set(&mut slice, &["metadata", "labels"], labels(request));
    set(&mut slice, &["metadata", "labels", "kubernetes.io/service-name"], request.name());
    set(
        &mut slice,
        &["metadata", "labels", "endpointslice.kubernetes.io/managed-by"],
        "endpointslice-controller.k8s.io",
    );
    set(&mut slice, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    create(request, SLICES, &slice).await
}

fn labels(request: &Request<'_>) -> Node {
    at(&request.object, &["metadata", "labels"]).cloned().unwrap_or_else(Node::empty_map)
}

/// Writes the legacy Endpoints object, which has the name of its Service and is deleted with it.
async fn write_endpoints(request: &Request<'_>, pods: &[Node]) -> Result<(), Status> {
    let address = |pod: &&Node| {
        map([
            ("ip", text_at(pod, &["status", "podIP"]).into()),
            ("nodeName", node::NAME.into()),
            ("targetRef", target_reference(pod)),
        ])
    };
    // Clients without EndpointSlices, such as `kubectl get endpoints`, expect pods that are not ready in a separate list.
    let (ready, not): (Vec<&Node>, Vec<&Node>) = pods.iter().partition(|pod| ready_since(pod).is_some());
    let mut subset = Map::new();
    for (field, pods) in [("addresses", ready), ("notReadyAddresses", not)] {
        if !pods.is_empty() {
            subset.insert(Str::from(field), Node::List(pods.iter().map(address).collect()));
        }
    }
    let empty = subset.is_empty();
    subset.insert("ports".into(), Node::List(ports(request, pods)));
    let subsets = Node::List(if empty { Vec::new() } else { vec![Node::Map(subset)] });
    let now = request.client.api.timestamp();
    let key = key("endpoints", request.namespace(), request.name());
    if request.client.get(&key).is_some() {
        let act = |it: &mut Node| {
            if it.get("subsets") != Some(&subsets) {
                set(it, &["metadata", "annotations", LAST_CHANGE_TRIGGER], now.as_str());
            }
            set(it, &["subsets"], subsets.clone());
        };
        return request.client.update(&key, act).await;
    }
    let mut endpoints =
        map([("apiVersion", "v1".into()), ("kind", "Endpoints".into()), ("subsets", subsets)]);
    set(&mut endpoints, &["metadata", "name"], request.name());
    set(&mut endpoints, &["metadata", "annotations", LAST_CHANGE_TRIGGER], now.as_str());
    set(&mut endpoints, &["metadata", "labels"], labels(request));
    set(&mut endpoints, &["metadata", "labels", "endpoints.kubernetes.io/managed-by"], "endpoint-controller");
    set(&mut endpoints, &["metadata", "ownerReferences"], vec![owner_reference(&request.object)]);
    create(request, ENDPOINTS, &endpoints).await
}

async fn create(request: &Request<'_>, resource: ResourcePath, object: &Node) -> Result<(), Status> {
    match request.client.create(resource, request.namespace(), object).await {
        Ok(_) => Ok(()),
        // Created by an earlier reconcile that did not finish, or by a client.
        Err(error) if error.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Assigns an address in place of an ingress controller, which does not run here: charts wait for the address.
pub(super) async fn reconcile_ingress(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let address = load_balancer_ingress("ingress");
    if at(&request.object, &["status", "loadBalancer", "ingress"]).is_none() {
        request
            .client
            .update(request.key, |it| set(it, &["status", "loadBalancer", "ingress"], vec![address.clone()]))
            .await?;
    }
    Ok(None)
}

/// Counts the selected pods and the disruptions that are allowed.
pub(super) async fn reconcile_disruption_budget(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    let pods = selected_pods(request);
    let all = i64::try_from(pods.iter().filter(|pod| is_active(pod)).count()).unwrap_or(0);
    let healthy = i64::try_from(pods.iter().filter(|pod| ready_since(pod).is_some()).count()).unwrap_or(0);
    let least = match (
        at(&request.object, &["spec", "minAvailable"]),
        at(&request.object, &["spec", "maxUnavailable"]),
    ) {
        // Both round up, as the real controller: with fractions, rather one pod too many is kept (`minAvailable`) or
        // may be evicted (`maxUnavailable`) than none.
        (Some(least), _) => scaled_value(Some(least), all, true),
        (_, Some(most)) => (all - scaled_value(Some(most), all, true)).max(0),
        _ => 0,
    };
    let allowed = (healthy - least).max(0);
    let now = request.client.api.timestamp();
    let act = |it: &mut Node| {
        let counts = [
            ("currentHealthy", healthy),
            ("desiredHealthy", least),
            ("disruptionsAllowed", allowed),
            ("expectedPods", all),
        ];
        for (field, number) in counts {
            set(it, &["status", field], Node::Int(number));
        }
        observe(it, &request.object);
        let reason = if allowed > 0 { "SufficientPods" } else { "InsufficientPods" };
        set_condition(it, ("DisruptionAllowed", allowed > 0, reason, ""), &now);
    };
    request.client.update(request.key, act).await?;
    Ok(None)
}
