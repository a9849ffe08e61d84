//! Validates the metadata of an object as Kubernetes' clients do: they decode it into Go's `ObjectMeta` before the
//! first request, so a label that is a number is rejected early. The texts are those of Go's decoder.

use pintle_time::{GoTime, RFC3339, Zone};
use pintle_tree::{Map, Node, json};

/// The type of a field.
enum FieldType {
    /// A string of the Go type of this name.
    Text(&'static str),
    Int,
    Bool,
    Time,
    Texts,
    TextMap,
    Structs(&'static Struct),
    /// Any value: the Go type has its own `UnmarshalJSON`.
    Any,
}

/// A Go struct whose fields are checked.
struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, FieldType)],
}

const TEXT: FieldType = FieldType::Text("string");
const UID: FieldType = FieldType::Text("types.UID");

static META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("name", TEXT),
        ("generateName", TEXT),
        ("namespace", TEXT),
        ("selfLink", TEXT),
        ("uid", UID),
        ("resourceVersion", TEXT),
        ("generation", FieldType::Int),
        ("creationTimestamp", FieldType::Time),
        ("deletionTimestamp", FieldType::Time),
        ("deletionGracePeriodSeconds", FieldType::Int),
        ("labels", FieldType::TextMap),
        ("annotations", FieldType::TextMap),
        ("ownerReferences", FieldType::Structs(&OWNER)),
        ("finalizers", FieldType::Texts),
        ("managedFields", FieldType::Structs(&MANAGED_FIELDS)),
    ],
};

static OWNER: Struct = Struct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", TEXT),
        ("kind", TEXT),
        ("name", TEXT),
        ("uid", UID),
        ("controller", FieldType::Bool),
        ("blockOwnerDeletion", FieldType::Bool),
    ],
};

static MANAGED_FIELDS: Struct = Struct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("manager", TEXT),
        ("operation", FieldType::Text("v1.ManagedFieldsOperationType")),
        ("apiVersion", TEXT),
        ("time", FieldType::Time),
        ("fieldsType", TEXT),
        ("fieldsV1", FieldType::Any),
        ("subresource", TEXT),
    ],
};

/// Validates the type and the metadata of an object.
///
/// # Errors
/// The decoder's text for the first field of the wrong type.
pub(crate) fn check(body: &Map<Node>) -> Result<(), String> {
    let mut decoding = MetadataDecoder::default();
    for (key, value) in body.iter() {
        match key.as_str() {
            Some("apiVersion" | "kind") => {
                let field = format!("metadataOnlyObject.TypeMeta.{}", key.to_str_lossy());
                decoding.text(value, &field, "string");
            }
            Some("metadata") => match value {
                Node::Nil => {}
                Node::Map(fields) => decoding.structure(fields, &META, "metadata")?,
                other => decoding.clash(other, "metadataOnlyObject.metadata", "v1.ObjectMeta"),
            },
            _ => {}
        }
    }
    decoding.first.map_or(Ok(()), Err)
}

/// Like Go, continues after a field of the wrong type and reports the first; an invalid time ends decoding at once.
#[derive(Default)]
struct MetadataDecoder {
    first: Option<String>,
}

impl MetadataDecoder {
    fn structure(&mut self, fields: &Map<Node>, wanted: &Struct, path: &str) -> Result<(), String> {
        for (key, value) in fields.iter() {
            // Kubernetes' JSON decoder compares names exactly, unlike Go's own.
            let known = wanted.fields.iter().find(|(name, _)| key == name);
            if let Some((name, shape)) = known {
                let path = format!("{path}.{name}");
                self.field(value, shape, &format!("{}.{path}", wanted.name), &path)?;
            }
        }
        Ok(())
    }

    /// Checks one field. `field` names it in errors, `path` is the same without the struct.
    fn field(&mut self, value: &Node, shape: &FieldType, field: &str, path: &str) -> Result<(), String> {
        match (shape, value) {
            (_, Node::Nil)
            | (FieldType::Any, _)
            | (FieldType::Bool, Node::Bool(_))
            | (FieldType::Int, Node::Int(_)) => {}
            (FieldType::Text(kind), value) => self.text(value, field, kind),
            (FieldType::Bool, value) => self.clash(value, field, "bool"),
            // Go's text contains the number itself here.
            (FieldType::Int, Node::Float(_)) => {
                let number = json::write_raw(value).unwrap_or_default();
                let number = String::from_utf8_lossy(&number);
                self.note(format!("number {number} into Go struct field {field} of type int64"));
            }
            (FieldType::Int, value) => self.clash(value, field, "int64"),
            (FieldType::Time, Node::Str(text)) => {
                // `metav1.Time` has its own `UnmarshalJSON`, and the error of such a type ends Go's decoder.
                GoTime::parse(RFC3339, text.as_bytes(), &Zone::utc())?;
            }
            (FieldType::Time, value) => return Err(clash(value, field, "string")),
            (FieldType::Texts, Node::List(items)) => {
                items.iter().for_each(|item| self.text(item, field, "string"));
            }
            (FieldType::Texts, value) => self.clash(value, field, "[]string"),
            (FieldType::TextMap, Node::Map(entries)) => {
                entries.values().for_each(|item| self.text(item, field, "string"));
            }
            (FieldType::TextMap, value) => self.clash(value, field, "map[string]string"),
            (FieldType::Structs(wanted), Node::List(items)) => {
                for item in items {
                    match item {
                        Node::Nil => {}
                        Node::Map(fields) => self.structure(fields, wanted, path)?,
                        other => self.clash(other, field, &format!("v1.{}", wanted.name)),
                    }
                }
            }
            (FieldType::Structs(wanted), value) => self.clash(value, field, &format!("[]v1.{}", wanted.name)),
        }
        Ok(())
    }

    fn text(&mut self, value: &Node, field: &str, kind: &str) {
        if !matches!(value, Node::Nil | Node::Str(_)) {
            self.clash(value, field, kind);
        }
    }

    fn clash(&mut self, value: &Node, field: &str, wanted: &str) {
        self.first.get_or_insert_with(|| clash(value, field, wanted));
    }

    fn note(&mut self, text: String) {
        self.first.get_or_insert_with(|| format!("json: cannot unmarshal {text}"));
    }
}

fn clash(value: &Node, field: &str, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {field} of type {wanted}", value.json_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(metadata: &str) -> Option<String> {
        let text = format!("metadata: {metadata}");
        let node = pintle_yaml::read_exact(text.as_bytes()).expect("good YAML");
        check(node.as_map().expect("a map")).err()
    }

    #[test]
    fn good_metadata_passes_and_null_is_nothing() {
        let good = "{name: a, namespace: null, labels: {a: b, c: null}, annotations: null, generation: 1.0, \
                    creationTimestamp: null, finalizers: [a, null], colour: 5, Labels: 5, \
                    ownerReferences: [{name: a, controller: true}, null], managedFields: [{fieldsV1: 5}]}";
        assert_eq!(problem(good), None);
        assert_eq!(problem("null"), None);
    }

    #[test]
    fn the_first_field_of_the_wrong_type_is_named_as_go_names_it() {
        for (metadata, expected) in [
            (
                "{name: 5, labels: {a: true}}",
                "bool into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            ("foo", "string into Go struct field metadataOnlyObject.metadata of type v1.ObjectMeta"),
            (
                "{generation: 1.5}",
                "number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
            ),
            (
                "{ownerReferences: [{uid: 5}]}",
                "number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
            ),
        ] {
            assert_eq!(problem(metadata), Some(format!("json: cannot unmarshal {expected}")), "{metadata}");
        }
    }

    #[test]
    fn an_invalid_time_is_reported_before_everything_else() {
        let text =
            "parsing time \"soon\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"soon\" as \"2006\"";
        assert_eq!(problem("{annotations: 5, creationTimestamp: soon}").as_deref(), Some(text));
        assert_eq!(problem("{creationTimestamp: '2026-01-02T03:04:05Z'}"), None);
    }
}
