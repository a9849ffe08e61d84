//! `crds`: OpenAPI definitions that say which fields of custom objects are labels, annotations, names and references.

use pintle_tree::{Map, Node};

use crate::config::{Config, FieldSpec, NameReference, Purpose};
use crate::id::Gvk;

/// How deep definitions may refer to each other.
const DEPTH: usize = 30;

/// The fields that a file of definitions names.
pub(crate) fn config_of(text: &[u8]) -> Result<Config, String> {
    let node = pintle_yaml::read_exact(text).map_err(|error| error.to_string())?;
    let definitions = node.as_map().ok_or("the file is no map of OpenAPI definitions")?;
    if let Some((name, _)) = definitions.iter().find(|(_, definition)| definition.as_map().is_none()) {
        return Err(format!(
            "{name} is no OpenAPI definition; a CustomResourceDefinition belongs into resources"
        ));
    }
    let mut config = Config::default();
    for (name, _) in definitions.iter() {
        let name = name.to_str_lossy();
        let Some(properties) = properties(definitions, &name) else { continue };
        if ["kind", "apiVersion", "metadata"].iter().all(|field| properties.contains_key(field)) {
            let kind = name.rsplit('.').next().unwrap_or_default();
            let gvk = Gvk { kind: kind.into(), ..Gvk::default() };
            let mut left = 100_000;
            add(&mut config, definitions, &gvk, &name, "", 0, &mut left)?;
        }
    }
    Ok(config)
}

fn properties<'n>(definitions: &'n Map<Node>, name: &str) -> Option<&'n Map<Node>> {
    let definition = definitions.get(name)?;
    let schema = definition.get("Schema").or_else(|| definition.get("schema"))?;
    schema.get("properties").and_then(Node::as_map)
}

fn add(
    config: &mut Config,
    definitions: &Map<Node>,
    gvk: &Gvk,
    name: &str,
    path: &str,
    depth: usize,
    left: &mut usize,
) -> Result<(), String> {
    if depth > DEPTH {
        return Err(format!("the definitions refer to each other deeper than {DEPTH} levels, at {path}"));
    }
    for (field, property) in properties(definitions, name).into_iter().flat_map(Map::iter) {
        *left = left.checked_sub(1).ok_or("the definitions have too many fields")?;
        let path = if path.is_empty() { field.to_string() } else { format!("{path}/{field}") };
        let text = |key: &str| property.get(key).and_then(Node::as_str);
        for (key, purpose) in [
            ("x-kubernetes-annotation", Purpose::CommonAnnotations),
            ("x-kubernetes-label-selector", Purpose::CommonLabels),
            ("x-kubernetes-identity", Purpose::NamePrefix),
        ] {
            if text(key).is_some() {
                config.add(purpose, FieldSpec::new(gvk.clone(), &path, false));
            }
        }
        let version = text("x-kubernetes-object-ref-api-version");
        if let Some((version, kind)) = version.zip(text("x-kubernetes-object-ref-kind")) {
            let key = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            config.references.push(NameReference {
                target: Gvk { version: version.into(), kind: kind.into(), ..Gvk::default() },
                referrers: vec![FieldSpec::new(gvk.clone(), &format!("{path}/{key}"), false)],
            });
        }
        if let Some(reference) = text("$ref") {
            add(config, definitions, gvk, reference, &path, depth + 1, left)?;
        }
    }
    Ok(())
}
