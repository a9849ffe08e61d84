//! `drift`: compare the live objects of a release with its manifest, by server-side dry runs, and undo what others changed.

use futures::FutureExt as _;
use pintle_cluster::apply::run_concurrently;
use pintle_cluster::{Cluster, WriteParams};
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::{RESOURCE_POLICY, ownership};
use pintle_release::Status;
use pintle_tree::{Map, Node};

use crate::records::Records;
use crate::{Error, Result, Session, deploy};

/// Which release to compare, and what to do about differences.
#[derive(Clone, Debug, Default)]
pub struct DriftRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// What others may change.
    pub ignore: Vec<DriftIgnoreRule>,
    /// Whether changes are undone.
    pub correct: bool,
}

/// Fields that others may change. Of the selectors, those that are not set match every object.
#[derive(Clone, Debug, Default)]
pub struct DriftIgnoreRule {
    /// JSON pointers; an empty one is the whole object.
    pub paths: Vec<String>,
    /// The API group.
    pub group: Option<String>,
    /// The API version.
    pub version: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
}

impl DriftIgnoreRule {
    fn matches(&self, id: &ObjectId) -> bool {
        let same = |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| wanted == text);
        same(&self.group, &id.group)
            && same(&self.version, &id.version)
            && same(&self.kind, &id.kind)
            && same(&self.name, &id.name)
            && same(&self.namespace, &id.namespace)
    }
}

/// An object that others have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifted {
    /// The object.
    pub object: ObjectId,
    /// The fields that differ, as JSON pointers; none if the object is missing.
    pub fields: Vec<String>,
    /// The field managers other than Helm's.
    pub managers: Vec<String>,
}

/// Returns the objects of the deployed version that differ from its manifest.
///
/// # Errors
/// When there is no deployed version, or the cluster refuses.
pub async fn drift(session: &Session, request: &DriftRequest) -> Result<Vec<Drifted>> {
    let records = Records::find(session, &request.namespace, &request.name).await?;
    let history = records.existing_history().await?;
    let deployed = history.iter().rev().find(|version| version.status == Status::Deployed);
    let deployed = deployed.ok_or_else(|| Error::NoDeployedReleases { name: request.name.clone() })?;
    let version = records.load(deployed.number).await?;
    let cluster = &session.cluster;
    let mut objects =
        deploy::build_objects(cluster, &version.manifest, &version.namespace, Validation::Ignore).await?;
    let owner = records.store().owner(&request.namespace, &request.name).await?;
    for object in &mut objects {
        ownership::set(object, &version.name, &version.namespace);
        let has_owner =
            object.namespace() == version.namespace && object.annotation(RESOURCE_POLICY).is_none();
        if let Some(owner) = owner.as_ref().filter(|_| has_owner) {
            let owners = Node::List(vec![Node::Map(owner.clone())]);
            object.metadata_mut().insert("ownerReferences".into(), owners);
        }
    }
    let compared = run_concurrently(&objects, |object| compare(cluster, object, request).boxed()).await;
    Ok(compared.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Compares one object, and undoes what was changed if the request says so.
async fn compare(cluster: &Cluster, object: &Object, request: &DriftRequest) -> Result<Option<Drifted>> {
    let id = object.id();
    let rules = request.ignore.iter().filter(|rule| rule.matches(&id));
    let ignored: Vec<&str> = rules.flat_map(|rule| &rule.paths).map(String::as_str).collect();
    if ignored.contains(&"") {
        return Ok(None);
    }
    let Some(live) = cluster.get(&id).await? else {
        if request.correct {
            cluster.apply_object(object, true, &WriteParams::default()).await?;
        }
        return Ok(Some(Drifted { object: id, fields: Vec::new(), managers: Vec::new() }));
    };
    let mut wanted = object.clone();
    for pointer in &ignored {
        // What others may change is applied as they left it.
        keep_live(wanted.body_mut(), live.body(), pointer);
    }
    let dry_run = WriteParams { dry_run: true, ..WriteParams::default() };
    let merged = cluster.apply_object(&wanted, true, &dry_run).await?.object()?;
    let mut fields = Vec::new();
    differences(&comparable(&live), &comparable(&merged), "", &mut fields);
    fields.retain(|field| !ignored.iter().any(|pointer| is_below(field, pointer)));
    if fields.is_empty() {
        return Ok(None);
    }
    if request.correct {
        cluster.apply_object(&wanted, true, &WriteParams::default()).await?;
    }
    Ok(Some(Drifted { object: id, fields, managers: managers(&live) }))
}

/// The parts of an object that can drift.
fn comparable(object: &Object) -> Node {
    let mut body = object.body().clone();
    body.remove("status");
    if let Some(Node::Map(metadata)) = body.get_mut("metadata") {
        for key in ["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"]
        {
            metadata.remove(key);
        }
    }
    Node::Map(body)
}

/// Collects the JSON pointers of the smallest parts that differ.
fn differences(live: &Node, wanted: &Node, at: &str, found: &mut Vec<String>) {
    match (live, wanted) {
        (Node::Map(live), Node::Map(wanted)) => {
            let mut keys: Vec<_> = live.keys().chain(wanted.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let path = format!("{at}/{}", escaped(&key.to_string()));
                match (live.get(key), wanted.get(key)) {
                    (Some(live), Some(wanted)) => differences(live, wanted, &path, found),
                    _ => found.push(path),
                }
            }
        }
        (Node::List(live), Node::List(wanted)) if live.len() == wanted.len() => {
            for (index, (live, wanted)) in live.iter().zip(wanted).enumerate() {
                differences(live, wanted, &format!("{at}/{index}"), found);
            }
        }
        (live, wanted) if live == wanted => {}
        _ => found.push(at.to_owned()),
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn is_below(field: &str, pointer: &str) -> bool {
    field.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Copies the live value at a JSON pointer.
fn keep_live(wanted: &mut Map<Node>, live: &Map<Node>, pointer: &str) {
    let Some(path) = pointer.strip_prefix('/') else { return };
    let (key, rest) = path.split_once('/').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let key = key.replace("~1", "/").replace("~0", "~");
    match rest {
        None => match live.get(&key) {
            Some(value) => drop(wanted.insert(key.as_str().into(), value.clone())),
            None => drop(wanted.remove(&key)),
        },
        Some(rest) => {
            if let (Some(Node::Map(wanted)), Some(Node::Map(live))) = (wanted.get_mut(&key), live.get(&key)) {
                keep_live(wanted, live, &format!("/{rest}"));
            }
        }
    }
}

/// Who else manages fields of an object.
fn managers(live: &Object) -> Vec<String> {
    let entries = live.at(&["metadata", "managedFields"]).and_then(Node::as_list).unwrap_or_default();
    let is_status = |entry: &&Node| entry.get("subresource").and_then(Node::as_str) != Some("status");
    let names = entries.iter().filter(is_status).filter_map(|entry| entry.get("manager")?.as_str());
    let mut names: Vec<String> = names.filter(|name| *name != "helm").map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<Node> {
        pintle_yaml::read_values(text.as_bytes()).expect("valid")
    }

    #[test]
    fn differences_are_the_smallest_parts_that_differ() {
        let live =
            map("{spec: {replicas: 3, containers: [{image: a, name: x}]}, data: {a/b: '1', extra: y}}");
        let wanted = map("{spec: {replicas: 1, containers: [{image: b, name: x}]}, data: {a/b: '2'}}");
        let mut found = Vec::new();
        differences(&Node::Map(live), &Node::Map(wanted), "", &mut found);
        assert_eq!(found, ["/data/a~1b", "/data/extra", "/spec/containers/0/image", "/spec/replicas"]);
    }

    #[test]
    fn an_ignored_field_is_applied_as_it_is() {
        let (live, mut wanted) =
            (map("{spec: {replicas: 3, paused: true}}"), map("{spec: {replicas: 1, size: 2}}"));
        keep_live(&mut wanted, &live, "/spec/replicas");
        keep_live(&mut wanted, &live, "/spec/size");
        assert_eq!(wanted, map("{spec: {replicas: 3}}"));
        assert!(is_below("/spec/replicas", "/spec") && !is_below("/specs", "/spec"));
    }
}
