//! `status`: show a recorded release and the state of its objects in the cluster.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use pintle_cluster::{Cluster, ListParams, Resource};
#[cfg(feature = "lua")]
use pintle_lua::Permissions;
use pintle_objects::{Object, ObjectId};
use pintle_release::{ReleaseVersion, VersionRef};
use pintle_tree::{LogLine, Map, Node};

use super::get::content;
use crate::lifecycle::record_metadata;
use crate::{Reporter, Result, Session};

/// Limit of parallel reads, so that a large release does not flood the API server.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// How the objects are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResourceView {
    /// As tables of the API server, with the columns of `kubectl get`.
    #[default]
    Tables,
    /// As complete objects.
    Objects,
    /// Not at all.
    None,
}

/// A release and its objects in the cluster.
#[derive(Clone, Debug)]
pub struct StatusReport {
    /// The recorded version.
    pub version: ReleaseVersion,
    /// The objects, or tables of them, by version and kind (`v1/Service`), in the order of their first object. Pods
    /// of workloads of the release are under `v1/Pod(related)`, as in Helm.
    pub resources: Vec<(String, Vec<Object>)>,
}

/// Loads a version of a release and reads its objects. Deleted objects are left out.
///
/// # Errors
/// When there is no such release, or its objects are of unknown kinds.
pub async fn status(
    session: &Session,
    namespace: &str,
    name: &str,
    at: &VersionRef,
    view: ResourceView,
    reporter: &mut dyn Reporter,
) -> Result<StatusReport> {
    session.cluster.check_reachable().await?;
    let version = content(session, namespace, name, at).await?;
    let mut report = StatusReport { version, resources: Vec::new() };
    if view == ResourceView::None {
        return Ok(report);
    }
    let recorded = read_recorded(&session.cluster, &report.version.manifest, namespace).await?;
    let read = |(object, resource): &(Object, Resource)| {
        let (object, resource) = (object.clone(), resource.clone());
        async move { read(&session.cluster, &resource, object.namespace(), object.name(), view).await }
    };
    let live: Vec<Option<Object>> =
        futures::stream::iter(recorded.iter().map(read)).buffered(MAX_CONCURRENT_REQUESTS).collect().await;
    let mut selectors: Vec<Map<Node>> = Vec::new();
    for ((object, resource), live) in recorded.iter().zip(live) {
        let Some(live) = live else { continue };
        let kind = format!("{}/{}", resource.version, resource.kind);
        add(&mut report.resources, &kind, vec![live]);
        let Some(selector) = selector(object).filter(|selector| !selectors.contains(selector)) else {
            continue;
        };
        match pods(&session.cluster, object.namespace(), selector, view).await {
            Ok(pods) => add(&mut report.resources, "v1/Pod(related)", pods),
            Err(error) => reporter
                .log(LogLine::warn("get the relation pod is failed", vec![("error", error.to_string())])),
        }
        selectors.push(selector.clone());
    }
    Ok(report)
}

fn add(resources: &mut Vec<(String, Vec<Object>)>, kind: &str, objects: Vec<Object>) {
    match resources.iter_mut().find(|(other, _)| other == kind) {
        Some((_, known)) => known.extend(objects),
        None => resources.push((kind.to_owned(), objects)),
    }
}

/// Returns the objects of a manifest with their API resources.
pub(super) async fn read_recorded(
    cluster: &Cluster,
    manifest: &str,
    namespace: &str,
) -> Result<Vec<(Object, Resource)>> {
    let mut recorded = Vec::new();
    for mut object in Object::read_manifest(manifest.as_bytes(), "")? {
        let resource = cluster.scope(&mut object, namespace).await?;
        recorded.push((object, resource));
    }
    Ok(recorded)
}

/// Reads an object. As in Helm, one that cannot be read is left out like a deleted one.
async fn read(
    cluster: &Cluster,
    resource: &Resource,
    namespace: &str,
    name: &str,
    view: ResourceView,
) -> Option<Object> {
    let read = match view {
        ResourceView::Tables => cluster.table(resource, namespace, name).await,
        _ => cluster.get_by_name(resource, namespace, name).await,
    };
    read.ok().flatten()
}

/// Returns the label selector of the pods of a workload.
fn selector(object: &Object) -> Option<&Map<Node>> {
    let selector = match object.kind() {
        "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" => {
            object.at(&["spec", "selector", "matchLabels"])
        }
        "ReplicationController" => object.at(&["spec", "selector"]),
        _ => None,
    };
    selector?.as_map().filter(|labels| labels.values().all(|value| value.as_str().is_some()))
}

async fn pods(
    cluster: &Cluster,
    namespace: &str,
    selector: &Map<Node>,
    view: ResourceView,
) -> Result<Vec<Object>> {
    let pair = |(key, value): (&pintle_tree::Str, &Node)| {
        format!("{}={}", key.to_str_lossy(), value.as_str().unwrap_or_default())
    };
    let labels = selector.iter().map(pair).collect::<Vec<String>>().join(",");
    let pods = Resource::new("", "v1", "Pod", "pods");
    if view == ResourceView::Tables {
        return Ok(vec![cluster.list_table(&pods, namespace, &labels).await?]);
    }
    let page = cluster.page(&pods, namespace, &ListParams::labels(labels), "").await?;
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), page.resource_version.as_str().into());
    let mut list = Map::new();
    list.insert("apiVersion".into(), "v1".into());
    list.insert("kind".into(), "PodList".into());
    list.insert("metadata".into(), Node::Map(metadata));
    let items = page.objects.into_iter().map(|pod| Node::Map(pod.into_body())).collect();
    list.insert("items".into(), Node::List(items));
    Ok(vec![Object::new(list)])
}

/// Returns the permissions that were granted to the scripts of a release, as recorded. Informational: nothing is
/// granted by it. A label that is not a list of permissions counts as none.
#[cfg(feature = "lua")]
pub fn granted_permissions(version: &ReleaseVersion) -> Permissions {
    Permissions::parse(&record_metadata::recorded_permissions(version)).unwrap_or_default()
}

/// Returns the labels of a version in the store: the user's, and those that Helm finds it by.
///
/// # Errors
/// When the store cannot be read.
pub async fn stored_labels(session: &Session, version: &ReleaseVersion) -> Result<BTreeMap<String, String>> {
    let kind = match session.store.driver() {
        kind @ ("Secret" | "ConfigMap") => kind,
        _ => return Ok(version.labels.clone()),
    };
    let name = pintle_release::helm::object_name(&version.name, version.number);
    let id = ObjectId::new("v1", kind, &version.namespace, &name);
    let record = session.cluster.get(&id).await?;
    let labels = record.as_ref().and_then(|record| record.at(&["metadata", "labels"])).and_then(Node::as_map);
    let pair = |(key, value): (&pintle_tree::Str, &Node)| {
        (key.to_str_lossy().into_owned(), value.as_str().unwrap_or_default().to_owned())
    };
    Ok(labels.map_or_else(|| version.labels.clone(), |labels| labels.iter().map(pair).collect()))
}
