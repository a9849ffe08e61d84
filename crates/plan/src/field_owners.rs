//! Which managers own a field, by `managedFields`.

use pintle_objects::Object;
use pintle_tree::{Map, Node, json};

use crate::diff::{Segment, segments};

/// Returns the managers that own a field of a live object. The path is that of a [`Difference`](crate::diff::Difference).
pub fn managers(live: &Object, path: &str) -> Vec<String> {
    let entries = live.at(&["metadata", "managedFields"]).and_then(Node::as_list).unwrap_or_default();
    let segments = segments(path);
    let body = Node::Map(live.body().clone());
    let owns = |entry: &&Node| {
        let Some(fields) = entry.get("fieldsV1").and_then(Node::as_map) else { return false };
        owns_path(fields, &segments, &body)
    };
    let mut names: Vec<String> = Vec::new();
    // A manager has an entry for each of its operations and subresources.
    for name in entries.iter().filter(owns).filter_map(|entry| entry.get("manager")?.as_str()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether a field set contains a path. It identifies list items by their keys, so `node` is needed to resolve an index.
fn owns_path(fields: &Map<Node>, path: &[Segment], node: &Node) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let (name, child) = match first {
        Segment::Key(key) => (format!("f:{key}"), node.get(key)),
        Segment::Index(index) => {
            let item = node.as_list().and_then(|list| list.get(*index));
            let name =
                fields.keys().find(|name| item.is_some_and(|item| matches_item(name.as_bytes(), item)));
            match name {
                Some(name) => (name.to_string(), item),
                None => return false,
            }
        }
    };
    match fields.get(&name).and_then(Node::as_map) {
        None => false,
        // An empty set owns everything below.
        Some(below) if below.is_empty() => true,
        Some(below) => owns_path(below, rest, child.unwrap_or(&Node::Nil)),
    }
}

/// Whether `k:{…}` or `v:…` names an item of a list.
fn matches_item(name: &[u8], item: &Node) -> bool {
    if let Some(keys) = name.strip_prefix(b"k:") {
        let Ok(Node::Map(keys)) = json::read_exact(keys) else { return false };
        return keys.iter().all(|(key, value)| {
            let found = item.get(key);
            found == Some(value) || found.is_some_and(|found| same_number(found, value))
        });
    }
    let Some(value) = name.strip_prefix(b"v:") else { return false };
    json::read_exact(value).is_ok_and(|value| value == *item || same_number(&value, item))
}

fn same_number(a: &Node, b: &Node) -> bool {
    let number = |node: &Node| match node {
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) => Some(*value),
        _ => None,
    };
    number(a).is_some() && number(a) == number(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_of_nested_fields_are_found() {
        let live = Object::read_json(
            br#"{"kind":"Deployment","metadata":{"labels":{"a.b/c":"x"},"managedFields":[
                {"manager":"helm","fieldsV1":{"f:spec":{"f:replicas":{},"f:c":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}},
                {"manager":"kubectl","fieldsV1":{"f:metadata":{"f:labels":{"f:a.b/c":{}}},"f:spec":{"f:replicas":{}}}}]},
                "spec":{"replicas":2,"c":[{"name":"web","image":"i"}]}}"#,
        )
        .expect("good JSON");
        assert_eq!(managers(&live, "spec.replicas"), ["helm", "kubectl"]);
        assert_eq!(managers(&live, "spec.c[0].image"), ["helm"]);
        assert_eq!(managers(&live, "metadata.labels[\"a.b/c\"]"), ["kubectl"]);
        assert!(managers(&live, "spec.other").is_empty());
    }

    #[test]
    fn a_manager_with_several_entries_is_listed_once() {
        let live = Object::read_json(
            br#"{"kind":"Deployment","metadata":{"managedFields":[
                {"manager":"helm","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}},
                {"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}},
                {"manager":"helm","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{},"f:ports":{"v:1":{}}}}}]},
                "spec":{"replicas":2,"ports":[1.0]}}"#,
        )
        .expect("good JSON");
        assert_eq!(managers(&live, "spec.replicas"), ["helm", "kubectl"]);
        assert_eq!(managers(&live, "spec.ports[0]"), ["helm"]);
    }
}
