//! What a dry run allocates to Services.
//!
//! The API server picks cluster addresses and node ports when a Service is created. A dry run picks them too and releases
//! them at once, so the real request gets others: shown in a plan they would be wrong.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

const ADDRESSES: [&str; 3] = ["clusterIP", "clusterIPs", "healthCheckNodePort"];

/// Removes what was allocated from the answer to a dry run. What the live object has or the chart asks for remains.
pub(super) fn remove_allocated(answer: &mut Object, known: [Option<&Object>; 2]) {
    if answer.kind() != "Service" || answer.api_version() != "v1" {
        return;
    }
    let known = known.into_iter().flatten().filter_map(|object| object.at(&["spec"])?.as_map());
    let known: Vec<&Map<Node>> = known.collect();
    let Some(Node::Map(spec)) = answer.body_mut().get_mut("spec") else { return };
    for field in ADDRESSES {
        if spec.get(field).is_some_and(|value| known.iter().all(|known| known.get(field) != Some(value))) {
            spec.remove(field);
        }
    }
    let Some(Node::List(ports)) = spec.get_mut("ports") else { return };
    for port in ports.iter_mut().filter_map(Node::as_map_mut) {
        if port.get("nodePort").is_some_and(|value| !known.iter().any(|known| has_node_port(known, value))) {
            port.remove("nodePort");
        }
    }
}

fn has_node_port(spec: &Map<Node>, value: &Node) -> bool {
    let ports = spec.get("ports").and_then(Node::as_list).unwrap_or_default();
    ports.iter().any(|port| port.get("nodePort") == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: &str) -> Object {
        let text = format!(r#"{{"apiVersion":"v1","kind":"Service","spec":{spec}}}"#);
        Object::read_json(text.as_bytes()).unwrap()
    }

    const ANSWER: &str = r#"{"clusterIP":"10.0.0.7","clusterIPs":["10.0.0.7"],
        "ports":[{"port":80,"nodePort":30080},{"port":443,"nodePort":31999}],"type":"NodePort"}"#;

    #[test]
    fn what_a_dry_run_allocated_is_no_part_of_a_plan() {
        let mut answer = service(ANSWER);
        let desired = service(r#"{"ports":[{"port":443},{"port":80,"nodePort":30080}],"type":"NodePort"}"#);
        remove_allocated(&mut answer, [None, Some(&desired)]);
        let expected = service(r#"{"ports":[{"port":80,"nodePort":30080},{"port":443}],"type":"NodePort"}"#);
        assert_eq!(answer, expected);
    }

    #[test]
    fn what_the_live_object_has_is_kept() {
        let mut answer = service(ANSWER);
        remove_allocated(&mut answer, [Some(&service(ANSWER)), Some(&service("{}"))]);
        assert_eq!(answer, service(ANSWER));
    }
}
