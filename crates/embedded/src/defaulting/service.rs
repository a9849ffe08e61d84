//! Defaults of services.

use pintle_tree::{Map, Node};

use crate::fields::{each, inner, made, map_of, put, word};

pub(super) fn service(map: &mut Map<Node>) {
    let Some(spec) = made(map, "spec") else { return };
    put(spec, "sessionAffinity", "None");
    if word(spec, "sessionAffinity") == "None" {
        spec.remove("sessionAffinityConfig");
    }
    if word(spec, "sessionAffinity") == "ClientIP" && !has_timeout(spec) {
        let timeout = map_of(&[("timeoutSeconds", 10_800_i64.into())]);
        spec.insert("sessionAffinityConfig".into(), map_of(&[("clientIP", timeout)]));
    }
    put(spec, "type", "ClusterIP");
    each(spec, "ports", |port| {
        put(port, "protocol", "TCP");
        let is_unset = |target: &Node| matches!(target, Node::Int(0)) || target.as_str() == Some("");
        if port.get("targetPort").is_none_or(is_unset)
            && let Some(number) = port.get("port").cloned()
        {
            port.insert("targetPort".into(), number);
        }
    });
    let kind = word(spec, "type").to_owned();
    let is_outside = kind == "NodePort" || kind == "LoadBalancer";
    let has_external = inner_list(spec, "externalIPs") && kind == "ClusterIP";
    if (is_outside || has_external) && word(spec, "externalTrafficPolicy").is_empty() {
        put(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        put(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        put(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn has_timeout(spec: &mut Map<Node>) -> bool {
    let client = inner(spec, "sessionAffinityConfig").and_then(|config| inner(config, "clientIP"));
    client.is_some_and(|client| client.get("timeoutSeconds").is_some_and(|timeout| !timeout.is_nil()))
}

fn inner_list(spec: &Map<Node>, key: &str) -> bool {
    spec.get(key).and_then(Node::as_list).is_some_and(|list| !list.is_empty())
}
