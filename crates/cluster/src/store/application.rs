//! The sig-apps `Application` of a release, in clusters that serve the kind.

use std::collections::{BTreeMap, BTreeSet};

use pintle_objects::{Object, ObjectId};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::{api, record};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::Result;

const API_VERSION: &str = "app.k8s.io/v1beta1";
/// The label of applications that we created and may delete.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "pintle");

fn applications() -> Resource {
    Resource::new("app.k8s.io", "v1beta1", "Application", "applications")
}

/// Creates the application of a release, if the cluster serves the kind and no other application has that name.
pub(super) async fn ensure(cluster: &Cluster, version: &ReleaseVersion) -> Result<Option<Object>> {
    if !cluster.serves(API_VERSION).await? {
        return Ok(None);
    }
    match api::create(cluster, &applications(), &application(version)).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_already_exists() => {
            let found = cluster.get_by_name(&applications(), &version.namespace, &version.name).await?;
            // An application that somebody else wrote is neither changed nor made the owner: deleting it would delete
            // the release.
            // One that is being deleted would take the release with it.
            Ok(found.filter(|found| is_ours(found) && !record::is_terminating(found)))
        }
        // The application is optional: missing rights must not fail the release.
        Err(error) if error.is_forbidden() || error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn application(version: &ReleaseVersion) -> Object {
    let mut object =
        Object::from_id(&ObjectId::new(API_VERSION, "Application", &version.namespace, &version.name));
    object.set_label(MANAGED_BY.0, MANAGED_BY.1);
    object.set_label("app.kubernetes.io/instance", &version.name);
    let metadata = &version.chart.metadata;
    let descriptor = Map::from_entries(vec![
        ("description".into(), metadata.description.as_str().into()),
        ("type".into(), metadata.name.as_str().into()),
        ("version".into(), metadata.app_version.as_str().into()),
    ]);
    let objects = Object::read_manifest(version.manifest.as_bytes(), "manifest").unwrap_or_default();
    let labels = Map::from_entries(vec![(RELEASE.into(), version.name.as_str().into())]);
    let selector = Map::from_entries(vec![("matchLabels".into(), Node::Map(labels))]);
    let spec = Map::from_entries(vec![
        ("componentKinds".into(), component_kinds(&objects)),
        ("descriptor".into(), Node::Map(descriptor)),
        ("selector".into(), Node::Map(selector)),
    ]);
    object.body_mut().insert("spec".into(), Node::Map(spec));
    object
}

/// The label that the objects of a release with an application have, because the application selects them by labels. Charts need
/// not set any.
const RELEASE: &str = "helm.sh/release";

/// The labels for the objects of a release, so that its application selects them.
pub(super) fn object_labels(release: &Object) -> BTreeMap<String, String> {
    match is_owned(release) {
        true => BTreeMap::from([(RELEASE.to_owned(), release.name().to_owned())]),
        false => BTreeMap::new(),
    }
}

/// The kinds of a release's objects.
fn component_kinds(objects: &[Object]) -> Node {
    let kinds: BTreeSet<(String, String)> =
        objects.iter().map(Object::id).map(|id| (id.group, id.kind)).collect();
    let kind = |(group, kind): (String, String)| {
        Node::Map(Map::from_entries(vec![("group".into(), group.into()), ("kind".into(), kind.into())]))
    };
    Node::List(kinds.into_iter().map(kind).collect())
}

/// Updates the application of a release for a new version, if it is ours.
pub(super) async fn update(cluster: &Cluster, release: &Object, version: &ReleaseVersion) -> Result<()> {
    if !is_owned(release) {
        return Ok(());
    }
    let target = (version.namespace.as_str(), version.name.as_str());
    let found = match cluster.get_by_name(&applications(), target.0, target.1).await {
        Ok(found) => found.filter(is_ours),
        Err(error) if error.is_forbidden() || error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let Some(found) = found else { return Ok(()) };
    let mut desired = application(version);
    let Some(Node::Map(mut spec)) = desired.body_mut().remove("spec") else { return Ok(()) };
    // A merge patch keeps labels that are absent, so stale ones are set to null.
    if let Some(Node::Map(selector)) = spec.get_mut("selector")
        && let Some(Node::Map(labels)) = selector.get_mut("matchLabels")
    {
        let old = found.at(&["spec", "selector", "matchLabels"]).and_then(Node::as_map);
        let gone: Vec<_> =
            old.into_iter().flat_map(Map::keys).filter(|key| labels.get(key).is_none()).collect();
        for key in gone {
            labels.insert(key.clone(), Node::Nil);
        }
    }
    let patch = Map::from_entries(vec![("spec".into(), Node::Map(spec))]);
    match api::merge_patch(cluster, &applications(), target, &patch).await {
        Err(error) if !error.is_forbidden() && !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Whether an application owns a release.
fn is_owned(release: &Object) -> bool {
    let owners = release.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    owners.iter().any(|owner| owner.get("kind").and_then(Node::as_str) == Some("Application"))
}

fn is_ours(object: &Object) -> bool {
    object.label(MANAGED_BY.0) == Some(MANAGED_BY.1)
}

/// Deletes the application that owns a release, if it is ours.
pub(super) async fn discard(cluster: &Cluster, release: &Object) -> Result<()> {
    if !is_owned(release) {
        return Ok(());
    }
    let (namespace, name) = (release.namespace(), release.name());
    if let Some(found) = cluster.get_by_name(&applications(), namespace, name).await?.filter(is_ours) {
        // With the `resourceVersion` that was checked: it may have been replaced by one that is not ours.
        api::delete(cluster, &applications(), (namespace, name), found.resource_version()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selector_rests_on_the_label_that_the_objects_get() {
        let version = ReleaseVersion { name: "web".to_owned(), ..ReleaseVersion::default() };
        let selector = api::text_map(application(&version).at(&["spec", "selector", "matchLabels"]));
        let mut release = Object::from_id(&ObjectId::new("helm.sh/v3", "Release", "default", "web"));
        assert_eq!(object_labels(&release), BTreeMap::new(), "without an application nothing is added");
        super::super::record::set_owner(&mut release, &application(&version));
        assert_eq!(object_labels(&release), selector);
        assert_eq!(selector, BTreeMap::from([("helm.sh/release".to_owned(), "web".to_owned())]));
    }

    #[test]
    fn the_kinds_of_the_release_are_named_once() {
        let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\napiVersion: v1\n\
                        kind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n";
        let objects = Object::read_manifest(manifest.as_bytes(), "").expect("good objects");
        let kinds = pintle_tree::json::write(&component_kinds(&objects)).expect("can be written");
        assert_eq!(
            String::from_utf8_lossy(&kinds),
            r#"[{"group":"","kind":"Service"},{"group":"apps","kind":"Deployment"}]"#
        );
    }
}
