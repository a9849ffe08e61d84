//! Which lists of built-in kinds merge by which keys.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_tree::{Node, Str};

use crate::value::Value;

/// The types with lists that merge, by name; built-in ones, or those of an `openapi` file.
#[derive(Debug, Default)]
pub(crate) struct Types {
    types: BTreeMap<String, BTreeMap<String, Field>>,
    /// The type of `apiVersion/kind`.
    kinds: BTreeMap<String, String>,
}

/// A field that is, or leads to, a list that merges.
#[derive(Clone, Debug, Default)]
struct Field {
    /// `[]` for each list around the type, `{}` for each map.
    around: String,
    /// The type; empty if nothing in it merges.
    name: String,
    /// The keys by which items merge; none if the list is replaced, empty if it has no key.
    keys: Option<Vec<String>>,
}

/// The type of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'t> {
    types: &'t Types,
    around: &'t str,
    name: &'t str,
    keys: Option<&'t [String]>,
}

impl Types {
    /// The types of kustomize's own schema.
    pub(crate) fn builtin() -> &'static Types {
        static BUILTIN: LazyLock<Types> = LazyLock::new(|| parse(include_str!("merge_keys.txt")));
        &BUILTIN
    }

    /// Reads the definitions of an OpenAPI file.
    pub(crate) fn from_openapi(document: &Node) -> Result<Types, String> {
        let definitions = document.get("definitions").and_then(Node::as_map);
        let definitions = definitions.ok_or("it has no definitions")?;
        let mut types = Types::default();
        for (name, definition) in definitions.iter() {
            let name = name.to_str_lossy().into_owned();
            for kind in
                definition.get("x-kubernetes-group-version-kind").and_then(Node::as_list).unwrap_or_default()
            {
                let text = |key| kind.get(key).and_then(Node::as_str).unwrap_or_default();
                let api_version = match text("group") {
                    "" => text("version").to_owned(),
                    group => format!("{group}/{}", text("version")),
                };
                types.kinds.insert(format!("{api_version}/{}", text("kind")), name.clone());
            }
            let mut fields = BTreeMap::new();
            let properties = definition.get("properties").and_then(Node::as_map);
            for (field, property) in properties.into_iter().flat_map(pintle_tree::Map::iter) {
                types.add_property(&mut fields, &format!("{name}."), &field.to_str_lossy(), property, 0);
            }
            types.types.insert(name, fields);
        }
        Ok(types)
    }

    fn add_property(
        &mut self,
        fields: &mut BTreeMap<String, Field>,
        owner: &str,
        name: &str,
        property: &Node,
        depth: usize,
    ) {
        let mut field = Field { keys: merge_keys(property), ..Field::default() };
        let mut inner = property;
        loop {
            if let Some(items) = inner.get("items") {
                field.around.push_str("[]");
                inner = items;
            } else if let Some(values) =
                inner.get("additionalProperties").filter(|node| node.as_map().is_some())
            {
                field.around.push_str("{}");
                inner = values;
            } else {
                break;
            }
        }
        if let Some(reference) = inner.get("$ref").and_then(Node::as_str) {
            field.name = reference.trim_start_matches("#/definitions/").to_owned();
        } else if let Some(properties) = inner.get("properties").and_then(Node::as_map).filter(|_| depth < 50)
        {
            // A type without a name gets that of its field.
            field.name = format!("{owner}{name}");
            let mut inner_fields = BTreeMap::new();
            for (key, property) in properties.iter() {
                let owner = format!("{}.", field.name);
                self.add_property(&mut inner_fields, &owner, &key.to_str_lossy(), property, depth + 1);
            }
            self.types.insert(field.name.clone(), inner_fields);
        }
        fields.insert(name.to_owned(), field);
    }

    /// The type of an object, by its kind.
    pub(crate) fn of_object(&self, value: &Value) -> Option<Schema<'_>> {
        let text = |key| value.get(key).filter(|value| !value.is_empty()).map(Value::text);
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let name = self.kinds.get(&format!("{api_version}/{kind}"))?;
        Some(Schema { types: self, around: "", name, keys: None })
    }
}

/// The keys of a list that merges.
fn merge_keys(property: &Node) -> Option<Vec<String>> {
    let text = |key: &str| property.get(key).and_then(Node::as_str);
    let merges =
        text("x-kubernetes-patch-strategy").is_some_and(|words| words.split(',').any(|word| word == "merge"));
    let listed = property.get("x-kubernetes-list-map-keys").and_then(Node::as_list);
    let listed: Option<Vec<String>> =
        listed.map(|keys| keys.iter().filter_map(Node::as_str).map(str::to_owned).collect());
    let single = || text("x-kubernetes-patch-merge-key").into_iter().map(str::to_owned).collect();
    merges.then(|| listed.unwrap_or_else(single))
}

impl<'t> Schema<'t> {
    /// The type of a field, or of the values of a map.
    pub(crate) fn field(self, key: &Str) -> Option<Schema<'t>> {
        if let Some(around) = self.around.strip_prefix("{}") {
            return self.inner(around);
        }
        if !self.around.is_empty() {
            return None;
        }
        let field = self.types.types.get(self.name)?.get(key.as_str()?)?;
        Some(Schema {
            types: self.types,
            around: &field.around,
            name: &field.name,
            keys: field.keys.as_deref(),
        })
    }

    /// The type of the items of a list.
    pub(crate) fn items(self) -> Option<Schema<'t>> {
        self.inner(self.around.strip_prefix("[]")?)
    }

    fn inner(self, around: &'t str) -> Option<Schema<'t>> {
        (!around.is_empty() || !self.name.is_empty()).then_some(Schema { around, keys: None, ..self })
    }

    /// The keys by which items merge; `None` if the list is replaced.
    pub(crate) fn merge_keys(self) -> Option<&'t [String]> {
        self.keys
    }
}

/// Reads the table: a line for each type, with its kinds, and below it a line for each field.
fn parse(table: &str) -> Types {
    let mut types = Types::default();
    let mut current = String::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if !line.starts_with(' ') {
            current = first.to_owned();
            types.kinds.extend(words.map(|kind| (kind.to_owned(), current.clone())));
            types.types.entry(current.clone()).or_default();
            continue;
        }
        let target = words.next().unwrap_or("-");
        let at = target.find(|letter: char| !"[]{}".contains(letter)).unwrap_or(target.len());
        let name = if &target[at..] == "-" { "" } else { &target[at..] };
        let keys = (words.next() == Some("merge")).then(|| words.map(str::to_owned).collect());
        let field = Field { around: target[..at].to_owned(), name: name.to_owned(), keys };
        types.types.entry(current.clone()).or_default().insert(first.to_owned(), field);
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_a_deployment_merge_by_name_and_their_ports_by_two_keys() {
        let deployment = crate::value::read(b"{apiVersion: apps/v1, kind: Deployment}").expect("YAML");
        let mut schema = Types::builtin().of_object(&deployment).expect("a kind");
        for key in ["spec", "template", "spec", "containers"] {
            schema = schema.field(&key.into()).expect("a field");
        }
        assert_eq!(schema.merge_keys(), Some(&["name".to_owned()][..]));
        let ports = schema.items().and_then(|item| item.field(&"ports".into())).expect("ports");
        assert_eq!(ports.merge_keys(), Some(&["containerPort".to_owned(), "protocol".to_owned()][..]));
        assert!(schema.items().and_then(|item| item.field(&"args".into())).is_none());
    }
}
