//! Derives a schema from values.yaml: types from its values, descriptions from its comments.

use pintle_tree::{Map, Node, Str, json};

use super::annotations;

/// The format of a schema file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaFormat {
    /// values.schema.json.
    #[default]
    Json,
    /// values.schema.yaml.
    Yaml,
}

/// The latest draft that all versions of Helm 3 know.
pub(super) const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Writes a schema that the values in `text` satisfy. Null gives no type, because it does not say what the value may
/// be.
///
/// # Errors
/// When the text is not a values file.
pub fn derive(text: &[u8], format: SchemaFormat) -> Result<Vec<u8>, String> {
    derive_with(text, &[], format)
}

/// Like [`derive()`], with properties for the paths in `read`, which templates read but the text lacks. Their schemas are
/// empty.
///
/// # Errors
/// As [`derive()`].
pub fn derive_with(text: &[u8], read: &[Vec<Str>], format: SchemaFormat) -> Result<Vec<u8>, String> {
    let values = pintle_yaml::read_values(text).map_err(|error| error.to_string())?;
    let comments = comments(&String::from_utf8_lossy(text));
    let mut schema = object_schema(&values, "", &comments);
    annotations::apply(text, &mut schema)?;
    for path in read {
        add_property(&mut schema, path);
    }
    schema.insert("$schema".into(), Node::from(DRAFT));
    match format {
        SchemaFormat::Json => {
            let mut text = json::write_pretty(&schema).map_err(|error| error.to_string())?;
            text.push(b'\n');
            Ok(text)
        }
        SchemaFormat::Yaml => pintle_yaml::write(&schema).map_err(|error| error.to_string()),
    }
}

/// Adds a property, unless the schema has it or its parent is not an object.
fn add_property(schema: &mut Map<Node>, path: &[Str]) {
    let Some((first, rest)) = path.split_first() else { return };
    if schema.get("type").is_some_and(|kind| *kind != Node::from("object")) || schema.get("$ref").is_some() {
        return;
    }
    let properties = schema.entry_or_insert_with(&"properties".into(), Node::empty_map);
    let Node::Map(properties) = properties else { return };
    if let Node::Map(property) = properties.entry_or_insert_with(first, Node::empty_map) {
        add_property(property, rest);
    }
}

fn object_schema(values: &Map<Node>, path: &str, comments: &Map<String>) -> Map<Node> {
    let mut properties = Map::with_capacity(values.len());
    for (key, node) in values.iter() {
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        let mut schema = node_schema(node, &path, comments);
        if let Some(comment) = comments.get(&path) {
            schema.insert("description".into(), Node::from(comment.as_str()));
        }
        properties.insert(key.clone(), Node::Map(schema));
    }
    let mut schema = typed("object");
    if !properties.is_empty() {
        schema.insert("properties".into(), Node::Map(properties));
    }
    schema
}

fn node_schema(node: &Node, path: &str, comments: &Map<String>) -> Map<Node> {
    let Some(name) = type_name(node) else { return Map::new() };
    match node {
        Node::Map(map) => object_schema(map, path, comments),
        Node::List(list) => {
            let mut schema = typed(name);
            // Lists with items of different types say nothing about the next item.
            if let Some(items) = common_type(list) {
                schema.insert("items".into(), Node::Map(typed(items)));
            }
            schema
        }
        _ => {
            let mut schema = typed(name);
            schema.insert("default".into(), node.clone());
            schema
        }
    }
}

fn typed(name: &str) -> Map<Node> {
    [(Str::from("type"), Node::from(name))].into_iter().collect()
}

pub(super) fn type_name(node: &Node) -> Option<&'static str> {
    match node {
        Node::Nil => None,
        Node::Bool(_) => Some("boolean"),
        Node::Int(_) => Some("integer"),
        // Numbers of values files are floats, also those that are written as integers.
        Node::Float(value) => Some(if value.fract() == 0.0 { "integer" } else { "number" }),
        Node::Str(_) => Some("string"),
        Node::List(_) => Some("array"),
        Node::Map(_) => Some("object"),
    }
}

/// The common type of all items, if there is one.
fn common_type(list: &[Node]) -> Option<&'static str> {
    let first = type_name(list.first()?)?;
    list.iter().all(|item| type_name(item) == Some(first)).then_some(first)
}

/// The comments directly above the keys of block maps, by key path.
fn comments(text: &str) -> Map<String> {
    let mut found = Vec::new();
    let mut pending: Vec<&str> = Vec::new();
    // The enclosing keys of the current line, with their indentation.
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut block_scalar: Option<usize> = None;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        if let Some(outer) = block_scalar {
            // The lines of a block scalar can look like keys and comments.
            if content.is_empty() || indent > outer {
                continue;
            }
            block_scalar = None;
        }
        if let Some(comment) = content.strip_prefix('#') {
            pending.push(comment);
            continue;
        }
        let lines = std::mem::take(&mut pending);
        let Some((key, value)) = key_and_value(content) else { continue };
        open.retain(|(outer, _)| *outer < indent);
        open.push((indent, key));
        if value.starts_with(['|', '>']) {
            block_scalar = Some(indent);
        }
        let path = open.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".");
        if let Some(description) = description(&lines, &path) {
            found.push((Str::from(path), description));
        }
    }
    Map::from_entries(found)
}

/// Splits `key: value`. Quoted or complex keys get no description.
fn key_and_value(content: &str) -> Option<(&str, &str)> {
    let (key, value) = content.split_once(':')?;
    let plain = |character: char| character.is_alphanumeric() || "-_./".contains(character);
    let ends = value.is_empty() || value.starts_with(' ');
    (ends && !key.is_empty() && !key.starts_with('-') && key.chars().all(plain))
        .then_some((key, value.trim()))
}

/// The description in comment lines: markers of documentation tools and commented-out values are left out.
fn description(lines: &[&str], path: &str) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    let mut in_block = false;
    for line in lines {
        let line = line.trim_start_matches('#').trim();
        if annotations::marker(line).is_some() {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        if let Some(parameter) = line.strip_prefix("@param") {
            match parameter.trim_start().strip_prefix(path) {
                Some(rest) => words.push(rest.trim_start_matches(|c: char| !c.is_whitespace()).trim()),
                None => continue,
            }
        } else if let Some(text) = line.strip_prefix("--") {
            words.clear();
            words.push(annotations::without_type(text.trim()));
        } else if !line.starts_with('@') && !line.starts_with("- ") && key_and_value(line).is_none() {
            words.push(line);
        }
    }
    let text = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_comments_become_a_schema() {
        let text = b"# -- How many\nreplicas: 1\nimage:\n  # Where it\n  # comes from\n  name: nginx\n  # tag: x\n  tag:\nports: [80]\nratio: 0.5\n";
        let schema = json::read(&derive(text, SchemaFormat::Json).unwrap()).unwrap();
        let at = |path: &str| pintle_tree::path::get(&schema, path).cloned().unwrap_or_default();
        assert_eq!(at("properties.replicas.description"), Node::from("How many"));
        assert_eq!(at("properties.replicas.type"), Node::from("integer"));
        assert_eq!(at("properties.image.properties.name.description"), Node::from("Where it comes from"));
        assert_eq!(at("properties.image.properties.tag"), Node::empty_map());
        assert_eq!(at("properties.ports.items.type"), Node::from("integer"));
        assert_eq!(at("properties.ratio.type"), Node::from("number"));
    }

    #[test]
    fn derived_schemas_accept_what_they_were_derived_from() {
        let text = b"a: {b: [1, x], c: null}\nd: true\n";
        let schema = derive(text, SchemaFormat::Yaml).unwrap();
        let values = Node::Map(pintle_yaml::read_values(text).unwrap());
        let mut read = |_: &str| Err("no files".to_owned());
        assert_eq!(super::super::check_yaml(&values, &schema, &mut read, &mut Vec::new()), Ok(()));
    }
}
