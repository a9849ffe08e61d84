//! The pod selectors of workloads as label selector strings.

use pintle_objects::Object;
use pintle_tree::Node;

/// The label selector of a workload's pods, from `spec.selector` in either of its forms; `None` when it selects
/// nothing.
pub(crate) fn pod_selector(workload: &Object) -> Option<String> {
    let selector = workload.at(&["spec", "selector"])?;
    let plain = matches!(workload.kind(), "ReplicationController" | "Service");
    let mut terms = Vec::new();
    equalities(if plain { Some(selector) } else { selector.get("matchLabels") }, &mut terms);
    if !plain {
        let expressions = selector.get("matchExpressions").and_then(Node::as_list).unwrap_or_default();
        terms.extend(expressions.iter().filter_map(expression));
    }
    (!terms.is_empty()).then(|| terms.join(","))
}

fn equalities(labels: Option<&Node>, terms: &mut Vec<String>) {
    for (key, value) in labels.and_then(Node::as_map).into_iter().flat_map(|map| map.iter()) {
        if let (Some(key), Some(value)) = (key.as_str(), value.as_str()) {
            terms.push(format!("{key}={value}"));
        }
    }
}

fn expression(node: &Node) -> Option<String> {
    let key = node.get("key")?.as_str()?;
    let values = || {
        let list = node.get("values").and_then(Node::as_list).unwrap_or_default();
        list.iter().filter_map(Node::as_str).collect::<Vec<_>>().join(",")
    };
    Some(match node.get("operator")?.as_str()? {
        "In" => format!("{key} in ({})", values()),
        "NotIn" => format!("{key} notin ({})", values()),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    })
}

/// Whether `owner` is the controller of the object.
pub(crate) fn is_controlled_by(object: &Object, owner: &Object) -> bool {
    let owners = object.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    owners.iter().any(|reference| {
        reference.get("controller").and_then(Node::as_bool) == Some(true)
            && reference.get("uid").and_then(Node::as_str) == Some(owner.uid())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Option<String> {
        pod_selector(&Object::read_manifest(text.as_bytes(), "test").expect("good")[0])
    }

    #[test]
    fn labels_and_expressions_become_one_query() {
        let text = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  selector:\n    matchLabels: {b: '2', a: x}\n    matchExpressions:\n    - {key: k, operator: In, values: [v, w]}\n    - {key: l, operator: NotIn, values: [v]}\n    - {key: m, operator: Exists}\n    - {key: o, operator: DoesNotExist}\n";
        assert_eq!(query(text).as_deref(), Some("a=x,b=2,k in (v,w),l notin (v),m,!o"));
        let plain = "apiVersion: v1\nkind: ReplicationController\nspec: {selector: {a: b}}\n";
        assert_eq!(query(plain).as_deref(), Some("a=b"));
    }

    #[test]
    fn a_workload_that_selects_nothing_has_no_query() {
        assert_eq!(query("apiVersion: v1\nkind: Service\nspec: {}\n"), None);
        assert_eq!(query("apiVersion: apps/v1\nkind: Deployment\nspec: {selector: {}}\n"), None);
    }
}
