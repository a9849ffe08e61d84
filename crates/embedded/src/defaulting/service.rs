//! Defaults of services.

use pintle_tree::{Map, Node};

use crate::fields::{for_each_map, map_mut, map_of, map_or_insert, set_default, str_of};

pub(super) fn service(map: &mut Map<Node>) {
    let Some(spec) = map_or_insert(map, "spec") else { return };
    set_default(spec, "sessionAffinity", "None");
    if str_of(spec, "sessionAffinity") == "None" {
        spec.remove("sessionAffinityConfig");
    }
    if str_of(spec, "sessionAffinity") == "ClientIP" && !has_timeout(spec) {
        // Three hours (`DefaultClientIPServiceAffinitySeconds`).
        let timeout = map_of(&[("timeoutSeconds", 10_800_i64.into())]);
        spec.insert("sessionAffinityConfig".into(), map_of(&[("clientIP", timeout)]));
    }
    set_default(spec, "type", "ClusterIP");
    for_each_map(spec, "ports", |port| {
        set_default(port, "protocol", "TCP");
        let is_unset = |target: &Node| matches!(target, Node::Int(0)) || target.as_str() == Some("");
        if port.get("targetPort").is_none_or(is_unset)
            && let Some(number) = port.get("port").cloned()
        {
            port.insert("targetPort".into(), number);
        }
    });
    let kind = str_of(spec, "type").to_owned();
    let is_outside = kind == "NodePort" || kind == "LoadBalancer";
    let has_external = inner_list(spec, "externalIPs") && kind == "ClusterIP";
    if (is_outside || has_external) && str_of(spec, "externalTrafficPolicy").is_empty() {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn has_timeout(spec: &mut Map<Node>) -> bool {
    let client = map_mut(spec, "sessionAffinityConfig").and_then(|config| map_mut(config, "clientIP"));
    client.is_some_and(|client| client.get("timeoutSeconds").is_some_and(|timeout| !timeout.is_nil()))
}

fn inner_list(spec: &Map<Node>, key: &str) -> bool {
    spec.get(key).and_then(Node::as_list).is_some_and(|list| !list.is_empty())
}
