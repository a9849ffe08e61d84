//! A whole Kubernetes object.

use pintle_tree::{Map, Node, Str, json};

use crate::build::{Built, Validation, build};
use crate::identity::ObjectId;

/// A Kubernetes object. Integers are [`Node::Int`], as Kubernetes' own tools decode them.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    body: Map<Node>,
}

/// Why a text is not a Kubernetes object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// A document is neither YAML nor JSON.
    #[error("error parsing {file}: {reason}")]
    Parse {
        /// The source of the document; empty in the builder's errors.
        file: String,
        /// The parse error.
        reason: String,
    },
    /// A document has no type.
    #[error("error validating \"\": error validating data: {0}")]
    Invalid(String),
    /// A document has a field of the wrong type.
    #[error("unable to decode \"\": {0}")]
    Decode(String),
    /// A document has no kind.
    #[error("unable to decode \"\": Object 'Kind' is missing in '{text}'")]
    Missing {
        /// The document as JSON.
        text: String,
    },
    /// A list item has no type.
    #[error(
        "unable to get type info from the object \"*unstructured.Unstructured\": Object '{field}' is missing in 'object has \
         no {word}'"
    )]
    Untyped {
        /// `Kind` or `apiVersion`, as Kubernetes spells it.
        field: &'static str,
        /// The same in the builder's spelling.
        word: &'static str,
    },
    /// A list item is a list.
    #[error("*unstructured.Unstructured is not a list: no Items field in this object")]
    NestedList,
    /// The text is not JSON.
    #[error("the object is no JSON")]
    Json(#[source] json::Error),
    /// The document is not a map.
    #[error("{file}: a document is no object but {found}")]
    NoMap {
        /// The source of the document.
        file: String,
        /// Its JSON type.
        found: &'static str,
    },
}

impl Object {
    /// Wraps a tree.
    pub fn new(body: Map<Node>) -> Self {
        Object { body }
    }

    /// Returns an object that has nothing but its identity.
    pub fn from_id(id: &ObjectId) -> Self {
        let mut metadata = Map::new();
        metadata.insert("name".into(), id.name.as_str().into());
        if !id.namespace.is_empty() {
            metadata.insert("namespace".into(), id.namespace.as_str().into());
        }
        let mut body = Map::new();
        body.insert("apiVersion".into(), id.api_version().into());
        body.insert("kind".into(), id.kind.as_str().into());
        body.insert("metadata".into(), Node::Map(metadata));
        Object { body }
    }

    /// Parses an object from JSON.
    ///
    /// # Errors
    /// When the text is not JSON or not a map.
    pub fn read_json(text: &[u8]) -> Result<Self, ObjectError> {
        match json::read_exact(text).map_err(ObjectError::Json)? {
            Node::Map(body) => Ok(Object { body }),
            other => Err(ObjectError::NoMap { file: "JSON".into(), found: other.json_type() }),
        }
    }

    /// Parses all objects of a manifest; lists are expanded into their items. `file` names the manifest in errors.
    ///
    /// # Errors
    /// The first document that cannot be built; see [`build`].
    pub fn read_manifest(text: &[u8], file: &str) -> Result<Vec<Self>, ObjectError> {
        let mut objects = Vec::new();
        for built in build(text, Validation::Ignore) {
            match built {
                Ok(Built::Object(object)) => objects.push(object),
                Ok(Built::List { members, .. }) => {
                    for member in members {
                        objects.push(member?);
                    }
                }
                Err(ObjectError::Parse { reason, .. }) => {
                    return Err(ObjectError::Parse { file: file.to_owned(), reason });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(objects)
    }

    /// Parses the valid objects of a manifest, skipping the others.
    pub fn read_readable(text: &[u8]) -> Vec<Self> {
        let mut objects = Vec::new();
        // The iterator ends at a document that cannot be parsed, so what follows it is skipped too.
        for built in build(text, Validation::Ignore).flatten() {
            match built {
                Built::Object(object) => objects.push(object),
                Built::List { members, .. } => objects.extend(members.into_iter().flatten()),
            }
        }
        objects
    }

    /// The object as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Only NaN and infinities cannot be written as JSON, and neither parser accepts these.
        json::write_raw(&self.body).unwrap_or_default()
    }

    /// The tree.
    pub fn body(&self) -> &Map<Node> {
        &self.body
    }

    /// The tree, mutable.
    pub fn body_mut(&mut self) -> &mut Map<Node> {
        &mut self.body
    }

    /// Returns the tree.
    pub fn into_body(self) -> Map<Node> {
        self.body
    }

    /// A field by path.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.body.get(first)?, |node, key| node.get(key))
    }

    /// The string at a path; empty if there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Node::as_str).unwrap_or_default()
    }

    /// The integer at a path.
    pub fn int(&self, path: &[&str]) -> Option<i64> {
        match self.at(path)? {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The API version, or empty.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// The kind, or empty.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// The name, or empty.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// The namespace, or empty.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// The uid, which is unique even if the name is reused.
    pub fn uid(&self) -> &str {
        self.text(&["metadata", "uid"])
    }

    /// The resource version, for optimistic concurrency.
    pub fn resource_version(&self) -> &str {
        self.text(&["metadata", "resourceVersion"])
    }

    /// A label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.at(&["metadata", "labels", key]).and_then(Node::as_str)
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.at(&["metadata", "annotations", key]).and_then(Node::as_str)
    }

    /// Sets a label.
    pub fn set_label(&mut self, key: &str, value: &str) {
        self.metadata_map("labels").insert(key.into(), value.into());
    }

    /// Sets an annotation.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        self.metadata_map("annotations").insert(key.into(), value.into());
    }

    /// Sets the namespace; an empty one removes it.
    pub fn set_namespace(&mut self, namespace: &str) {
        let metadata = child(&mut self.body, "metadata");
        if namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".into(), namespace.into());
        }
    }

    /// The metadata, mutable; created if absent.
    pub fn metadata_mut(&mut self) -> &mut Map<Node> {
        child(&mut self.body, "metadata")
    }

    fn metadata_map(&mut self, field: &str) -> &mut Map<Node> {
        child(self.metadata_mut(), field)
    }

    /// The identity of the object.
    pub fn id(&self) -> ObjectId {
        ObjectId::new(self.api_version(), self.kind(), self.namespace(), self.name())
    }
}

/// The map under a key; any other value is replaced by a new map.
fn child<'m>(map: &'m mut Map<Node>, key: &str) -> &'m mut Map<Node> {
    let node = map.entry_or_insert_with(&Str::from(key), Node::empty_map);
    if node.as_map().is_none() {
        *node = Node::empty_map();
    }
    node.as_map_mut().expect("it was just made a map")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_count_as_their_members_and_empty_documents_as_none() {
        let text = b"# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: ns}}\n";
        let ids: Vec<String> = Object::read_manifest(text, "x")
            .expect("good")
            .iter()
            .map(|object| object.id().to_string())
            .collect();
        assert_eq!(ids, ["ConfigMap/a", "Deployment/ns/b"]);
    }

    #[test]
    fn an_object_needs_a_kind() {
        let error =
            Object::read_manifest(b"apiVersion: v1\nmetadata: {name: a}\n", "x").expect_err("no kind");
        assert_eq!(
            error.to_string(),
            r#"unable to decode "": Object 'Kind' is missing in '{"apiVersion":"v1","metadata":{"name":"a"}}'"#
        );
    }

    #[test]
    fn labels_and_annotations_are_made_where_there_were_none() {
        let mut object = Object::from_id(&ObjectId::new("apps/v1", "Deployment", "n", "web"));
        object.set_label("a", "b");
        object.set_annotation("c", "d");
        assert_eq!((object.label("a"), object.annotation("c")), (Some("b"), Some("d")));
        assert_eq!(object.id().api_version(), "apps/v1");
    }
}
