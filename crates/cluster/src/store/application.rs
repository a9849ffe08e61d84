//! The sig-apps `Application` of a release, in clusters that know the kind.

use pintle_objects::{Object, ObjectId};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::wire;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::Result;

const API_VERSION: &str = "app.k8s.io/v1beta1";
/// The label of the applications that are ours to delete.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "pintle");

fn applications() -> Resource {
    Resource::new("app.k8s.io", "v1beta1", "Application", "applications")
}

/// Makes the application of a release, if the cluster knows such things and nobody else has one of that name.
pub(super) async fn ensure(cluster: &Cluster, version: &ReleaseVersion) -> Result<Option<Object>> {
    if !cluster.serves(API_VERSION).await? {
        return Ok(None);
    }
    match wire::create(cluster, &applications(), &application(version)).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_already_exists() => {
            let found = cluster.get_at(&applications(), &version.namespace, &version.name).await?;
            Ok(found.filter(is_ours))
        }
        // It may be left out: what we may not make, or what is no longer there, must not keep a release from being.
        Err(error) if error.is_forbidden() || error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn application(version: &ReleaseVersion) -> Object {
    let mut object =
        Object::of(&ObjectId::new(API_VERSION, "Application", &version.namespace, &version.name));
    object.set_label(MANAGED_BY.0, MANAGED_BY.1);
    object.set_label("app.kubernetes.io/instance", &version.name);
    let metadata = &version.chart.metadata;
    let descriptor = Map::from_entries(vec![
        ("description".into(), metadata.description.as_str().into()),
        ("type".into(), metadata.name.as_str().into()),
        ("version".into(), metadata.app_version.as_str().into()),
    ]);
    let labels = Map::from_entries(vec![("app.kubernetes.io/instance".into(), version.name.as_str().into())]);
    let selector = Map::from_entries(vec![("matchLabels".into(), Node::Map(labels))]);
    let spec = Map::from_entries(vec![
        ("descriptor".into(), Node::Map(descriptor)),
        ("selector".into(), Node::Map(selector)),
    ]);
    object.body_mut().insert("spec".into(), Node::Map(spec));
    object
}

fn is_ours(object: &Object) -> bool {
    object.label(MANAGED_BY.0) == Some(MANAGED_BY.1)
}

/// Deletes the application that owns a release, if it is ours.
pub(super) async fn discard(cluster: &Cluster, release: &Object) -> Result<()> {
    let owners = release.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    if !owners.iter().any(|owner| owner.get("kind").and_then(Node::as_str) == Some("Application")) {
        return Ok(());
    }
    let (namespace, name) = (release.namespace(), release.name());
    if let Some(found) = cluster.get_at(&applications(), namespace, name).await?.filter(is_ours) {
        wire::delete(cluster, &applications(), (namespace, name), found.resource_version()).await?;
    }
    Ok(())
}
