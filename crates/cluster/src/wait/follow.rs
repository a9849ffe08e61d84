//! Following the objects of one kind in one place: list, watch, and whatever else still works where watching does not.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::FutureExt as _;
use pintle_objects::{Object, ObjectId};
use tokio::sync::mpsc;

use crate::apply::all_at_once;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::read::Selection;
use crate::snapshot::WORTH_A_LIST;
use crate::watch::WatchEvent;

/// The shortest and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));
/// How often objects are read that cannot be watched.
const POLL: Duration = Duration::from_secs(2);
/// How often objects are read of whose kind nothing but the metadata matters; these are small.
const METADATA_POLL: Duration = Duration::from_millis(500);

/// Objects of one kind in one namespace that are followed together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    /// The names that matter; when empty, all objects that the labels select.
    pub(crate) names: BTreeSet<String>,
    /// The labels that matter; empty for all.
    pub(crate) labels: String,
    /// Whether the metadata is enough; such objects are polled.
    pub(crate) metadata_only: bool,
}

/// News about a group.
#[derive(Debug)]
pub(crate) enum News {
    /// These objects are there, and no others that matter.
    Listed(Vec<Object>),
    /// An object is new or has changed.
    Seen(Box<Object>),
    /// An object is gone.
    Gone(String),
    /// The cluster does not let us look.
    Broken(Error),
}

impl Group {
    /// The group that an object belongs to, without its name.
    pub(crate) fn of(id: &ObjectId) -> Self {
        Group {
            api_version: id.api_version(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            names: BTreeSet::new(),
            labels: String::new(),
            metadata_only: false,
        }
    }

    fn selection(&self) -> Selection {
        match (self.names.len(), self.names.first()) {
            (1, Some(name)) => self.one(name),
            _ => self.selection_by(String::new()),
        }
    }

    /// One name can be selected by the server, which spares the rest of the list and needs fewer rights.
    fn one(&self, name: &str) -> Selection {
        self.selection_by(format!("metadata.name={name}"))
    }

    fn selection_by(&self, fields: String) -> Selection {
        Selection {
            labels: self.labels.clone(),
            fields,
            metadata_only: self.metadata_only,
            ..Selection::default()
        }
    }

    fn matters(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.contains(name)
    }
}

/// Follows a group and sends news, each with `tag`, until nobody listens any more.
pub(crate) async fn follow(cluster: Cluster, group: Group, tag: usize, sender: mpsc::Sender<(usize, News)>) {
    let selection = group.selection();
    let mut follower =
        Follower { cluster, selection, group, tag, sender, pause: PAUSES.0, can_watch: true, can_list: true };
    while follower.round().await.is_continue() {}
}

struct Follower {
    cluster: Cluster,
    group: Group,
    selection: Selection,
    tag: usize,
    sender: mpsc::Sender<(usize, News)>,
    pause: Duration,
    can_watch: bool,
    can_list: bool,
}

impl Follower {
    /// Reads all objects and watches them until they have to be read again.
    async fn round(&mut self) -> ControlFlow<()> {
        let resource = match self.cluster.resource(&self.group.api_version, &self.group.kind).await {
            Ok(resource) => resource,
            Err(Error::NoSuchKind { .. }) => {
                // The kind may come while we wait, or may just have gone with its last object.
                self.tell(News::Listed(Vec::new())).await?;
                tokio::time::sleep(POLL).await;
                self.cluster.forget_discovery().await;
                return ControlFlow::Continue(());
            }
            Err(_) => return self.rest().await,
        };
        if !self.can_list {
            return self.read_one_by_one(&resource).await;
        }
        match self.list(&resource).await {
            Ok((objects, version)) => {
                self.pause = PAUSES.0;
                self.tell(News::Listed(objects)).await?;
                self.watch(&resource, version).await
            }
            Err(error) if error.is_forbidden() && !self.group.names.is_empty() => {
                self.can_list = false;
                match self.cluster.get_at(&resource, &self.group.namespace, self.any_name()).await {
                    // Whoever may read neither the list nor the object is told about the list, as Helm does.
                    Err(other) if other.is_forbidden() => self.break_off(error).await,
                    _ => ControlFlow::Continue(()),
                }
            }
            Err(error) if error.is_forbidden() => self.break_off(error).await,
            Err(error) if error.is_not_found() => {
                self.tell(News::Listed(Vec::new())).await?;
                self.rest().await
            }
            Err(_) => self.rest().await,
        }
    }

    async fn list(&self, resource: &Resource) -> Result<(Vec<Object>, String)> {
        if self.group.metadata_only && (2..WORTH_A_LIST).contains(&self.group.names.len()) {
            return self.list_each(resource).await;
        }
        let mut objects = Vec::new();
        let (mut next, mut version) = (String::new(), String::new());
        loop {
            let page = self.cluster.page(resource, &self.group.namespace, &self.selection, &next).await?;
            if version.is_empty() {
                version = page.resource_version;
            }
            objects.extend(
                page.objects
                    .into_iter()
                    .filter(|object| self.group.matters(object.name()))
                    .map(|object| if self.group.metadata_only { as_kind(object, resource) } else { object }),
            );
            next = page.next;
            if next.is_empty() {
                return Ok((objects, version));
            }
        }
    }

    /// Reads a few objects that are not watched by their names, however many others there are beside them.
    async fn list_each(&self, resource: &Resource) -> Result<(Vec<Object>, String)> {
        let selections: Vec<Selection> = self.group.names.iter().map(|name| self.group.one(name)).collect();
        let ask = |selection: &Selection| {
            let selection = selection.clone();
            async move { self.cluster.page(resource, &self.group.namespace, &selection, "").await }.boxed()
        };
        let mut objects = Vec::new();
        for page in all_at_once(&selections, ask).await {
            objects.extend(page?.objects.into_iter().map(|object| as_kind(object, resource)));
        }
        Ok((objects, String::new()))
    }

    /// Passes changes on until the list has to be read again.
    async fn watch(&mut self, resource: &Resource, mut version: String) -> ControlFlow<()> {
        if self.group.metadata_only || !self.can_watch {
            let pause = if self.group.metadata_only { METADATA_POLL } else { POLL };
            tokio::time::sleep(pause).await;
            return ControlFlow::Continue(());
        }
        loop {
            let opened = self.cluster.watch(resource, &self.group.namespace, &self.selection, &version).await;
            let error = match opened {
                Ok(mut watching) => loop {
                    match watching.next().await {
                        Ok(Some(event)) => self.pass_on(event, &mut version).await?,
                        Ok(None) => break None,
                        Err(error) => break Some(error),
                    }
                },
                Err(error) => Some(error),
            };
            match error {
                // The server closes watches now and then; the state that we have seen is good to go on from.
                None => {
                    self.pause = PAUSES.0;
                    self.rest().await?;
                }
                Some(error) if error.is_expired() => return ControlFlow::Continue(()),
                Some(error) if error.is_forbidden() || is_refused_method(&error) => {
                    self.can_watch = false;
                    return ControlFlow::Continue(());
                }
                Some(error) if error.is_transport() => self.rest().await?,
                Some(_) => return self.rest().await,
            }
        }
    }

    async fn pass_on(&mut self, event: WatchEvent, version: &mut String) -> ControlFlow<()> {
        let (object, gone) = match event {
            WatchEvent::Bookmark(newer) => {
                *version = newer;
                return ControlFlow::Continue(());
            }
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
        };
        self.pause = PAUSES.0;
        object.resource_version().clone_into(version);
        if !self.group.matters(object.name()) {
            return ControlFlow::Continue(());
        }
        let news = if gone { News::Gone(object.name().to_owned()) } else { News::Seen(Box::new(object)) };
        self.tell(news).await
    }

    /// For those who may read objects but not lists.
    async fn read_one_by_one(&mut self, resource: &Resource) -> ControlFlow<()> {
        let mut objects = Vec::new();
        for name in &self.group.names {
            match self.cluster.get_at(resource, &self.group.namespace, name).await {
                Ok(object) => objects.extend(object),
                Err(error) if error.is_forbidden() => return self.break_off(error).await,
                Err(_) => return self.rest().await,
            }
        }
        self.tell(News::Listed(objects)).await?;
        tokio::time::sleep(POLL).await;
        ControlFlow::Continue(())
    }

    fn any_name(&self) -> &str {
        self.group.names.first().map_or("", String::as_str)
    }

    async fn tell(&self, news: News) -> ControlFlow<()> {
        match self.sender.send((self.tag, news)).await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    async fn break_off(&self, error: Error) -> ControlFlow<()> {
        self.tell(News::Broken(error)).await?;
        ControlFlow::Break(())
    }

    /// Waits longer and longer after failures.
    async fn rest(&mut self) -> ControlFlow<()> {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSES.1);
        ControlFlow::Continue(())
    }
}

/// Gives an object of which only the metadata was read its own kind back.
fn as_kind(mut object: Object, resource: &Resource) -> Object {
    object.body_mut().insert("apiVersion".into(), resource.api_version().as_str().into());
    object.body_mut().insert("kind".into(), resource.kind.as_str().into());
    object
}

fn is_refused_method(error: &Error) -> bool {
    error.status().is_some_and(|status| status.code == 405)
}
