//! `drift` of the program: how the live objects of a release differ from what was recorded, and who changed them.
//!
//! What the release recorded is applied as a dry run that takes over all fields. What that would change has drifted, so
//! defaults and other spellings of the same value are not reported.

use futures::FutureExt as _;
use pintle_cluster::FieldValidation;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_diff::redacted_pair;
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::diff::differences;
use pintle_plan::{self as planner, Action, Step};
use pintle_release::{ReleaseVersion, VersionRef};
use pintle_tree::{Map, Node};

use super::diff::tidied;
use super::get;
use crate::deploy::{AdoptionPolicy, PlanOptions, ThreeWayState};
use crate::options::Method;
use crate::records::Records;
use crate::{Error, Result, Session};

/// Which release to look at.
#[derive(Clone, Debug, Default)]
pub struct ReleaseDriftRequest {
    /// The name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// How the objects of a release have drifted.
#[derive(Clone, Debug)]
pub struct ReleaseDrift {
    /// The version that was compared.
    pub version: ReleaseVersion,
    /// The objects that have drifted, in the order of the manifest.
    pub objects: Vec<DriftedObject>,
    /// How many objects were compared.
    pub compared: usize,
}

/// An object that differs from what was recorded.
#[derive(Clone, Debug)]
pub struct DriftedObject {
    /// The object.
    pub id: ObjectId,
    /// Whether it does not exist any more.
    pub is_missing: bool,
    /// The fields that differ.
    pub fields: Vec<DriftedField>,
    /// Why it could not be compared.
    pub problem: Option<String>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftedField {
    /// The path.
    pub path: String,
    /// The recorded value.
    pub recorded: Option<Node>,
    /// The live value.
    pub live: Option<Node>,
    /// The field managers that own it now.
    pub managers: Vec<String>,
}

/// Compares the live objects of a release with the newest version.
///
/// # Errors
/// When there is no such release, or its objects cannot be read.
pub async fn release_drift(session: &Session, request: &ReleaseDriftRequest) -> Result<ReleaseDrift> {
    let version = get(session, &request.namespace, &request.name, &VersionRef::Current).await?;
    let method = Method::from_record(&version.apply_method);
    let options = PlanOptions { method, adoption: AdoptionPolicy::Unchecked, validation: Validation::Ignore };
    let mut state = ThreeWayState::load(session, &version, Some(&version), options).await?;
    state.complete(session).await?;
    let records = Records::find(session, &version.namespace, &version.name).await?;
    state.set_owner(records.store().as_ref()).await?;
    let plan = state.plan().map_err(|cause| Error::CannotContinue { operation: "drift", cause })?;
    let compared = plan.steps.len();
    let found = run_concurrently(&plan.steps, |step| compare(session, step, method).boxed()).await;
    Ok(ReleaseDrift { version, objects: found.into_iter().flatten().collect(), compared })
}

async fn compare(session: &Session, step: &Step<'_>, method: Method) -> Option<DriftedObject> {
    let drifted = |is_missing, fields, problem| {
        Some(DriftedObject { id: step.id.clone(), is_missing, fields, problem })
    };
    let (Some(live), true) = (step.live, step.action != Action::Create) else {
        return drifted(true, Vec::new(), None);
    };
    let options = ApplyOptions {
        method: match method {
            Method::ServerSide => planner::Method::ServerSide,
            Method::ClientSide => planner::Method::ClientSide { custom_three_way: true },
        },
        force_conflicts: true,
        validation: FieldValidation::Ignore,
        dry_run: true,
        ..ApplyOptions::default()
    };
    let restored = match session.cluster.execute(step, &options).await {
        Ok(Applied::Written(written)) => written.object(),
        Ok(_) => return None,
        Err(error) => return drifted(false, Vec::new(), Some(error.to_string())),
    };
    match restored {
        Ok(restored) => {
            let fields = fields(live, &restored);
            if fields.is_empty() { None } else { drifted(false, fields, None) }
        }
        Err(error) => drifted(false, Vec::new(), Some(error.to_string())),
    }
}

/// The fields that restoring an object would change.
fn fields(live: &Object, restored: &Object) -> Vec<DriftedField> {
    let yaml = |object: &Object| pintle_yaml::write(tidied(object).body()).ok();
    let (before, after) = redacted_pair(live.kind(), yaml(live), yaml(restored));
    let read = |text: Option<Vec<u8>>| pintle_yaml::read_map(&text.unwrap_or_default()).unwrap_or_default();
    let (before, after) = (read(before), read(after));
    differences(&before, &after)
        .into_iter()
        .map(|difference| DriftedField {
            managers: managers(live, &difference.path),
            recorded: difference.after.cloned(),
            live: difference.before.cloned(),
            path: difference.path,
        })
        .collect()
}

/// The managers that own a field of a live object, by its managed fields.
fn managers(live: &Object, path: &str) -> Vec<String> {
    let entries = live.at(&["metadata", "managedFields"]).and_then(Node::as_list).unwrap_or_default();
    let segments = segments(path);
    let owns = |entry: &&Node| {
        let Some(fields) = entry.get("fieldsV1").and_then(Node::as_map) else { return false };
        owns_path(fields, &segments, &Node::Map(live.body().clone()))
    };
    let name = |entry: &Node| entry.get("manager").and_then(Node::as_str).map(str::to_owned);
    let mut names: Vec<String> = entries.iter().filter(owns).filter_map(name).collect();
    names.dedup();
    names
}

/// A segment of a path.
enum Segment {
    Key(String),
    Index(usize),
}

/// Splits a path such as `metadata.labels["a.b/c"].x[0]`.
fn segments(path: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("[\"") {
            let end = inner.find("\"]").unwrap_or(inner.len());
            found.push(Segment::Key(inner[..end].to_owned()));
            rest = inner.get(end + 2..).unwrap_or_default();
        } else if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').unwrap_or(inner.len());
            found.push(Segment::Index(inner[..end].parse().unwrap_or(0)));
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            let text = rest.strip_prefix('.').unwrap_or(rest);
            let end = text.find(['.', '[']).unwrap_or(text.len());
            found.push(Segment::Key(text[..end].to_owned()));
            rest = &text[end..];
        }
    }
    found
}

/// Whether a set of fields has a path. Items of lists are known by their keys, so `node` tells which item is meant.
fn owns_path(fields: &Map<Node>, path: &[Segment], node: &Node) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let (name, child) = match first {
        Segment::Key(key) => (format!("f:{key}"), node.get(key)),
        Segment::Index(index) => {
            let item = node.as_list().and_then(|list| list.get(*index));
            let name =
                fields.keys().find(|name| item.is_some_and(|item| matches_item(name.as_bytes(), item)));
            match name {
                Some(name) => (name.to_string(), item),
                // The list is owned as a whole.
                None => return fields.is_empty(),
            }
        }
    };
    match fields.get(&name).and_then(Node::as_map) {
        None => false,
        // An empty set owns everything below.
        Some(below) if below.is_empty() => true,
        Some(below) => owns_path(below, rest, child.unwrap_or(&Node::Nil)),
    }
}

/// Whether `k:{…}` or `v:…` names an item of a list.
fn matches_item(name: &[u8], item: &Node) -> bool {
    if let Some(keys) = name.strip_prefix(b"k:") {
        let Ok(Node::Map(keys)) = pintle_tree::json::read_exact(keys) else { return false };
        return keys.iter().all(|(key, value)| {
            let found = item.get(key);
            found == Some(value) || found.is_some_and(|found| same_number(found, value))
        });
    }
    let Some(value) = name.strip_prefix(b"v:") else { return false };
    pintle_tree::json::read_exact(value).is_ok_and(|value| value == *item)
}

fn same_number(a: &Node, b: &Node) -> bool {
    let number = |node: &Node| match node {
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) => Some(*value),
        _ => None,
    };
    number(a).is_some() && number(a) == number(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_of_nested_fields_are_found() {
        let live = Object::read_json(
            br#"{"kind":"Deployment","metadata":{"labels":{"a.b/c":"x"},"managedFields":[
                {"manager":"helm","fieldsV1":{"f:spec":{"f:replicas":{},"f:c":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}},
                {"manager":"kubectl","fieldsV1":{"f:metadata":{"f:labels":{"f:a.b/c":{}}},"f:spec":{"f:replicas":{}}}}]},
                "spec":{"replicas":2,"c":[{"name":"web","image":"i"}]}}"#,
        )
        .expect("good JSON");
        assert_eq!(managers(&live, "spec.replicas"), ["helm", "kubectl"]);
        assert_eq!(managers(&live, "spec.c[0].image"), ["helm"]);
        assert_eq!(managers(&live, "metadata.labels[\"a.b/c\"]"), ["kubectl"]);
        assert!(managers(&live, "spec.other").is_empty());
    }
}
