//! List and watch for the objects of one kind in one namespace, as client-go's Reflector; polls where watching or
//! listing is not allowed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::FutureExt as _;
use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc;

use crate::apply::run_concurrently;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::ListParams;
use crate::snapshot::LIST_THRESHOLD;
use crate::watch::WatchEvent;

/// The initial and the maximum delay after an error.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));
/// The poll interval for objects that cannot be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The poll interval for kinds of which only the metadata is read; these responses are small.
const METADATA_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The objects of one kind in one namespace that are observed together.
#[derive(Clone, Debug)]
pub(crate) struct WatchTarget {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    /// The names to select; when empty, all objects that match the labels.
    pub(crate) names: BTreeSet<String>,
    /// The label selector; empty for all.
    pub(crate) labels: String,
    /// Whether to read only the metadata; such objects are polled.
    pub(crate) metadata_only: bool,
    /// The `resourceVersion` from which to watch without listing first; empty if the state is not known.
    pub(crate) since: String,
}

/// A change of the observed objects.
#[derive(Debug)]
pub(crate) enum ReflectorEvent {
    /// The complete list of the objects that exist.
    Replaced(Vec<Object>),
    /// An object was added or modified.
    Updated(Box<Object>),
    /// An object was deleted.
    Deleted(String),
    /// The objects cannot be observed.
    Failed(Error),
}

impl WatchTarget {
    /// A target for the kind and namespace of an object, without its name.
    pub(crate) fn for_object(id: &ObjectId) -> Self {
        WatchTarget {
            api_version: id.api_version(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            names: BTreeSet::new(),
            labels: String::new(),
            metadata_only: false,
            since: String::new(),
        }
    }

    fn selection(&self) -> ListParams {
        match (self.names.len(), self.names.first()) {
            (1, Some(name)) => self.by_name(name),
            _ => self.selection_by(String::new()),
        }
    }

    /// A single name is selected by the server, which avoids reading the whole list and can be granted by
    /// `resourceNames`.
    fn by_name(&self, name: &str) -> ListParams {
        self.selection_by(format!("metadata.name={name}"))
    }

    fn selection_by(&self, fields: String) -> ListParams {
        ListParams {
            labels: self.labels.clone(),
            fields,
            metadata_only: self.metadata_only,
            ..ListParams::default()
        }
    }

    fn selects(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }
}

/// Observes a target and sends events, each with `tag`, until the receiver is dropped.
pub(crate) async fn reflect(
    cluster: Cluster,
    target: WatchTarget,
    tag: usize,
    sender: mpsc::Sender<(usize, ReflectorEvent)>,
) {
    let selection = target.selection();
    let mut reflector = Reflector {
        cluster,
        selection,
        target,
        tag,
        sender,
        delay: BACKOFF.0,
        can_watch: true,
        can_list: true,
    };
    while reflector.list_and_watch().await.is_continue() {}
}

struct Reflector {
    cluster: Cluster,
    target: WatchTarget,
    selection: ListParams,
    tag: usize,
    sender: mpsc::Sender<(usize, ReflectorEvent)>,
    delay: Duration,
    can_watch: bool,
    can_list: bool,
}

impl Reflector {
    /// Lists all objects and watches them until they have to be listed again.
    async fn list_and_watch(&mut self) -> ControlFlow<()> {
        let resource = match self.cluster.resource(&self.target.api_version, &self.target.kind).await {
            Ok(resource) => resource,
            Err(Error::NoSuchKind { .. }) => {
                // The CRD may be installed while we wait, or may just have been deleted with its last object.
                self.send(ReflectorEvent::Replaced(Vec::new())).await?;
                tokio::time::sleep(POLL_INTERVAL).await;
                self.cluster.invalidate_discovery().await;
                return ControlFlow::Continue(());
            }
            Err(_) => return self.back_off().await,
        };
        if !self.can_list {
            return self.poll_each(&resource).await;
        }
        // Taken, so that after an expired watch (410) the objects are listed.
        let since = std::mem::take(&mut self.target.since);
        if !since.is_empty() && !self.target.metadata_only {
            return self.watch(&resource, since).await;
        }
        match self.list(&resource).await {
            Ok((objects, version)) => {
                self.delay = BACKOFF.0;
                self.send(ReflectorEvent::Replaced(objects)).await?;
                self.watch(&resource, version).await
            }
            Err(error) if error.is_forbidden() && !self.target.names.is_empty() => {
                // Roles with `resourceNames` may allow `get` but never an unrestricted `list`.
                self.can_list = false;
                match self.cluster.get_by_name(&resource, &self.target.namespace, self.first_name()).await {
                    // Without the right to list or get, report the list's error, as Helm does.
                    Err(other) if other.is_forbidden() => self.fail(error).await,
                    _ => ControlFlow::Continue(()),
                }
            }
            Err(error) if error.is_forbidden() => self.fail(error).await,
            Err(error) if error.is_not_found() => {
                self.send(ReflectorEvent::Replaced(Vec::new())).await?;
                self.back_off().await
            }
            Err(_) => self.back_off().await,
        }
    }

    async fn list(&self, resource: &Resource) -> Result<(Vec<Object>, String)> {
        if self.target.metadata_only && (2..LIST_THRESHOLD).contains(&self.target.names.len()) {
            return self.list_each(resource).await;
        }
        let mut objects = Vec::new();
        let (mut next, mut version) = (String::new(), String::new());
        loop {
            let page = self.cluster.page(resource, &self.target.namespace, &self.selection, &next).await?;
            // All pages are of the same snapshot, so the first one's version is that of the list.
            if version.is_empty() {
                version = page.resource_version;
            }
            objects.extend(page.objects.into_iter().filter(|object| self.target.selects(object.name())).map(
                |object| if self.target.metadata_only { restore_kind(object, resource) } else { object },
            ));
            next = page.next;
            if next.is_empty() {
                return Ok((objects, version));
            }
        }
    }

    /// Reads a few objects by name, however many others exist in the namespace. The result cannot be watched from.
    async fn list_each(&self, resource: &Resource) -> Result<(Vec<Object>, String)> {
        let selections: Vec<ListParams> =
            self.target.names.iter().map(|name| self.target.by_name(name)).collect();
        let fetch = |selection: &ListParams| {
            let selection = selection.clone();
            async move { self.cluster.page(resource, &self.target.namespace, &selection, "").await }.boxed()
        };
        let mut objects = Vec::new();
        for page in run_concurrently(&selections, fetch).await {
            objects.extend(page?.objects.into_iter().map(|object| restore_kind(object, resource)));
        }
        Ok((objects, String::new()))
    }

    /// Forwards changes until the list has to be read again.
    async fn watch(&mut self, resource: &Resource, mut version: String) -> ControlFlow<()> {
        if self.target.metadata_only || !self.can_watch {
            let delay = if self.target.metadata_only { METADATA_POLL_INTERVAL } else { POLL_INTERVAL };
            tokio::time::sleep(delay).await;
            return ControlFlow::Continue(());
        }
        loop {
            let opened =
                self.cluster.watch(resource, &self.target.namespace, &self.selection, &version).await;
            let error = match opened {
                Ok(mut watching) => loop {
                    match watching.next().await {
                        Ok(Some(event)) => self.forward(event, &mut version).await?,
                        Ok(None) => break None,
                        Err(error) => break Some(error),
                    }
                },
                Err(error) => Some(error),
            };
            match error {
                // The server closes watches regularly; the last `resourceVersion` is good to continue from.
                None => {
                    self.delay = BACKOFF.0;
                    self.back_off().await?;
                }
                // Without delay: nothing is wrong with the server, the version is just older than its watch cache.
                Some(error) if error.is_expired() => return ControlFlow::Continue(()),
                Some(error) if error.is_forbidden() || is_refused_method(&error) => {
                    self.can_watch = false;
                    return ControlFlow::Continue(());
                }
                // The version is still good, so the watch continues from it; listing again would cost more.
                Some(error) if error.is_transport() => self.back_off().await?,
                Some(_) => return self.back_off().await,
            }
        }
    }

    async fn forward(&mut self, event: WatchEvent, version: &mut String) -> ControlFlow<()> {
        let (object, gone) = match event {
            WatchEvent::Bookmark(newer) => {
                *version = newer;
                return ControlFlow::Continue(());
            }
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
        };
        self.delay = BACKOFF.0;
        // Also for objects that are not selected: the watch continues from the last event that was sent.
        object.resource_version().clone_into(version);
        if !self.target.selects(object.name()) {
            return ControlFlow::Continue(());
        }
        let event = if gone {
            ReflectorEvent::Deleted(object.name().to_owned())
        } else {
            ReflectorEvent::Updated(Box::new(object))
        };
        self.send(event).await
    }

    /// For users who may get objects but not list them.
    async fn poll_each(&mut self, resource: &Resource) -> ControlFlow<()> {
        let mut objects = Vec::new();
        for name in &self.target.names {
            match self.cluster.get_by_name(resource, &self.target.namespace, name).await {
                Ok(object) => objects.extend(object),
                Err(error) if error.is_forbidden() => return self.fail(error).await,
                Err(_) => return self.back_off().await,
            }
        }
        self.send(ReflectorEvent::Replaced(objects)).await?;
        tokio::time::sleep(POLL_INTERVAL).await;
        ControlFlow::Continue(())
    }

    fn first_name(&self) -> &str {
        self.target.names.first().map_or("", String::as_str)
    }

    async fn send(&self, event: ReflectorEvent) -> ControlFlow<()> {
        match self.sender.send((self.tag, event)).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    async fn fail(&self, error: Error) -> ControlFlow<()> {
        self.send(ReflectorEvent::Failed(error)).await?;
        ControlFlow::Break(())
    }

    /// Exponential backoff after errors.
    async fn back_off(&mut self) -> ControlFlow<()> {
        tokio::time::sleep(self.delay).await;
        self.delay = (self.delay * 2).min(BACKOFF.1);
        ControlFlow::Continue(())
    }
}

/// Restores the kind of an object that was returned as `PartialObjectMetadata`.
fn restore_kind(mut object: Object, resource: &Resource) -> Object {
    object.body_mut().insert("apiVersion".into(), resource.api_version().as_str().into());
    object.body_mut().insert("kind".into(), resource.kind.as_str().into());
    object
}

fn is_refused_method(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 405)
}
