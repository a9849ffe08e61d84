//! JSON merge patches (RFC 7386).

use pintle_tree::{Map, Node, with_stack};

use super::Patched;
use crate::decoding::raw_json::RawJson;
use crate::status::Status;

/// Applies a merge patch.
///
/// # Errors
///
/// When the patch is not a JSON object.
pub fn merge_patch(document: &Node, patch: &[u8]) -> Result<Patched, Status> {
    let refuse = |text: String| Status::bad_request(format!("error decoding patch: {text}"));
    let raw = RawJson::parse(patch).map_err(|error| refuse(error.kubernetes_text().to_owned()))?;
    match raw.node() {
        Node::Map(patch) => {
            let mut object = document.clone();
            merge(&mut object, patch);
            Ok(Patched { object, strict: raw.duplicates() })
        }
        Node::Nil => Err(Status::bad_request("Invalid JSON Patch")),
        _ => {
            let kind = raw.json_type();
            Err(refuse(format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )))
        }
    }
}

fn merge(target: &mut Node, patch: Map<Node>) {
    if target.as_map().is_none() {
        *target = Node::empty_map();
    }
    let Some(map) = target.as_map_mut() else { return };
    for (key, value) in patch {
        match value {
            Node::Nil => {
                map.remove(&key);
            }
            Node::Map(inner) => with_stack(|| merge(map.entry_or_insert_with(&key, Node::empty_map), inner)),
            other => {
                map.insert(key, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;

    fn node(text: &str) -> Node {
        json::read_exact(text.as_bytes()).unwrap()
    }

    #[test]
    fn null_removes_and_maps_are_merged() {
        let document = node(r#"{"a":{"b":1,"c":2},"d":[1]}"#);
        let patched = merge_patch(&document, br#"{"a":{"b":null,"x":{"y":null,"z":1}},"d":[2,3]}"#).unwrap();
        assert_eq!(patched.object, node(r#"{"a":{"c":2,"x":{"z":1}},"d":[2,3]}"#));
    }

    #[test]
    fn patches_that_are_not_objects_are_rejected() {
        let text = |patch: &str| merge_patch(&Node::empty_map(), patch.as_bytes()).unwrap_err().message;
        assert_eq!(text("null"), "Invalid JSON Patch");
        assert_eq!(text("{"), "error decoding patch: unexpected end of JSON input");
        assert_eq!(
            text("[]"),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
