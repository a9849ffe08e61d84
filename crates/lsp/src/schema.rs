//! What values.schema.json says about a path.

use pintle_tree::{Node, json};

use crate::analysis::Analysis;
use crate::project::{FileKind, Instance};
use crate::shape::Segment;
use crate::values::expand;

/// The maximum number of references that are followed on the way to a path.
const MAX_STEPS: usize = 2000;

impl Analysis {
    /// The schemas that apply to a path.
    fn schemas(&self, instance: Instance, path: &[Segment]) -> Vec<(&Node, Vec<Segment>)> {
        let mut found = Vec::new();
        for (instance, path) in expand(&self.project, instance, path) {
            let chart = self.project.chart_of(instance);
            let schema = chart.files.iter().map(|file| self.project.file(*file));
            let Some(file) = schema.into_iter().find(|file| file.kind == FileKind::Schema) else { continue };
            if let Some(root) = &file.text.schema {
                found.push((root, path));
            }
        }
        found
    }

    /// The keys that schemas know at a path, with their descriptions.
    pub fn schema_keys(&self, instance: Instance, path: &[Segment]) -> Vec<(String, String)> {
        let mut keys = Vec::new();
        for (root, path) in self.schemas(instance, path) {
            let mut budget = MAX_STEPS;
            for schema in at_path(root, &path, &mut budget) {
                let properties = schema.get("properties").and_then(Node::as_map);
                for (name, property) in properties.into_iter().flat_map(|map| map.iter()) {
                    keys.push((name.to_str_lossy().into_owned(), describe(property)));
                }
            }
        }
        keys
    }

    /// What schemas say about a value.
    pub fn schema_about(&self, instance: Instance, path: &[Segment]) -> Vec<String> {
        let mut found = Vec::new();
        for (root, path) in self.schemas(instance, path) {
            let mut budget = MAX_STEPS;
            for schema in at_path(root, &path, &mut budget) {
                let text = describe(schema);
                if !text.is_empty() && !found.contains(&text) {
                    found.push(text);
                }
            }
        }
        found
    }

    /// The values that schemas allow at a path.
    pub fn schema_values(&self, instance: Instance, path: &[Segment]) -> Vec<String> {
        let mut found = Vec::new();
        for (root, path) in self.schemas(instance, path) {
            let mut budget = MAX_STEPS;
            for schema in at_path(root, &path, &mut budget) {
                let allowed = schema.get("enum").and_then(Node::as_list).unwrap_or_default();
                found.extend(
                    allowed.iter().filter_map(|value| String::from_utf8(json::write(value).ok()?).ok()),
                );
            }
        }
        found
    }
}

fn describe(schema: &Node) -> String {
    let text = |key: &str| schema.get(key).and_then(Node::as_str).unwrap_or_default().trim().to_owned();
    let kind = text("type");
    let about =
        [text("title"), text("description")].into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    match (kind.is_empty(), about.is_empty()) {
        (true, _) => about,
        (false, true) => format!("({kind})"),
        (false, false) => format!("({kind}) {about}"),
    }
}

/// The schemas at a path, through references and combinations.
fn at_path<'n>(root: &'n Node, path: &[Segment], budget: &mut usize) -> Vec<&'n Node> {
    let mut found = Vec::new();
    resolve(root, root, budget, &mut found);
    for segment in path {
        let mut next = Vec::new();
        for schema in found {
            let below: Vec<&Node> = match segment {
                Segment::Key(key) => {
                    let named = schema.get("properties").and_then(|properties| properties.get(key));
                    let named = named.or_else(|| schema.get("additionalProperties"));
                    named.into_iter().collect()
                }
                Segment::Any => {
                    let items = schema.get("items");
                    items.or_else(|| schema.get("additionalProperties")).into_iter().collect()
                }
            };
            for schema in below {
                resolve(root, schema, budget, &mut next);
            }
        }
        found = next;
    }
    found
}

/// A schema with all that it refers to.
fn resolve<'n>(root: &'n Node, schema: &'n Node, budget: &mut usize, into: &mut Vec<&'n Node>) {
    if *budget == 0 || schema.as_map().is_none() {
        return;
    }
    *budget -= 1;
    into.push(schema);
    if let Some(reference) = schema.get("$ref").and_then(Node::as_str)
        && let Some(pointer) = reference.strip_prefix("#/")
    {
        let target = pointer
            .split('/')
            .try_fold(root, |node, step| node.get(step.replace("~1", "/").replace("~0", "~")));
        if let Some(target) = target {
            resolve(root, target, budget, into);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for part in schema.get(key).and_then(Node::as_list).unwrap_or_default() {
            resolve(root, part, budget, into);
        }
    }
}
