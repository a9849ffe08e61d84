//! Builds objects from a manifest, with the checks of Kubernetes' resource builder (`cli-runtime/pkg/resource`).
//!
//! Helm builds all objects of a release before it applies the first, and rejects the release if one cannot be built.
//! The order of the checks and their texts are the builder's: documents are split by Kubernetes' rule and parsed,
//! then (unless disabled) validated to have a type, then decoded with their metadata. A document with `items` is a
//! list whatever its kind says; the metadata of its items is not decoded.

use pintle_tree::{Map, Node, Str, json};
use pintle_yaml::Stream;

use crate::metadata;
use crate::object::{Object, ObjectError};

/// Whether documents are validated before they are decoded (`--disable-openapi-validation` turns it off).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// A document without a type is rejected.
    #[default]
    Strict,
    /// Only what cannot be decoded is rejected.
    Ignore,
}

/// One document of a manifest.
#[derive(Debug)]
pub enum Built {
    /// A single object.
    Object(Object),
    /// A `List`, which is expanded into its items.
    List {
        /// The list without its items; the cluster must know its kind, too.
        list: Object,
        /// The items, each on its own.
        members: Vec<Result<Object, ObjectError>>,
    },
}

/// Builds the objects of a manifest, document by document. Results and errors are returned side by side; after a
/// document that cannot be parsed or validated the rest is skipped, as the builder does.
///
/// A tree takes several times as much memory as its text, so each is built only when the iterator reaches it.
pub fn build(
    text: &[u8],
    validation: Validation,
) -> impl Iterator<Item = Result<Built, ObjectError>> + Send + '_ {
    let mut stream = Some(Stream::new(text));
    std::iter::from_fn(move || {
        loop {
            let read = stream.as_mut()?.next_with(read_json, |document| {
                pintle_yaml::read_exact(&document).map_err(|error| error.to_string())
            });
            match read? {
                // The builder skips empty documents and `null`.
                Ok(Node::Nil) => {}
                Ok(node) => {
                    let one = build_document(node, validation);
                    // `StreamVisitor` returns on a validation error, but passes a decoding error to its
                    // caller and continues.
                    if matches!(&one, Err(ObjectError::Invalid(_))) {
                        stream = None;
                    }
                    return Some(one);
                }
                Err(reason) => return Some(Err(ObjectError::Parse { file: String::new(), reason })),
            }
        }
    })
}

/// Builds one parsed document.
///
/// # Errors
/// Why it is not an object.
pub fn build_document(node: Node, validation: Validation) -> Result<Built, ObjectError> {
    if validation == Validation::Strict {
        validate(&node).map_err(ObjectError::Invalid)?;
    }
    let body = match node {
        Node::Map(body) => body,
        other => {
            let found = other.json_type();
            let text = format!("json: cannot unmarshal {found} into Go value of type unstructured.detector");
            return Err(ObjectError::Decode(text));
        }
    };
    // Also for `items: null`: Go's `RawMessage` is then the text `null`, which is not nil.
    if body.contains_key("items") { decode_list(body) } else { decode(body).map(Built::Object) }
}

/// Parses one JSON value, keeping integers.
fn read_json(text: &[u8]) -> Result<(Node, usize), json::Error> {
    // `read_prefix` finds the end, but makes all numbers floats.
    let (_, used) = json::read_prefix(text)?;
    Ok((json::read_exact(&text[..used])?, used))
}

/// What a document lacks to have a type. The items of a core `List` are checked as well.
fn validate(node: &Node) -> Result<(), String> {
    let problems = match type_problems(node) {
        problems if !problems.is_empty() => problems,
        // Only `v1/List` is validated item by item; a `PodList` counts as one object here.
        _ if node.get("kind").and_then(Node::as_str) != Some("List") => Vec::new(),
        _ if node.get("apiVersion").and_then(Node::as_str) != Some("v1") => Vec::new(),
        _ => match node.get("items") {
            Some(Node::List(items)) => items.iter().flat_map(type_problems).collect(),
            _ => vec![NO_OBJECT.to_owned()],
        },
    };
    if problems.is_empty() { Ok(()) } else { Err(aggregate(problems)) }
}

const NO_OBJECT: &str = "invalid object to validate";

fn type_problems(node: &Node) -> Vec<String> {
    let Node::Map(body) = node else { return vec![NO_OBJECT.to_owned()] };
    let mut problems = Vec::new();
    match body.get("apiVersion") {
        None | Some(Node::Nil) => problems.push("apiVersion not set".to_owned()),
        Some(Node::Str(version)) => {
            if version.as_bytes().iter().filter(|&&byte| byte == b'/').count() > 1 {
                problems.push(format!("unexpected GroupVersion string: {}", version.to_str_lossy()));
            }
        }
        Some(_) => problems.push("apiVersion isn't string type".to_owned()),
    }
    match body.get("kind") {
        None | Some(Node::Nil) => problems.push("kind not set".to_owned()),
        // An empty kind passes here and fails when the object is decoded, as in kubectl.
        Some(Node::Str(_)) => {}
        Some(_) => problems.push("kind isn't string type".to_owned()),
    }
    problems
}

/// Joins several errors as Kubernetes' aggregates: each text once.
pub fn aggregate(texts: impl IntoIterator<Item = String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for text in texts {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    if once.len() == 1 { once.remove(0) } else { format!("[{}]", once.join(", ")) }
}

fn decode(body: Map<Node>) -> Result<Object, ObjectError> {
    let object = Object::new(body);
    // An `apiVersion` with two slashes is invalid, and Go's object then has no kind either. An empty one can be
    // decoded, but no cluster knows its kind.
    if object.kind().is_empty() || object.api_version().matches('/').count() > 1 {
        let text = String::from_utf8_lossy(&object.to_json()).into_owned();
        return Err(ObjectError::Missing { text });
    }
    metadata::check(object.body()).map_err(ObjectError::Decode)?;
    Ok(object)
}

fn decode_list(mut body: Map<Node>) -> Result<Built, ObjectError> {
    let items = match body.remove("items") {
        Some(Node::List(items)) => items,
        None | Some(Node::Nil) => Vec::new(),
        Some(other) => {
            let text = format!(
                "json: cannot unmarshal {} into Go struct field decodeList.items of type []json.RawMessage",
                other.json_type()
            );
            return Err(ObjectError::Decode(text));
        }
    };
    let mut members = Vec::new();
    for item in items {
        members.push(match item {
            Node::Map(member) => Object::new(member),
            // `null` decodes into an object without fields in Go.
            Node::Nil => Object::new(Map::new()),
            other => {
                let found = other.json_type();
                let text =
                    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
                return Err(ObjectError::Decode(text));
            }
        });
    }
    // After the items: Go decodes them before it looks at the type of the list.
    let list = decode(body)?;
    if members.iter().any(|member| matches!(member.at(&["items"]), Some(Node::List(_)))) {
        // The builder would flatten nested lists, but they are `Unstructured`, which `ExtractList` refuses.
        return Err(ObjectError::NestedList);
    }
    let members = members.into_iter().map(|member| default_member(member, &list)).collect();
    Ok(Built::List { list, members })
}

/// Defaults the type of a list item from the list, and drops metadata that Kubernetes' accessors do not see: labels
/// or annotations that are not all strings count as none, and are replaced when Helm adds its own.
fn default_member(mut member: Object, list: &Object) -> Result<Object, ObjectError> {
    if member.kind().is_empty() && member.api_version().is_empty() {
        // API servers leave the type out of the items of a typed list such as `PodList`.
        let kind = list.kind().strip_suffix("List").unwrap_or(list.kind()).to_owned();
        let version = list.api_version().to_owned();
        member.body_mut().insert("kind".into(), kind.as_str().into());
        member.body_mut().insert("apiVersion".into(), version.as_str().into());
    }
    if member.kind().is_empty() {
        return Err(ObjectError::Untyped { field: "Kind", word: "kind field " });
    }
    if member.api_version().is_empty() {
        return Err(ObjectError::Untyped { field: "apiVersion", word: "apiVersion field" });
    }
    if let Some(Node::Map(fields)) = member.body_mut().get_mut("metadata") {
        fields.retain(|key, value| keeps(key, value));
    }
    Ok(member)
}

fn keeps(key: &Str, value: &Node) -> bool {
    match key.as_str() {
        Some("labels" | "annotations") => match value {
            Node::Map(entries) => entries.values().all(|value| matches!(value, Node::Str(_) | Node::Nil)),
            _ => false,
        },
        Some("namespace") => matches!(value, Node::Str(_)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, validation: Validation) -> Vec<String> {
        build(text.as_bytes(), validation).filter_map(Result::err).map(|error| error.to_string()).collect()
    }

    #[test]
    fn all_documents_that_cannot_be_decoded_are_reported() {
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: 5}\n---\napiVersion: v1\nkind: B\nmetadata: {labels: x}\n";
        assert_eq!(
            problems(text, Validation::Strict),
            [
                "unable to decode \"\": json: cannot unmarshal number into Go struct field \
                 ObjectMeta.metadata.name of type string",
                "unable to decode \"\": json: cannot unmarshal string into Go struct field \
                 ObjectMeta.metadata.labels of type map[string]string",
            ]
        );
    }

    #[test]
    fn a_document_without_a_type_ends_the_reading() {
        let text = "metadata: {name: a}\n---\napiVersion: v1\nkind: B\nmetadata: {name: 5}\n";
        assert_eq!(
            problems(text, Validation::Strict),
            ["error validating \"\": error validating data: [apiVersion not set, kind not set]"]
        );
        assert_eq!(
            problems("metadata: {name: a}\n", Validation::Ignore),
            ["unable to decode \"\": Object 'Kind' is missing in '{\"metadata\":{\"name\":\"a\"}}'"]
        );
    }

    #[test]
    fn members_of_a_list_take_its_type_and_lose_labels_that_are_no_strings() {
        let text = "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, labels: {b: 5, c: d}, namespace: 5}\n";
        let built = build(text.as_bytes(), Validation::Strict).next().expect("a document").expect("good");
        let Built::List { members, .. } = built else { panic!("a list") };
        let member = members[0].as_ref().expect("good");
        assert_eq!(member.to_json(), br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    }

    #[test]
    fn whatever_has_items_is_a_list() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: null\n";
        let built = build(text.as_bytes(), Validation::Strict).next().expect("a document").expect("good");
        assert!(matches!(built, Built::List { members, .. } if members.is_empty()));
    }
}
