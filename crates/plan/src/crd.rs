//! What an update of a CustomResourceDefinition would lose: versions that objects are stored in, and fields that objects
//! may have set.

use pintle_objects::Object;
use pintle_tree::{Map, Node, with_stack};

/// A field that the new schema does not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostField {
    /// The version of the kind.
    pub version: String,
    /// The keys from the root. [`ELEMENT`] stands for every element of a list and every entry of a map.
    pub path: Vec<String>,
    /// What happens to it.
    pub why: String,
}

/// Stands for every element in the path of a [`LostField`].
pub const ELEMENT: &str = "[*]";

impl LostField {
    /// The path as text: `spec.rules[*].port`.
    pub fn path_text(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            if !text.is_empty() && part != ELEMENT {
                text.push('.');
            }
            text.push_str(part);
        }
        text
    }

    /// Whether an object has the field.
    pub fn is_set_in(&self, object: &Object) -> bool {
        is_set(&Node::Map(object.body().clone()), &self.path)
    }
}

fn is_set(node: &Node, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return !node.is_nil() };
    match node {
        Node::List(items) if first == ELEMENT => items.iter().any(|item| is_set(item, rest)),
        Node::Map(map) if first == ELEMENT => map.values().any(|value| is_set(value, rest)),
        Node::Map(map) => map.get(first).is_some_and(|value| is_set(value, rest)),
        _ => false,
    }
}

/// Returns the versions in which objects are stored and which the new definition does not have.
pub fn lost_versions(live: &Object, desired: &Object) -> Vec<String> {
    let stored = live.at(&["status", "storedVersions"]).and_then(Node::as_list).unwrap_or_default();
    let has = |name: &str| versions(desired).any(|(version, _)| version == name);
    stored.iter().filter_map(Node::as_str).filter(|name| !has(name)).map(str::to_owned).collect()
}

/// Returns the fields that the new definition would prune from objects, or that have another type in it.
pub fn lost_fields(live: &Object, desired: &Object) -> Vec<LostField> {
    let mut lost = Vec::new();
    for (version, old) in versions(live) {
        // A version that is dropped loses no fields by itself; whether objects are stored in it is `lost_versions`.
        let Some((_, new)) = versions(desired).find(|(name, _)| *name == version) else { continue };
        let (Some(old), Some(new)) = (schema(old), schema(new)) else { continue };
        compare(old, new, &mut Vec::new(), &mut |path, why| {
            lost.push(LostField { version: version.to_owned(), path: path.to_vec(), why });
        });
    }
    lost
}

fn versions(definition: &Object) -> impl Iterator<Item = (&str, &Node)> {
    let versions = definition.at(&["spec", "versions"]).and_then(Node::as_list).unwrap_or_default();
    versions.iter().filter_map(|version| Some((version.get("name")?.as_str()?, version)))
}

fn schema(version: &Node) -> Option<&Node> {
    version.get("schema")?.get("openAPIV3Schema")
}

fn compare(old: &Node, new: &Node, path: &mut Vec<String>, report: &mut dyn FnMut(&[String], String)) {
    // Nothing is pruned then: objects keep fields that the new schema does not declare.
    if keeps_everything(new) {
        return;
    }
    let word = |schema: &Node| schema.get("type").and_then(Node::as_str).unwrap_or_default().to_owned();
    let (before, after) = (word(old), word(new));
    if !path.is_empty() && !before.is_empty() && !after.is_empty() && before != after {
        report(path, format!("its type changes from {before} to {after}"));
        return;
    }
    let properties = |schema: &'_ Node| schema.get("properties").and_then(Node::as_map).cloned();
    let (olds, news) = (properties(old).unwrap_or_default(), properties(new));
    let entries = new.get("additionalProperties");
    for (name, old) in olds.iter() {
        // The server keeps these whatever the schema says.
        if path.is_empty() && matches!(name.as_str(), Some("apiVersion" | "kind" | "metadata" | "status")) {
            continue;
        }
        path.push(name.to_string());
        match news.as_ref().and_then(|news: &Map<Node>| news.get(name)).or(entries) {
            Some(new) => with_stack(|| compare(old, new, path, report)),
            None => report(path, "the new schema does not have it".to_owned()),
        }
        path.pop();
    }
    for key in ["items", "additionalProperties"] {
        if let (Some(old @ Node::Map(_)), Some(new @ Node::Map(_))) = (old.get(key), new.get(key)) {
            path.push(ELEMENT.to_owned());
            with_stack(|| compare(old, new, path, report));
            path.pop();
        }
    }
}

fn keeps_everything(schema: &Node) -> bool {
    let is_true = |key| schema.get(key).and_then(Node::as_bool) == Some(true);
    is_true("x-kubernetes-preserve-unknown-fields") || is_true("x-kubernetes-embedded-resource")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(version: &str, properties: &str) -> Object {
        let text = format!(
            r#"{{"kind":"CustomResourceDefinition","spec":{{"versions":[{{"name":"{version}","schema":{{"openAPIV3Schema":
                {{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{properties}}}}}}}}}}}}}]}},
                "status":{{"storedVersions":["{version}"]}}}}"#
        );
        Object::read_json(text.as_bytes()).expect("good JSON")
    }

    #[test]
    fn stored_versions_and_fields_that_would_be_lost_are_named() {
        let live = definition(
            "v1",
            r#""size":{"type":"integer"},"rules":{"type":"array","items":{"type":"object","properties":
               {"port":{"type":"integer"},"host":{"type":"string"}}}},"any":{"type":"object","properties":{"x":{}}}"#,
        );
        let desired = definition(
            "v1",
            r#""size":{"type":"string"},"rules":{"type":"array","items":{"type":"object","properties":
               {"host":{"type":"string"}}}},"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
        );
        let lost = lost_fields(&live, &desired);
        let paths: Vec<String> = lost.iter().map(LostField::path_text).collect();
        assert_eq!(paths, ["spec.rules[*].port", "spec.size"]);
        assert!(lost_versions(&live, &desired).is_empty());
        assert_eq!(lost_versions(&live, &definition("v2", "")), ["v1"]);
        let object = |text: &str| Object::read_json(text.as_bytes()).expect("good JSON");
        assert!(lost[0].is_set_in(&object(r#"{"spec":{"rules":[{"host":"a"},{"port":1}]}}"#)));
        assert!(!lost[0].is_set_in(&object(r#"{"spec":{"rules":[{"host":"a"}],"port":1}}"#)));
        assert!(lost_fields(&live, &live).is_empty());
    }
}
