//! Compares the objects of an app on both sides, field by field.

use std::collections::BTreeMap;

use pintle_objects::ObjectId;
use pintle_tree::{Map, Node, Segment, ValuePath};

use super::render::RenderedObject;
use super::report::Cause;

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Fields of it differ.
    Changed,
}

impl ObjectChangeKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ObjectChangeKind::Added => "added",
            ObjectChangeKind::Removed => "removed",
            ObjectChangeKind::Changed => "changed",
        }
    }
}

/// The change of an object.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The object, without its version.
    pub id: ObjectId,
    /// What happens to it.
    pub kind: ObjectChangeKind,
    /// The rendered file.
    pub template: String,
    /// The fields that differ; none if the object is new or gone.
    pub fields: Vec<FieldChange>,
    /// Why the object is new or gone.
    pub causes: Vec<Cause>,
    /// Whether nothing but labels of the chart, checksums and images differ.
    pub is_routine: bool,
    pub(crate) old: Option<std::sync::Arc<Map<Node>>>,
    pub(crate) new: Option<std::sync::Arc<Map<Node>>>,
}

/// The change of a field.
#[derive(Clone, Debug)]
pub struct FieldChange {
    /// The field, with the names of list items in place of their indexes: `containers[web].image`.
    pub name: String,
    /// The field in the object on the side where it is, by index.
    pub path: ValuePath,
    /// The value before; `None` if there was none.
    pub old: Option<Node>,
    /// The value after; `None` if there is none.
    pub new: Option<Node>,
    /// Whether the value must not be shown.
    pub is_secret: bool,
    /// Why it differs.
    pub causes: Vec<Cause>,
}

/// The key of a field: the object, and the field with names of list items.
pub(crate) type FieldKey = (ObjectId, String);

/// The most fields of one object that are told apart.
const MAX_FIELDS: usize = 2_000;
/// How deep objects are compared.
const MAX_DEPTH: usize = 100;

/// All changes between two sets of objects, in the order of the ids.
pub(crate) fn compare(old: &[RenderedObject], new: &[RenderedObject]) -> Vec<ObjectChange> {
    let (old, new) = (by_id(old), by_id(new));
    let mut changes = Vec::new();
    for (key, object) in &old {
        let Some(other) = new.get(key) else {
            changes.push(whole(object, ObjectChangeKind::Removed));
            continue;
        };
        if object.body == other.body {
            continue;
        }
        let fields = field_changes(&key.0, &object.body, &other.body);
        if !fields.is_empty() {
            let is_routine = fields.iter().all(|field| is_routine(&field.name));
            changes.push(ObjectChange {
                id: key.0.clone(),
                kind: ObjectChangeKind::Changed,
                template: other.template.clone(),
                fields,
                causes: Vec::new(),
                is_routine,
                old: Some(object.body.clone()),
                new: Some(other.body.clone()),
            });
        }
    }
    let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
    changes.extend(added.map(|(_, object)| whole(object, ObjectChangeKind::Added)));
    changes.sort_by(|a, b| (&a.id, a.kind).cmp(&(&b.id, b.kind)));
    changes
}

fn whole(object: &RenderedObject, kind: ObjectChangeKind) -> ObjectChange {
    let body = Some(object.body.clone());
    let (old, new) = if kind == ObjectChangeKind::Removed { (body, None) } else { (None, body) };
    ObjectChange {
        id: object.id.clone(),
        kind,
        template: object.template.clone(),
        fields: Vec::new(),
        causes: Vec::new(),
        is_routine: false,
        old,
        new,
    }
}

/// Objects by id; those that are there several times have a number.
fn by_id(objects: &[RenderedObject]) -> BTreeMap<(ObjectId, usize), &RenderedObject> {
    let mut found = BTreeMap::new();
    for object in objects {
        let number = (0..).find(|number| !found.contains_key(&(object.id.clone(), *number))).unwrap_or(0);
        found.insert((object.id.clone(), number), object);
    }
    found
}

/// The fields that differ, as a set: what a revert of an input has changed.
pub(crate) fn field_keys(old: &[RenderedObject], new: &[RenderedObject]) -> BTreeMap<FieldKey, Option<Node>> {
    let mut keys = BTreeMap::new();
    for change in compare(old, new) {
        if change.kind != ObjectChangeKind::Changed {
            keys.insert((change.id.clone(), String::new()), None);
        }
        for field in change.fields {
            keys.insert((change.id.clone(), field.name), field.new);
        }
    }
    keys
}

fn field_changes(id: &ObjectId, old: &Map<Node>, new: &Map<Node>) -> Vec<FieldChange> {
    let mut walk = Walk { is_secret: id.kind == "Secret" && id.group.is_empty(), fields: Vec::new() };
    walk.maps(old, new, &At::default());
    walk.fields
}

#[derive(Clone, Default)]
struct At {
    name: String,
    path: ValuePath,
    depth: usize,
}

impl At {
    fn key(&self, key: &pintle_tree::Str) -> At {
        let text = key.to_str_lossy();
        let name = match (self.name.as_str(), text.contains(['.', '/'])) {
            (before, true) => format!("{before}[{text}]"),
            ("", false) => text.into_owned(),
            (before, false) => format!("{before}.{text}"),
        };
        At { name, path: self.path.key(key.clone()), depth: self.depth + 1 }
    }

    fn item(&self, label: &str, index: usize) -> At {
        At {
            name: format!("{}[{label}]", self.name),
            path: self.path.with(Segment::Index(index)),
            depth: self.depth + 1,
        }
    }
}

struct Walk {
    is_secret: bool,
    fields: Vec<FieldChange>,
}

impl Walk {
    fn nodes(&mut self, old: Option<&Node>, new: Option<&Node>, at: &At) {
        if old == new || self.fields.len() >= MAX_FIELDS {
            return;
        }
        match (old, new) {
            (Some(Node::Map(old)), Some(Node::Map(new))) if at.depth < MAX_DEPTH => self.maps(old, new, at),
            (Some(Node::List(old)), Some(Node::List(new))) if at.depth < MAX_DEPTH => {
                self.lists(old, new, at)
            }
            (old, new) => {
                // Empty and missing are the same to the API server.
                if is_empty(old) && is_empty(new) {
                    return;
                }
                let is_secret =
                    self.is_secret && (at.name.starts_with("data") || at.name.starts_with("stringData"));
                self.fields.push(FieldChange {
                    name: at.name.clone(),
                    path: at.path.clone(),
                    old: old.cloned(),
                    new: new.cloned(),
                    is_secret,
                    causes: Vec::new(),
                });
            }
        }
    }

    fn maps(&mut self, old: &Map<Node>, new: &Map<Node>, at: &At) {
        for (key, node) in old.iter() {
            self.nodes(Some(node), new.get(key), &at.key(key));
        }
        for (key, node) in new.iter().filter(|(key, _)| !old.contains_key(key)) {
            self.nodes(None, Some(node), &at.key(key));
        }
    }

    fn lists(&mut self, old: &[Node], new: &[Node], at: &At) {
        let (Some(old_names), Some(new_names)) = (names(old), names(new)) else {
            // Lists of scalars are compared as sets of items if only items came and went.
            for index in 0..old.len().max(new.len()) {
                self.nodes(old.get(index), new.get(index), &at.item(&index.to_string(), index));
            }
            return;
        };
        for (name, index) in &old_names {
            match new_names.get(name) {
                Some(other) => self.nodes(Some(&old[*index]), Some(&new[*other]), &at.item(name, *other)),
                None => self.nodes(Some(&old[*index]), None, &at.item(name, *index)),
            }
        }
        for (name, index) in new_names.iter().filter(|(name, _)| !old_names.contains_key(*name)) {
            self.nodes(None, Some(&new[*index]), &at.item(name, *index));
        }
    }
}

fn is_empty(node: Option<&Node>) -> bool {
    match node {
        None | Some(Node::Nil) => true,
        Some(Node::Map(map)) => map.is_empty(),
        Some(Node::List(items)) => items.is_empty(),
        _ => false,
    }
}

/// Keys by which items of lists are known.
const NAMES: [&str; 6] = ["name", "mountPath", "containerPort", "port", "key", "ip"];

/// The items of a list by their names; `None` if they have none, or some have the same.
fn names(items: &[Node]) -> Option<BTreeMap<String, usize>> {
    let key = NAMES.iter().find(|key| items.iter().all(|item| item.get(**key).is_some()))?;
    let mut found = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let name = match item.get(*key)? {
            Node::Str(text) => text.to_str_lossy().into_owned(),
            other => String::from_utf8_lossy(&pintle_tree::json::write(other).ok()?).into_owned(),
        };
        if found.insert(name, index).is_some() {
            return None;
        }
    }
    Some(found)
}

/// Whether a field is one that differs with every version of a chart.
fn is_routine(name: &str) -> bool {
    let labels = ["helm.sh/chart", "app.kubernetes.io/version", "chart", "heritage"];
    let is_label = labels.iter().any(|label| {
        name.ends_with(&format!("labels[{label}]")) || name.ends_with(&format!("labels.{label}"))
    });
    is_label
        || name.contains("[checksum/")
        || name.contains("checksum") && name.contains("annotations")
        || name.ends_with("].image")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RenderedObject {
        let object = pintle_objects::Object::read_manifest(text.as_bytes(), "x").unwrap().remove(0);
        RenderedObject {
            id: object.id().unversioned(),
            body: object.into_body().into(),
            template: "x".to_owned(),
        }
    }

    #[test]
    fn items_of_lists_are_compared_by_their_names() {
        let old = object(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: x, image: a:1}, {name: y, image: b:1}]}\n",
        );
        let new = object(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: z, image: c:1}, {name: x, image: a:2}, {name: y, image: b:1}]}\n",
        );
        let changes = compare(&[old], &[new]);
        let names: Vec<&str> = changes[0].fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["spec.containers[x].image", "spec.containers[z]"]);
    }

    #[test]
    fn objects_that_are_equal_but_for_empty_fields_do_not_differ() {
        let old = object("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: []}\n");
        let new = object("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {}\n");
        assert!(compare(&[old], &[new]).is_empty());
    }

    #[test]
    fn labels_of_charts_checksums_and_images_are_routine() {
        for name in [
            "metadata.labels[helm.sh/chart]",
            "spec.template.metadata.annotations[checksum/config]",
            "spec.containers[x].image",
        ] {
            assert!(is_routine(name), "{name}");
        }
        assert!(!is_routine("spec.replicas"));
    }
}
