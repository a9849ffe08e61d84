//! `objects`: the objects of a release, each with its readiness, its pods and its events.

use futures::{FutureExt as _, StreamExt as _, stream};
use pintle_cluster::Cluster;
use pintle_cluster::logs::containers;
use pintle_cluster::wait::{
    PodProgress, Readiness, Status, event_time, events, newest_pods, pod_progress, ready,
};
use pintle_objects::{Object, ObjectId};
use pintle_release::{Timestamp, VersionRef};

use super::get::content;
use super::status::read_recorded;
use crate::{Result, Session};

/// How many objects are read at once. Each takes a few requests.
const MAX_CONCURRENT_OBJECTS: usize = 8;
/// How many events of an object or a pod are kept, the newest ones.
const MAX_EVENTS: usize = 50;

/// An object of a release, as it is in the cluster.
#[derive(Clone, Debug)]
pub struct ObjectStatus {
    /// The object.
    pub id: ObjectId,
    /// Whether it is ready, and what is missing. `NotFound` when it does not exist, `Unknown` when it cannot be read.
    pub readiness: Readiness,
    /// The object; `None` when it does not exist or cannot be read.
    pub live: Option<Object>,
    /// The pods of a workload.
    pub pods: Vec<PodStatus>,
    /// Its Kubernetes events, oldest first.
    pub events: Vec<ObjectEvent>,
}

/// A pod of a workload.
#[derive(Clone, Debug)]
pub struct PodStatus {
    /// The name.
    pub name: String,
    /// The containers, init containers first, to read logs of.
    pub containers: Vec<String>,
    /// Why it is not ready; `None` when it is.
    pub reason: Option<String>,
    /// Its Kubernetes events, oldest first.
    pub events: Vec<ObjectEvent>,
}

/// A Kubernetes event.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectEvent {
    /// Whether its type is `Warning`.
    pub is_warning: bool,
    /// The reason in one word, such as `FailedScheduling`.
    pub reason: String,
    /// The message.
    pub message: String,
    /// How often it was observed.
    pub count: i64,
    /// When it was last observed.
    pub last_seen: Timestamp,
}

/// Reads the objects of a version of a release, in the order of its manifest. An object, pod or event that cannot be read is no
/// error: users may see one kind and not another.
///
/// ```
/// use std::sync::Arc;
///
/// use pintle::ops::{CreateRequest, InstallRequest, create, install, objects};
/// use pintle::release::{MemoryStore, VersionRef};
/// use pintle::{Session, Silent, embedded};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let chart = create(&Session::offline(), &CreateRequest::new(folder.path(), "web"), &mut Silent)?;
/// # let api = embedded::Embedded::default().open().await?;
/// # let session = Session::new(embedded::cluster(&api, "default"), Arc::new(MemoryStore::new()));
/// # let (name, namespace) = ("demo".to_owned(), "default".to_owned());
/// # let request = InstallRequest { chart: chart.into(), name, namespace, ..InstallRequest::default() };
/// # install(&session, &request, &mut Silent).await?;
/// for object in objects(&session, "default", "demo", &VersionRef::Current).await? {
///     println!("{}: {} ({})", object.id, object.readiness.status, object.readiness.detail);
///     for pod in &object.pods {
///         println!("  pod {}: {}", pod.name, pod.reason.as_deref().unwrap_or("ready"));
///     }
/// #   assert!(object.live.is_some());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When there is no such release, or its objects are of unknown kinds.
pub async fn objects(
    session: &Session,
    namespace: &str,
    name: &str,
    at: &VersionRef,
) -> Result<Vec<ObjectStatus>> {
    let version = content(session, namespace, name, at).await?;
    let recorded = read_recorded(&session.cluster, &version.manifest, namespace).await?;
    // Collected first, because a stream of closures is not `Send`.
    let reads: Vec<_> =
        recorded.iter().map(|(object, _)| read(&session.cluster, object.id()).boxed()).collect();
    Ok(stream::iter(reads).buffered(MAX_CONCURRENT_OBJECTS).collect().await)
}

async fn read(cluster: &Cluster, id: ObjectId) -> ObjectStatus {
    let mut status = ObjectStatus {
        id,
        readiness: Readiness::not_found(),
        live: None,
        pods: Vec::new(),
        events: Vec::new(),
    };
    let live = match cluster.get(&status.id).await {
        Ok(Some(live)) => live,
        Ok(None) => return status,
        Err(error) => {
            let text = error.to_string();
            status.readiness = Readiness::new(Status::Unknown, text.clone(), text);
            return status;
        }
    };
    status.readiness = ready(&live);
    status.events = events_of(&events(cluster, &live).await.unwrap_or_default());
    for pod in newest_pods(cluster, &live).await.unwrap_or_default() {
        let is_same = pod.uid() == live.uid();
        let found = if is_same { Vec::new() } else { events(cluster, &pod).await.unwrap_or_default() };
        status.pods.push(PodStatus {
            name: pod.name().to_owned(),
            containers: containers(&pod),
            reason: pod_progress(&pod, &found).map(|PodProgress { reason, .. }| reason),
            // Those of an object that is a pod itself are in its status already.
            events: events_of(&found),
        });
    }
    status.live = Some(live);
    status
}

fn events_of(events: &[Object]) -> Vec<ObjectEvent> {
    let newest = &events[events.len().saturating_sub(MAX_EVENTS)..];
    newest
        .iter()
        .map(|event| ObjectEvent {
            is_warning: event.text(&["type"]) == "Warning",
            reason: event.text(&["reason"]).to_owned(),
            message: event.text(&["message"]).trim().to_owned(),
            count: event.int(&["series", "count"]).or_else(|| event.int(&["count"])).unwrap_or(1),
            last_seen: Timestamp::from_unix(event_time(event), 0),
        })
        .collect()
}
