//! What the library returns as JSON of the interface.

use pintle::objects::ObjectId;
use pintle::release::{ChartSource, Lease, Summary};
use pintle_time::Timestamp;
use pintle_tree::Node;
use serde_json::{Map, Value, json};

pub(crate) fn time(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| Value::String(time.to_string()))
}

/// The largest floating-point numbers without gaps.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A tree. What is not UTF-8 is replaced: JSON has no other strings.
pub(crate) fn node(tree: &Node) -> Value {
    match tree {
        Node::Nil => Value::Null,
        Node::Bool(value) => Value::Bool(*value),
        Node::Int(value) => Value::from(*value),
        // YAML without a point is often read as a float, as in Go; people wrote an integer.
        Node::Float(value) if value.fract() == 0.0 && value.abs() < MAX_EXACT => Value::from(*value as i64),
        Node::Float(value) => Value::from(*value),
        Node::Str(text) => Value::String(text.to_str_lossy().into_owned()),
        Node::List(items) => Value::Array(items.iter().map(node).collect()),
        Node::Map(entries) => map(entries),
    }
}

pub(crate) fn map(entries: &pintle_tree::Map<Node>) -> Value {
    let pairs = entries.iter().map(|(key, value)| (key.to_str_lossy().into_owned(), node(value)));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

pub(crate) fn lease(lease: &Lease) -> Value {
    let expires = lease.renewed.plus_seconds(i64::from(lease.seconds));
    json!({"holder": lease.holder, "since": time(Some(lease.since)), "renewed": time(Some(lease.renewed)),
        "expires": time(Some(expires))})
}

pub(crate) fn source(source: &ChartSource) -> Value {
    json!({"url": source.url, "repository": source.repository, "digest": source.digest})
}

pub(crate) fn summary(release: &Summary) -> Value {
    json!({
        "namespace": release.namespace,
        "name": release.name,
        "revision": release.number,
        "id": release.id.map(|id| id.to_string()),
        "status": release.status.as_str(),
        "description": release.description,
        "chart": release.chart_name,
        "chartVersion": release.chart_version,
        "appVersion": release.app_version,
        "updated": time(release.last_deployed),
        "store": release.store,
        "interrupted": release.was_interrupted(),
        "rollbackOf": release.rollback_revision,
        "labels": release.labels,
        "lease": release.lease.as_ref().map(lease),
    })
}

/// `apiVersion/Kind/namespace/name`: none of the parts after the version has a slash.
pub(crate) fn key(id: &ObjectId) -> String {
    format!("{}/{}/{}/{}", id.api_version(), id.kind, id.namespace, id.name)
}

/// The reverse of [`key`].
pub(crate) fn read_key(text: &str) -> Option<ObjectId> {
    let mut parts = text.rsplitn(4, '/');
    let (name, namespace, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let version = parts.next()?;
    (!name.is_empty() && !kind.is_empty() && !version.is_empty())
        .then(|| ObjectId::new(version, kind, namespace, name))
}

/// The fields that name an object.
pub(crate) fn identity(id: &ObjectId) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("key".to_owned(), key(id).into());
    fields.insert("apiVersion".to_owned(), id.api_version().into());
    fields.insert("kind".to_owned(), id.kind.as_str().into());
    fields.insert("namespace".to_owned(), id.namespace.as_str().into());
    fields.insert("name".to_owned(), id.name.as_str().into());
    fields
}

/// An object with the fields that name it and others.
pub(crate) fn with_identity(id: &ObjectId, others: Value) -> Value {
    let mut fields = identity(id);
    if let Value::Object(others) = others {
        fields.extend(others);
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_objects_can_be_read_again() {
        for id in [
            ObjectId::new("v1", "Namespace", "", "shop"),
            ObjectId::new("apps/v1", "Deployment", "shop", "web"),
        ] {
            assert_eq!(read_key(&key(&id)), Some(id));
        }
        for text in ["", "web", "v1/Pod", "v1//a/b", "v1/Pod/a/"] {
            assert_eq!(read_key(text), None, "{text}");
        }
    }
}
