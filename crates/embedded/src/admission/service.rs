//! Services: allocation of cluster IPs and node ports, and IP families.

use pintle_tree::{Map, Node};

use super::AdmissionContext;
use crate::fields::{at, for_each_map, int, list, map_of, map_or_insert, set_default, str_of, text};

/// Mutates a service; `live` is the existing one of an update.
pub(super) fn mutate(object: &mut Node, live: Option<&Node>, context: &mut dyn AdmissionContext) {
    if live.is_none()
        && let Some(map) = object.as_map_mut()
    {
        map.insert("status".into(), map_of(&[("loadBalancer", Node::empty_map())]));
    }
    let Some(spec) = object.as_map_mut().and_then(|object| map_or_insert(object, "spec")) else { return };
    if let Some(live) = live {
        retain_allocated(spec, live);
    }
    let kind = str_of(spec, "type").to_owned();
    if kind == "ExternalName" {
        // An ExternalName has no addresses, even if the service had another type before.
        for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            spec.remove(name);
        }
        return;
    }
    families(spec);
    addresses(spec, context);
    let has_ports = kind == "NodePort" || (kind == "LoadBalancer" && allocates(spec));
    if has_ports {
        node_ports(spec, context);
    } else if kind == "ClusterIP" && live.is_some_and(|live| text(live, &["spec", "type"]) != "ClusterIP") {
        for_each_map(spec, "ports", |port| drop(port.remove("nodePort")));
    }
    if kind == "LoadBalancer" && str_of(spec, "externalTrafficPolicy") == "Local" {
        if matches!(spec.get("healthCheckNodePort"), None | Some(Node::Int(0))) {
            spec.insert("healthCheckNodePort".into(), i64::from(context.node_port()).into());
        }
    } else {
        spec.remove("healthCheckNodePort");
    }
}

fn allocates(spec: &Map<Node>) -> bool {
    spec.get("allocateLoadBalancerNodePorts").and_then(Node::as_bool).unwrap_or(true)
}

/// Keeps what was allocated to the service and is omitted from the update.
fn retain_allocated(spec: &mut Map<Node>, live: &Node) {
    let was = text(live, &["spec", "type"]);
    let is_outside = |kind: &str| kind == "NodePort" || kind == "LoadBalancer";
    if was != "ExternalName" && str_of(spec, "type") != "ExternalName" {
        // As `patchAllocatedValues` of the real server: clients send Services without the address that they were
        // given, and the immutable field is filled in instead of rejected.
        if str_of(spec, "clusterIP").is_empty() {
            keep(spec, live, "clusterIP");
        }
        for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            keep(spec, live, name);
        }
    }
    if is_outside(was) && is_outside(str_of(spec, "type")) {
        let before = list(live, &["spec", "ports"]).to_vec();
        for_each_map(spec, "ports", |port| {
            if !matches!(port.get("nodePort"), None | Some(Node::Int(0))) {
                return;
            }
            let own = Node::Map(port.clone());
            // Ports correspond by number and protocol, as their names may change.
            let same = |other: &&Node| {
                int(other, &["port"]) == int(&own, &["port"])
                    && text(other, &["protocol"]) == text(&own, &["protocol"])
            };
            if let Some(number) = before.iter().find(same).and_then(|other| at(other, &["nodePort"])) {
                port.insert("nodePort".into(), number.clone());
            }
        });
    }
    if was == "LoadBalancer" && str_of(spec, "type") == "LoadBalancer" {
        keep(spec, live, "healthCheckNodePort");
    }
}

fn keep(spec: &mut Map<Node>, live: &Node, name: &str) {
    if let Some(value) = at(live, &["spec", name]) {
        set_default(spec, name, value.clone());
    }
}

/// A headless service without a selector may have endpoints of both families.
fn families(spec: &mut Map<Node>) {
    let free = str_of(spec, "clusterIP") == "None"
        && spec.get("selector").and_then(Node::as_map).is_none_or(Map::is_empty)
        && spec.get("ipFamilyPolicy").is_none_or(Node::is_nil)
        && spec.get("ipFamilies").is_none_or(Node::is_nil);
    if free {
        spec.insert("ipFamilyPolicy".into(), "RequireDualStack".into());
        spec.insert("ipFamilies".into(), Node::List(vec!["IPv4".into(), "IPv6".into()]));
        return;
    }
    // The cluster is single-stack, so `PreferDualStack` gets one family.
    set_default(spec, "ipFamilyPolicy", "SingleStack");
    set_default(spec, "ipFamilies", Node::List(vec!["IPv4".into()]));
}

fn addresses(spec: &mut Map<Node>, context: &mut dyn AdmissionContext) {
    if str_of(spec, "clusterIP").is_empty() {
        let first = spec.get("clusterIPs").and_then(Node::as_list).and_then(<[Node]>::first);
        let address = match first.and_then(Node::as_str).filter(|first| !first.is_empty()) {
            Some(first) => first.to_owned(),
            None => context.cluster_ip(),
        };
        spec.insert("clusterIP".into(), address.into());
    }
    let address = Node::from(str_of(spec, "clusterIP"));
    set_default(spec, "clusterIPs", Node::List(vec![address]));
}

fn node_ports(spec: &mut Map<Node>, context: &mut dyn AdmissionContext) {
    for_each_map(spec, "ports", |port| {
        if matches!(port.get("nodePort"), None | Some(Node::Int(0))) {
            port.insert("nodePort".into(), i64::from(context.node_port()).into());
        }
    });
}
