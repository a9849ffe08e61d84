//! Merge keys and patch strategies of built-in kinds, read from the cluster's OpenAPI v3 documents.
//!
//! A document is large and consists mostly of descriptions, so it is reduced to types and fields once.

use std::collections::BTreeMap;

use pintle_objects::ObjectId;
use pintle_tree::{Map, Node, Str, json, with_stack};

use super::PatchError;

/// The merge keys of all kinds that were read so far.
#[derive(Clone, Debug, Default)]
pub struct MergeKeys {
    types: Vec<Type>,
    /// The named types.
    names: BTreeMap<Str, usize>,
    /// The kinds: group, version, kind.
    kinds: BTreeMap<(Str, Str, Str), usize>,
}

#[derive(Clone, Debug)]
struct Type {
    /// The Go name; empty for inline types.
    name: String,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Struct(Map<Field>),
    Map,
    List(usize),
    Scalar(&'static str),
}

#[derive(Clone, Debug)]
struct Field {
    rule: Rule,
    type_index: usize,
}

/// The patch metadata of a field (`x-kubernetes-patch-*`).
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    strategies: Vec<String>,
    pub(super) merge_key: String,
}

/// The patch strategy of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strategy {
    /// `retainKeys`: the patch lists the fields to keep, and all others are cleared.
    pub(super) retain_keys: bool,
    /// The value is replaced as a whole.
    pub(super) replace: bool,
    /// Elements are merged.
    pub(super) merge: bool,
}

impl Rule {
    pub(super) fn strategy(&self) -> Result<Strategy, PatchError> {
        let unknown = || PatchError::UnknownStrategy(self.strategies.join(" "));
        let (retain_keys, other) = match self.strategies.as_slice() {
            [] => (false, ""),
            [one] if one == "retainKeys" => (true, ""),
            [one] => (false, one.as_str()),
            [first, second] if first == "retainKeys" => (true, second.as_str()),
            [first, second] if second == "retainKeys" => (true, first.as_str()),
            _ => return Err(unknown()),
        };
        Ok(Strategy { retain_keys, replace: other == "replace", merge: other == "merge" })
    }
}

/// A type of a kind, as far as patching needs it.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'k> {
    keys: &'k MergeKeys,
    index: usize,
}

impl<'k> Schema<'k> {
    /// The type of a field that holds a map, with its patch metadata.
    pub(super) fn field(self, key: &Str) -> Result<(Schema<'k>, &'k Rule), PatchError> {
        let owner = &self.keys.types[self.index];
        let unknown =
            || PatchError::UnknownField { owner: owner.name.clone(), field: key.to_str_lossy().into_owned() };
        match &owner.shape {
            Shape::Struct(fields) => {
                let field = fields.get(key).ok_or_else(unknown)?;
                Ok((Schema { keys: self.keys, index: field.type_index }, &field.rule))
            }
            Shape::Map => Err(PatchError::NoStruct("map")),
            Shape::List(_) => Err(PatchError::NoStruct("slice")),
            // Quantities and the like are Go structs, so they have a type name.
            Shape::Scalar(_) if !owner.name.is_empty() => Err(unknown()),
            Shape::Scalar(name) => Err(PatchError::NoStruct(name)),
        }
    }

    /// The element type of a field that holds a list, with the patch metadata of the field.
    pub(super) fn elements(self, key: &Str) -> Result<(Schema<'k>, &'k Rule), PatchError> {
        let (list, rule) = self.field(key)?;
        match self.keys.types[list.index].shape {
            Shape::List(element) => Ok((Schema { keys: self.keys, index: element }, rule)),
            _ => Err(PatchError::NoList),
        }
    }
}

impl MergeKeys {
    /// Parses an OpenAPI v3 document.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn parse(document: &[u8]) -> Result<Self, json::Error> {
        let mut keys = MergeKeys::default();
        keys.add_document(document)?;
        Ok(keys)
    }

    /// Adds another OpenAPI v3 document, such as that of another group.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn add_document(&mut self, document: &[u8]) -> Result<(), json::Error> {
        let document = json::read_exact(document)?;
        let schemas = document.get("components").and_then(|node| node.get("schemas")).and_then(Node::as_map);
        let Some(schemas) = schemas else { return Ok(()) };
        // In two passes: all names first, so that a type can refer to one that comes later in the document.
        let mut new = Vec::new();
        for (name, schema) in schemas.iter() {
            // Documents repeat the types that groups share.
            if !self.names.contains_key(name) {
                let index = self.reserve_type(go_name(name));
                self.names.insert(name.clone(), index);
                new.push((index, schema));
            }
            self.add_kinds(name, schema);
        }
        for (index, schema) in new {
            self.types[index].shape = self.shape(schema);
        }
        Ok(())
    }

    /// The type of a kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<Schema<'_>> {
        let index = *self.kinds.get(&(group.into(), version.into(), kind.into()))?;
        Some(Schema { keys: self, index })
    }

    /// Whether the documents so far describe the kind of an object.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.kind(&id.group, &id.version, &id.kind).is_some()
    }

    /// The path of the document that describes the kind of an object.
    pub fn document_path(id: &ObjectId) -> String {
        let prefix = if id.group.is_empty() { "api" } else { "apis" };
        format!("/openapi/v3/{prefix}/{}", id.api_version())
    }

    fn add_kinds(&mut self, name: &Str, schema: &Node) {
        let Some(list) = schema.get("x-kubernetes-group-version-kind").and_then(Node::as_list) else {
            return;
        };
        let text = |node: &Node, key| node.get(key).and_then(Node::as_text).cloned().unwrap_or_default();
        for kind in list {
            let words = (text(kind, "group"), text(kind, "version"), text(kind, "kind"));
            // Shared types such as DeleteOptions are listed under many kinds; the first document decides.
            self.kinds.entry(words).or_insert(self.names[name]);
        }
    }

    /// Reserves a type whose shape is set later, so that types can refer to themselves.
    fn reserve_type(&mut self, name: String) -> usize {
        self.types.push(Type { name, shape: Shape::Scalar("interface") });
        self.types.len() - 1
    }

    /// The type of a schema; a new one unless it refers to a named one.
    fn type_of(&mut self, schema: &Node) -> usize {
        let schema = match schema.get("allOf").and_then(Node::as_list) {
            Some([first, ..]) => first,
            _ => schema,
        };
        if let Some(reference) = schema.get("$ref").and_then(Node::as_str) {
            let name = reference.strip_prefix("#/components/schemas/").unwrap_or(reference);
            if let Some(index) = self.names.get(name.as_bytes()) {
                return *index;
            }
        }
        let index = self.reserve_type(String::new());
        self.types[index].shape = self.shape(schema);
        index
    }

    fn shape(&mut self, schema: &Node) -> Shape {
        if let Some(properties) = schema.get("properties").and_then(Node::as_map) {
            return with_stack(|| Shape::Struct(self.fields(properties)));
        }
        match schema.get("type").and_then(Node::as_str) {
            Some("array") => match schema.get("items") {
                Some(items) => with_stack(|| Shape::List(self.type_of(items))),
                None => Shape::List(self.reserve_type(String::new())),
            },
            Some("object") if schema.get("additionalProperties").is_some() => Shape::Map,
            Some("object") => Shape::Struct(Map::new()),
            Some("string") => Shape::Scalar("string"),
            Some("boolean") => Shape::Scalar("bool"),
            Some("integer") => Shape::Scalar("int32"),
            Some("number") => Shape::Scalar("float64"),
            _ => Shape::Scalar("interface"),
        }
    }

    fn fields(&mut self, properties: &Map<Node>) -> Map<Field> {
        let mut fields = Map::with_capacity(properties.len());
        for (name, schema) in properties.iter() {
            let text = |key| schema.get(key).and_then(Node::as_str).unwrap_or_default();
            let strategies = text("x-kubernetes-patch-strategy").split(',');
            let rule = Rule {
                strategies: strategies.filter(|word| !word.is_empty()).map(str::to_owned).collect(),
                merge_key: text("x-kubernetes-patch-merge-key").to_owned(),
            };
            let type_index = self.type_of(schema);
            fields.insert(name.clone(), Field { rule, type_index });
        }
        fields
    }
}

/// The Go name of a type: the last part of its dotted name.
fn go_name(name: &Str) -> String {
    let name = name.to_str_lossy();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_followed_through_all_of_and_items() {
        let keys = MergeKeys::parse(
            br##"{"components":{"schemas":{
                "a.Pod":{"type":"object","properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/a.Spec"}]}},
                         "x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}]},
                "a.Spec":{"type":"object","properties":{
                    "volumes":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/a.Volume"}]},
                               "x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge,retainKeys"},
                    "labels":{"type":"object","additionalProperties":{"type":"string"}}}},
                "a.Volume":{"type":"object","properties":{"name":{"type":"string"}}}}}}"##,
        )
        .expect("good JSON");
        let (spec, _) = keys.kind("", "v1", "Pod").expect("a kind").field(&"spec".into()).expect("a field");
        let (_, rule) = spec.elements(&"volumes".into()).expect("a list");
        assert_eq!(rule.merge_key, "name");
        let strategy = rule.strategy().expect("known words");
        assert_eq!(strategy, Strategy { retain_keys: true, replace: false, merge: true });
        let (labels, _) = spec.field(&"labels".into()).expect("a field");
        assert_eq!(labels.field(&"a".into()).expect_err("a plain map"), PatchError::NoStruct("map"));
        assert_eq!(spec.elements(&"labels".into()).expect_err("no list"), PatchError::NoList);
        let error = spec.field(&"nonsense".into()).expect_err("no such field").to_string();
        assert_eq!(error, "unable to find api field in struct Spec for the json field \"nonsense\"");
    }

    #[test]
    fn documents_are_found_by_group_and_version() {
        let path = |api_version| MergeKeys::document_path(&ObjectId::new(api_version, "X", "", "x"));
        assert_eq!(path("v1"), "/openapi/v3/api/v1");
        assert_eq!(path("apps/v1"), "/openapi/v3/apis/apps/v1");
        assert!(!MergeKeys::default().contains(&ObjectId::new("v1", "Pod", "", "x")));
    }

    #[test]
    fn recursive_types_and_bad_references_terminate() {
        let keys = MergeKeys::parse(
            br##"{"components":{"schemas":{"Loop":{"properties":{"next":{"$ref":"#/components/schemas/Loop"},
                "lost":{"$ref":"#/nowhere"}},"x-kubernetes-group-version-kind":[{"version":"v1","kind":"Loop"}]}}}}"##,
        )
        .expect("good JSON");
        let (next, _) = keys.kind("", "v1", "Loop").expect("a kind").field(&"next".into()).expect("itself");
        assert!(next.field(&"next".into()).is_ok() && next.field(&"lost".into()).is_ok());
    }
}
