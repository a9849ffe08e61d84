//! Rules for roles, bindings and exposure.

use pintle_tree::Node;

use super::text;
use crate::document::Object;
use crate::scope::Scope;

pub(super) fn check(scope: &mut Scope<'_>, object: &Object) {
    match object.name.kind.as_str() {
        "ClusterRoleBinding" | "RoleBinding"
            if text(&object.node, &["roleRef", "name"]) == "cluster-admin" =>
        {
            let message = "the binding gives the role cluster-admin".to_owned();
            scope.add("cluster-admin-role-binding", object, "/roleRef/name", message);
        }
        "ClusterRole" | "Role" => rules(scope, object),
        "Service" => {
            let kind = text(&object.node, &["spec", "type"]);
            if matches!(kind, "NodePort" | "LoadBalancer") {
                scope.add(
                    "exposed-services",
                    object,
                    "/spec/type",
                    format!("the Service has the type {kind}"),
                );
            }
        }
        _ => {}
    }
}

fn rules(scope: &mut Scope<'_>, object: &Object) {
    let rules = object.get(&["rules"]).and_then(Node::as_list).unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        let words = |key: &str| {
            let list = rule.get(key).and_then(Node::as_list).unwrap_or_default();
            list.iter().filter_map(Node::as_str).collect::<Vec<_>>()
        };
        let pointer = format!("/rules/{index}");
        let wild: Vec<&str> =
            ["verbs", "resources"].into_iter().filter(|key| words(key).contains(&"*")).collect();
        if !wild.is_empty() {
            let message = format!("the role has a wildcard in {}", wild.join(" and "));
            scope.add("wildcard-in-rules", object, &pointer, message);
        }
        let reads = words("verbs").iter().any(|verb| matches!(*verb, "get" | "list" | "watch" | "*"));
        let secrets = words("resources").iter().any(|resource| matches!(*resource, "secrets" | "*"));
        if reads && secrets && words("resourceNames").is_empty() {
            scope.add("access-to-secrets", object, &pointer, "the role may read all Secrets".to_owned());
        }
    }
}
