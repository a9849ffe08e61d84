//! Rendered objects as facts: this field of this object has this value. Renders are compared as sets of facts, in which
//! the order of named items, of environment variables and of arguments does not count.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_objects::{Object, ObjectId};
use pintle_tree::{Map, Node, with_stack};

use crate::side::Render;
use crate::value_tree::MAX_DEPTH;

/// A field of an object with its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    pub(crate) object: String,
    pub(crate) field: String,
    pub(crate) value: String,
    /// 1, and more for a line or an item that is there again.
    pub(crate) copy: usize,
}

impl Fact {
    /// The object and the field.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.object, &self.field)
    }
}

/// What a change of values does to the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) added: BTreeSet<Fact>,
    pub(crate) removed: BTreeSet<Fact>,
}

impl Effect {
    /// The differences between two renders of one chart.
    pub(crate) fn between(before: &Render, after: &Render) -> Self {
        let (olds, news) = (texts(before), texts(after));
        let changed: BTreeSet<&str> = olds.keys().chain(news.keys()).copied().collect();
        let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
        for path in changed {
            let (left, right) = (olds.get(path).copied(), news.get(path).copied());
            if left != right {
                let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
                add_different(left, right, &after.namespace, (&mut old, &mut new));
            }
        }
        Effect {
            added: new.difference(&old).cloned().collect(),
            removed: old.difference(&new).cloned().collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// The objects that change.
    pub(crate) fn objects(&self) -> BTreeSet<&str> {
        self.added.iter().chain(&self.removed).map(|fact| fact.object.as_str()).collect()
    }

    /// The fields that change.
    pub(crate) fn places(&self) -> BTreeSet<(&str, &str)> {
        self.added.iter().chain(&self.removed).map(Fact::place).collect()
    }
}

fn texts(render: &Render) -> BTreeMap<&str, &[u8]> {
    render.files.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect()
}

/// Adds the facts of the documents that only one of two texts has.
fn add_different(
    left: &[u8],
    right: &[u8],
    namespace: &str,
    (old, new): (&mut BTreeSet<Fact>, &mut BTreeSet<Fact>),
) {
    let lefts: Vec<&[u8]> = pintle_objects::split(left).collect();
    let rights: Vec<&[u8]> = pintle_objects::split(right).collect();
    let same: BTreeSet<&[u8]> = rights.iter().copied().collect();
    let known: BTreeSet<&[u8]> = lefts.iter().copied().collect();
    for document in lefts.iter().filter(|document| !same.contains(*document)) {
        add_document(document, namespace, old);
    }
    for document in rights.iter().filter(|document| !known.contains(*document)) {
        add_document(document, namespace, new);
    }
}

fn add_document(text: &[u8], namespace: &str, facts: &mut BTreeSet<Fact>) {
    for object in Object::read_readable(text) {
        add_object(&object, namespace, facts);
    }
}

/// Adds the facts of an object of a release in `namespace`.
pub(crate) fn add_object(object: &Object, namespace: &str, facts: &mut BTreeSet<Fact>) {
    let mut collector = Collector {
        object: name_of(&object.id(), namespace),
        namespace,
        is_secret: object.kind() == "Secret",
        facts,
    };
    collector.map(object.body(), "", 0);
}

/// The facts of all objects of a render.
pub(crate) fn objects(render: &Render) -> BTreeMap<String, (String, Object)> {
    let mut found = BTreeMap::new();
    for (path, text) in &render.files {
        for object in Object::read_readable(text) {
            found.insert(name_of(&object.id(), &render.namespace), (path.clone(), object));
        }
    }
    found
}

/// `Kind/name`, with the namespace before the name if it is not that of the release, and the group of custom resources behind
/// the kind.
fn name_of(id: &ObjectId, namespace: &str) -> String {
    let group =
        if id.group.is_empty() || is_built_in(&id.group) { String::new() } else { format!(".{}", id.group) };
    let is_own = id.namespace.is_empty() || id.namespace == namespace;
    let namespace = if is_own { String::new() } else { format!("{}/", id.namespace) };
    format!("{}{group}/{namespace}{}", id.kind, id.name)
}

/// Whether a group is one of Kubernetes itself. Kinds moved between these groups, such as Ingress, and are the same objects.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

struct Collector<'f> {
    object: String,
    namespace: &'f str,
    is_secret: bool,
    facts: &'f mut BTreeSet<Fact>,
}

/// Keys that tell items of a list apart, best first.
const ITEM_KEYS: [&str; 12] = [
    "name",
    "key",
    "mountPath",
    "host",
    "path",
    "containerPort",
    "port",
    "ip",
    "topologyKey",
    "alert",
    "record",
    "secretName",
];

impl Collector<'_> {
    fn add(&mut self, field: &str, value: String) {
        let mut fact = Fact { object: self.object.clone(), field: field.to_owned(), value, copy: 1 };
        while self.facts.contains(&fact) {
            fact.copy += 1;
        }
        self.facts.insert(fact);
    }

    fn node(&mut self, node: &Node, field: &str, depth: usize) {
        match node {
            _ if depth > MAX_DEPTH => self.add(field, "…".to_owned()),
            Node::Map(map) if map.is_empty() => self.add(field, "{}".to_owned()),
            Node::Map(map) => with_stack(|| self.map(map, field, depth)),
            Node::List(items) if items.is_empty() => self.add(field, "[]".to_owned()),
            Node::List(items) => with_stack(|| self.list(items, field, depth)),
            Node::Str(text) => self.text(&text.to_str_lossy(), field),
            other => self.add(field, scalar(other)),
        }
    }

    fn map(&mut self, map: &Map<Node>, field: &str, depth: usize) {
        for (key, node) in map.iter() {
            let key = key.to_str_lossy();
            if is_noise(field, &key) {
                continue;
            }
            let below = if field.is_empty() { key.into_owned() } else { format!("{field}.{key}") };
            if below == "metadata.namespace" && node.as_str() == Some(self.namespace) {
                continue;
            }
            self.node(node, &below, depth + 1);
        }
    }

    fn list(&mut self, items: &[Node], field: &str, depth: usize) {
        for (index, item) in items.iter().enumerate() {
            match item {
                Node::Map(map) => {
                    let name =
                        ITEM_KEYS.iter().find_map(|key| Some(format!("{key}={}", scalar_of(map.get(key)?)?)));
                    let name = name.unwrap_or_else(|| index.to_string());
                    self.node(item, &format!("{field}[{name}]"), depth + 1);
                }
                Node::List(_) => self.node(item, &format!("{field}[{index}]"), depth + 1),
                // The items are facts of one field, so that another item before them changes nothing.
                Node::Str(text) => self.add(&format!("{field}[]"), text.to_str_lossy().into_owned()),
                other => self.add(&format!("{field}[]"), scalar(other)),
            }
        }
    }

    fn text(&mut self, text: &str, field: &str) {
        let decoded = match self.is_secret && field.starts_with("data.") {
            true => STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
            false => None,
        };
        let text = decoded.as_deref().unwrap_or(text);
        if !text.trim_end().contains('\n') {
            return self.add(field, text.to_owned());
        }
        // A file: other lines may differ between the charts.
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.add(&format!("{field}[]"), line.to_owned());
        }
    }
}

/// Fields that differ between versions of a chart, or follow from others.
fn is_noise(field: &str, key: &str) -> bool {
    let parent = field.rsplit('.').next().unwrap_or_default();
    match parent {
        "labels" => matches!(key, "helm.sh/chart" | "chart" | "app.kubernetes.io/version" | "heritage"),
        "annotations" => key.starts_with("checksum") || key.contains("/checksum"),
        _ => field.is_empty() && key == "apiVersion",
    }
}

fn scalar_of(node: &Node) -> Option<String> {
    match node {
        Node::Str(text) => Some(text.to_str_lossy().into_owned()),
        Node::Map(_) | Node::List(_) | Node::Nil => None,
        other => Some(scalar(other)),
    }
}

fn scalar(node: &Node) -> String {
    let text = pintle_tree::json::write(node).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
