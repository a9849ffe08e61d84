//! Validation of objects, with the messages of the real server and in its order: clients and tests compare both.
//! Follows `pkg/apis/*/validation` of Kubernetes.

mod affinity;
mod container;
mod custom;
mod declarative;
mod metadata;
mod names;
mod network;
mod other;
mod pod;
mod probe;
mod rbac;
mod security_profile;
mod service;
mod storage;
mod update;
mod volume;
mod warnings;
mod workload;

pub(crate) use security_profile::{APP_ARMOR, app_armor_warning};

use pintle_tree::{Map, Node};

use crate::fields::{at, int, text};
use crate::schema::Kind;
use crate::status::StatusCause;

/// Validates a new object, after defaulting and mutating admission. Returns all problems.
pub fn validate_create(kind: Kind<'_>, object: &Node) -> Vec<StatusCause> {
    let (group, name) = group_and_kind(kind);
    let mut errors = ErrorList::new(kind.minor);
    metadata::validate(kind, object, &mut errors);
    if !kind.custom {
        validate_spec(group, name, object, &mut errors);
        declarative::validate(kind, None, object, &mut errors);
    }
    if let Some(schema) = kind.schema.filter(|_| kind.custom) {
        errors.causes.extend(custom::validate(schema, object, None));
    }
    errors.causes
}

/// Validates a new state of the existing object `live`.
pub fn validate_update(kind: Kind<'_>, live: &Node, object: &Node) -> Vec<StatusCause> {
    let (group, name) = group_and_kind(kind);
    let mut errors = ErrorList::new(kind.minor);
    metadata::validate_update(kind, object, &mut errors);
    if !kind.custom {
        // Before the rules of updates: the strategies of the real server validate the new object as if it were
        // created, and then compare it with the old one.
        if !has_update_rules_only(group, name) {
            validate_spec(group, name, object, &mut errors);
        }
        update::validate(group, name, live, object, &mut errors);
        declarative::validate(kind, Some(live), object, &mut errors);
    }
    if let Some(schema) = kind.schema.filter(|_| kind.custom) {
        errors.causes.extend(custom::validate(schema, object, Some(live)));
    }
    errors.causes
}

/// Returns the warnings about an object that is accepted.
pub fn warnings(kind: Kind<'_>, object: &Node) -> Vec<String> {
    if kind.custom {
        return Vec::new();
    }
    warnings::warnings(kind, object)
}

/// Whether the server validates only what changes, and not the new object, on updates of a kind.
fn has_update_rules_only(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("storage.k8s.io", "StorageClass") | ("scheduling.k8s.io", "PriorityClass"))
}

fn group_and_kind(kind: Kind<'_>) -> (&str, &str) {
    (kind.resource.group.as_str().unwrap_or_default(), kind.resource.kind.as_str().unwrap_or_default())
}

/// The path of a field in errors (`field.Path`).
#[derive(Clone, Debug)]
pub(super) struct FieldPath(String);

impl FieldPath {
    /// A field of the object; empty for the object itself.
    pub(super) fn root(name: &str) -> FieldPath {
        FieldPath(name.to_owned())
    }

    pub(super) fn child(&self, name: &str) -> FieldPath {
        if self.0.is_empty() { FieldPath(name.to_owned()) } else { FieldPath(format!("{}.{name}", self.0)) }
    }

    fn index(&self, at: usize) -> FieldPath {
        FieldPath(format!("{}[{at}]", self.0))
    }

    fn key(&self, key: &str) -> FieldPath {
        FieldPath(format!("{}[{key}]", self.0))
    }
}

/// The problems of an object (`field.ErrorList`).
#[derive(Default)]
pub(super) struct ErrorList {
    pub(super) causes: Vec<StatusCause>,
    /// The minor version of Kubernetes, for messages that differ between versions.
    minor: u16,
}

impl ErrorList {
    pub(super) fn new(minor: u16) -> ErrorList {
        ErrorList { minor, ..ErrorList::default() }
    }

    fn invalid(&mut self, field: &FieldPath, value: impl Into<Node>, detail: &str) {
        self.causes.push(StatusCause::invalid(&field.0, &value.into(), detail));
    }

    /// An invalid value with its own formatting.
    fn invalid_formatted(&mut self, field: &FieldPath, shown: &str, detail: &str) {
        let message = format!("Invalid value: {shown}: {detail}");
        self.causes.push(StatusCause { reason: "FieldValueInvalid", message, field: field.0.clone() });
    }

    fn required(&mut self, field: &FieldPath, detail: &str) {
        self.causes.push(StatusCause::required(&field.0, detail));
    }

    fn forbidden(&mut self, field: &FieldPath, detail: &str) {
        self.causes.push(StatusCause::forbidden(&field.0, detail));
    }

    fn duplicate(&mut self, field: &FieldPath, value: impl Into<Node>) {
        self.causes.push(StatusCause::duplicate(&field.0, &value.into()));
    }

    fn not_supported(&mut self, field: &FieldPath, value: impl Into<Node>, words: &[&str]) {
        self.causes.push(StatusCause::not_supported(&field.0, &value.into(), words));
    }

    fn too_long(&mut self, field: &FieldPath, most: usize) {
        let message = format!("Too long: may not be more than {most} bytes");
        self.causes.push(StatusCause { reason: "FieldValueTooLong", message, field: field.0.clone() });
    }

    fn not_found(&mut self, field: &FieldPath, value: &str) {
        let message = format!("Not found: {value:?}");
        self.causes.push(StatusCause { reason: "FieldValueNotFound", message, field: field.0.clone() });
    }

    /// Adds all problems of a string.
    fn add_all(&mut self, field: &FieldPath, value: &str, errors: Vec<String>) {
        for problem in errors {
            self.invalid(field, value, &problem);
        }
    }

    /// The string must be one of `words`.
    fn one_of(&mut self, field: &FieldPath, value: &str, words: &[&str]) {
        if !words.contains(&value) {
            self.not_supported(field, value, words);
        }
    }

    /// The integer, if set, must not be negative.
    fn not_negative(&mut self, parent: &Node, name: &str, field: &FieldPath) {
        if let Some(number) = int(parent, &[name]).filter(|number| *number < 0) {
            self.invalid(&field.child(name), number, "must be greater than or equal to 0");
        }
    }

    fn port(&mut self, field: &FieldPath, number: i64) {
        if !(1..=65535).contains(&number) {
            self.invalid(field, number, "must be between 1 and 65535, inclusive");
        }
    }

    fn port_or_name(&mut self, field: &FieldPath, value: &Node) {
        match value {
            Node::Int(number) => self.port(field, *number),
            Node::Str(name) => {
                self.add_all(field, &name.to_str_lossy(), names::port_name(&name.to_str_lossy()))
            }
            _ => {}
        }
    }
}

/// Validates everything but the metadata of a new object of a built-in kind.
fn validate_spec(group: &str, kind: &str, object: &Node, errors: &mut ErrorList) {
    match (group, kind) {
        ("", "Pod") => pod::pod(object, errors),
        ("", "PodTemplate") => pod::template(object, &FieldPath::root("template"), errors),
        ("", "Service") => service::service(object, errors),
        ("apps" | "batch" | "autoscaling" | "policy", _) | ("", "ReplicationController") => {
            workload::workload(kind, object, errors);
        }
        ("", "PersistentVolumeClaim" | "PersistentVolume") | ("storage.k8s.io", _) => {
            storage::storage(kind, object, errors);
        }
        ("networking.k8s.io", _) => network::network(kind, object, errors),
        ("rbac.authorization.k8s.io", _) => rbac::validate(kind, object, errors),
        _ => other::other(group, kind, object, errors),
    }
}

/// A struct as the server shows it in errors: JSON with the names and the order of the Go fields, null if unset.
fn format_struct(node: &Node, fields: &[(&str, &str)]) -> String {
    let show = |(name, own): &(&str, &str)| {
        let value = node.get(name).cloned().unwrap_or_default();
        let text = pintle_tree::json::write_raw(&value).unwrap_or_default();
        format!("\"{own}\":{}", String::from_utf8_lossy(&text))
    };
    format!("{{{}}}", fields.iter().map(show).collect::<Vec<_>>().join(","))
}

/// The elements of a list with their paths.
fn items<'n>(parent: &'n Node, name: &str, field: &FieldPath) -> Vec<(FieldPath, &'n Node)> {
    let list = at(parent, &[name]).and_then(Node::as_list).unwrap_or_default();
    let field = field.child(name);
    list.iter().enumerate().map(|(index, item)| (field.index(index), item)).collect()
}

fn entries<'n>(parent: &'n Node, name: &str) -> Vec<(&'n pintle_tree::Str, &'n Node)> {
    at(parent, &[name]).and_then(Node::as_map).into_iter().flat_map(Map::iter).collect()
}

/// A label selector.
fn selector(selector: &Node, field: &FieldPath, errors: &mut ErrorList) {
    labels(selector, "matchLabels", field, errors);
    for (field, expression) in items(selector, "matchExpressions", field) {
        let values = at(expression, &["values"]).and_then(Node::as_list).unwrap_or_default();
        match text(expression, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                errors
                    .required(&field.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(&field.child("values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.invalid(&field.child("operator"), other, "not a valid selector operator"),
        }
        let key = text(expression, &["key"]);
        errors.add_all(&field.child("key"), key, names::qualified(key));
    }
}

/// A map of labels.
fn labels(parent: &Node, name: &str, field: &FieldPath, errors: &mut ErrorList) {
    let field = field.child(name);
    for (key, value) in entries(parent, name) {
        let (key, value) = (key.to_str_lossy(), value.as_str().unwrap_or_default());
        errors.add_all(&field, &key, names::qualified(&key));
        errors.add_all(&field, value, names::label_value(value));
    }
}

/// Whether a label selector matches labels.
fn selects(selector: &Node, labels: Option<&Node>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Node::as_str);
    let matches = entries(selector, "matchLabels")
        .iter()
        .all(|(key, wanted)| value(&key.to_str_lossy()) == wanted.as_str());
    let expressions = at(selector, &["matchExpressions"]).and_then(Node::as_list).unwrap_or_default();
    matches
        && expressions.iter().all(|expression| {
            let found = value(text(expression, &["key"]));
            let values = at(expression, &["values"]).and_then(Node::as_list).unwrap_or_default();
            let is_one = found.is_some_and(|found| values.iter().any(|value| value.as_str() == Some(found)));
            match text(expression, &["operator"]) {
                "In" => is_one,
                "NotIn" => !is_one,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}
