//! Fields of Kubernetes objects in templates: a template with its actions masked is YAML for most of what is written, which
//! says the kind and the path at the cursor.

use std::ops::Range;

use pintle::embedded::ApiCatalog;
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};
use pintle_tree::{Node, Str};

use crate::outline::{Outline, unquoted};
use crate::project::Project;

/// A field that an object can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type, as in `[]Container`.
    pub kind: String,
    /// What it is for.
    pub about: String,
    /// Whether it has fields or items itself.
    pub is_nested: bool,
}

/// The text of a template as YAML of the same length: one branch of each block, the one with the offset if there is one; actions
/// in values as scalars; nothing of other actions.
pub fn mask(tree: &SyntaxTree, offset: usize) -> String {
    let text = tree.text().as_bytes();
    // Line breaks stay, so that lines are those of the template.
    let mut out: Vec<u8> =
        text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { *byte } else { b' ' }).collect();
    mask_body(tree, NodeId::ROOT, offset, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn mask_body(tree: &SyntaxTree, body: NodeId, offset: usize, out: &mut [u8]) {
    for node in tree.children(body) {
        let range = tree.range(node);
        match tree.kind(node) {
            NodeKind::Text => out[range.clone()].copy_from_slice(tree.text_of(node)),
            NodeKind::Action | NodeKind::Call if has_neighbours(tree, &range) && !declares(tree, node) => {
                for at in range {
                    if out[at] == b' ' {
                        out[at] = b'x';
                    }
                }
            }
            // The text around belongs to other objects.
            NodeKind::Define if range.contains(&offset) => {
                out.iter_mut()
                    .for_each(|byte| *byte = if matches!(*byte, b'\n' | b'\r') { *byte } else { b' ' });
                if let Some(body) = tree.child(node, NodeKind::Body) {
                    mask_body(tree, body, offset, out);
                }
                return;
            }
            NodeKind::Define => {}
            kind if kind.is_block() => {
                let bodies: Vec<NodeId> =
                    tree.clauses(node).into_iter().filter_map(|(_, body)| body).collect();
                let here = |body: &&NodeId| {
                    let range = tree.range(**body);
                    range.start <= offset && offset <= range.end && !range.is_empty()
                };
                if let Some(body) = bodies.iter().find(here).or(bodies.first()) {
                    mask_body(tree, *body, offset, out);
                }
            }
            _ => {}
        }
    }
}

fn declares(tree: &SyntaxTree, action: NodeId) -> bool {
    let pipe = tree.child(action, NodeKind::Pipeline);
    pipe.and_then(|pipe| tree.children(pipe).next())
        .is_some_and(|first| matches!(tree.kind(first), NodeKind::Declaration | NodeKind::Assignment))
}

/// Whether something else is on the line of an action.
fn has_neighbours(tree: &SyntaxTree, range: &Range<usize>) -> bool {
    let text = tree.text().as_bytes();
    let before = text[..range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let after =
        text[range.end..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| range.end + at);
    let blank = |part: &[u8]| part.trim_ascii().is_empty();
    !(blank(&text[before..range.start]) && blank(&text[range.end..after]))
}

/// Where the cursor is in an object.
#[derive(Debug)]
pub struct Spot {
    /// The schema of the object.
    schema: Node,
    /// The keys from the object to what contains the cursor.
    path: Vec<Option<String>>,
}

/// The object in an outline that contains a node, and the path of the node in it.
pub fn spot(project: &Project, outline: &Outline, text: &str, node: usize) -> Option<Spot> {
    let mut document = node;
    while let Some(parent) = outline.node(document).parent {
        document = parent;
    }
    let value = |key: &str| {
        let found = outline.find(document, &[Some(key)]);
        found.first().map(|id| unquoted(&text[outline.node(*id).value.clone()]))
    };
    let kind = value("kind")?;
    let schema = schema_of(project, &value("apiVersion").unwrap_or_default(), &kind)?;
    Some(Spot { schema, path: outline.path(node) })
}

/// The schema of a kind. If the version is computed, that of the first group with the kind.
fn schema_of(project: &Project, api_version: &str, kind: &str) -> Option<Node> {
    let catalog = ApiCatalog::newest();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let exact = catalog.kind(group, version, kind);
    let unknown = api_version.is_empty() || api_version.contains("xx");
    let resource = exact.or_else(|| {
        let mut resources = catalog.resources().iter();
        resources.find(|resource| unknown && resource.kind == *kind && !resource.definition.is_empty())
    });
    if let Some(resource) = resource.filter(|resource| !resource.definition.is_empty()) {
        return definition(&resource.definition);
    }
    custom_schema(project, group, version, kind)
}

/// The schema of a custom resource, from the CRDs of the charts.
fn custom_schema(project: &Project, group: &str, version: &str, kind: &str) -> Option<Node> {
    let text = |node: Option<&Node>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
    for file in project.files.iter().filter(|file| file.name.starts_with("crds/")) {
        if !file.text.text.contains(kind) {
            continue;
        }
        for document in pintle_yaml::read_documents(file.text.text.as_bytes()).unwrap_or_default() {
            let Some(spec) = document.get("spec") else { continue };
            let named =
                spec.get("names").and_then(|names| names.get("kind")).and_then(Node::as_str) == Some(kind);
            if !named || text(spec.get("group")) != group {
                continue;
            }
            for entry in spec.get("versions").and_then(Node::as_list).unwrap_or_default() {
                if text(entry.get("name")) == version {
                    return entry.get("schema")?.get("openAPIV3Schema").cloned();
                }
            }
        }
    }
    None
}

/// A definition with its descriptions, which are stored apart, in the order of a walk.
fn definition(name: &Str) -> Option<Node> {
    let catalog = ApiCatalog::newest();
    let mut schema = catalog.definitions().source(name)?;
    let mut descriptions = catalog.descriptions(name).unwrap_or_default().iter();
    describe(&mut schema, &mut descriptions);
    Some(schema)
}

fn describe<'d>(schema: &mut Node, descriptions: &mut impl Iterator<Item = &'d Node>) {
    let Node::Map(map) = schema else { return };
    if let Some(text @ Node::Str(_)) = descriptions.next() {
        map.insert("description".into(), text.clone());
    }
    if let Some(Node::Map(properties)) = map.get_mut("properties") {
        properties.iter_mut().for_each(|(_, property)| describe(property, descriptions));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child @ Node::Map(_)) = map.get_mut(key) {
            describe(child, descriptions);
        }
    }
}

/// A schema without references.
fn resolved(schema: &Node) -> Node {
    let target = |schema: &Node| {
        let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned();
        definition(&Str::from(name))
    };
    let inner = schema.get("allOf").and_then(Node::as_list).and_then(|list| list.first());
    target(schema).or_else(|| inner.and_then(target)).unwrap_or_else(|| schema.clone())
}

impl Spot {
    /// The schema at the path; `None` if the path leads to nothing that is known.
    fn schema(&self, last: Option<&str>) -> Option<Node> {
        let mut schema = resolved(&self.schema);
        let steps = self.path.iter().map(Option::as_deref).chain(last.map(Some));
        for step in steps {
            let next = match step {
                Some(key) => {
                    let named = schema.get("properties").and_then(|properties| properties.get(key));
                    named.or_else(|| schema.get("additionalProperties")).cloned()
                }
                None => schema.get("items").cloned(),
            };
            schema = resolved(&next?);
        }
        Some(schema)
    }

    /// The fields that can be here.
    pub fn fields(&self) -> Vec<Field> {
        let Some(schema) = self.schema(None) else { return Vec::new() };
        // Behind a key whose value is a list, the fields of its items are meant.
        let schema = match schema.get("items") {
            Some(items) => resolved(items),
            None => schema,
        };
        let properties = schema.get("properties").and_then(Node::as_map);
        properties
            .into_iter()
            .flat_map(|map| map.iter())
            .map(|(name, schema)| field(&name.to_str_lossy(), schema))
            .collect()
    }

    /// What is known about a field here.
    pub fn about(&self, name: &str) -> Option<Field> {
        let parent = self.schema(None)?;
        let written = parent.get("properties").and_then(|properties| properties.get(name))?;
        Some(field(name, written))
    }

    /// The values that are allowed here.
    pub fn values(&self) -> Vec<String> {
        let Some(schema) = self.schema(None) else { return Vec::new() };
        if schema.get("type").and_then(Node::as_str) == Some("boolean") {
            return vec!["true".to_owned(), "false".to_owned()];
        }
        let allowed = schema.get("enum").and_then(Node::as_list).unwrap_or_default();
        allowed.iter().filter_map(Node::as_str).map(str::to_owned).collect()
    }
}

fn field(name: &str, schema: &Node) -> Field {
    let target = resolved(schema);
    let about = [schema, &target]
        .iter()
        .find_map(|schema| schema.get("description").and_then(Node::as_str))
        .unwrap_or_default();
    let is_nested = target.get("properties").is_some()
        || target.get("items").is_some()
        || target.get("additionalProperties").is_some();
    Field { name: name.to_owned(), kind: type_text(schema), about: about.to_owned(), is_nested }
}

fn type_text(schema: &Node) -> String {
    let reference = schema.get("$ref").or_else(|| schema.get("allOf")?.as_list()?.first()?.get("$ref"));
    if let Some(reference) = reference.and_then(Node::as_str) {
        return reference.rsplit('.').next().unwrap_or_default().to_owned();
    }
    match schema.get("type").and_then(Node::as_str) {
        Some("array") => format!("[]{}", schema.get("items").map(type_text).unwrap_or_default()),
        Some("object") => match schema.get("additionalProperties") {
            Some(values) => format!("map of {}", type_text(values)),
            None => "object".to_owned(),
        },
        Some(kind) => kind.to_owned(),
        None => String::new(),
    }
}
