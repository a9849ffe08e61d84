//! Reads the live state of many objects with as few requests as possible.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use pintle_objects::{Object, ObjectId};
use pintle_plan::Snapshot;

use crate::apply::run_concurrently;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::read::ListParams;

/// From this many objects of a kind in a namespace on, one list is cheaper than a get for each.
pub(crate) const LIST_THRESHOLD: usize = 8;

/// How much of each object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The complete objects.
    Full,
    /// At least the metadata; objects that were read one by one are complete.
    MetadataOnly,
}

/// The live state of objects as far as it can be read.
#[derive(Debug, Default)]
pub struct ReadableSnapshot {
    /// The objects that exist.
    pub live: Snapshot,
    /// The objects that could not be read, each with the reason.
    pub unreadable: Vec<(ObjectId, Error)>,
}

/// The requested objects of one kind in one namespace.
struct Group<'a> {
    ids: Vec<&'a ObjectId>,
}

impl Cluster {
    /// Reads those of the given objects that exist.
    ///
    /// # Errors
    /// The error of the first object that could not be read. Kinds that the server does not know are not an error:
    /// they have no objects.
    pub async fn snapshot<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a ObjectId>,
        detail: Detail,
    ) -> Result<Snapshot> {
        let ReadableSnapshot { live, unreadable } = self.snapshot_readable(ids, detail).await;
        match unreadable.into_iter().next() {
            None => Ok(live),
            Some((id, error)) => Err(error.during(get_failure(&id))),
        }
    }

    /// Reads those of the given objects that exist, and returns the others with the reason why they could not be read.
    /// Kinds that the server does not know have no objects.
    pub async fn snapshot_readable<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a ObjectId>,
        detail: Detail,
    ) -> ReadableSnapshot {
        let mut groups: BTreeMap<(&str, &str, &str, &str), Group<'a>> = BTreeMap::new();
        // The desired and the previous objects are mostly the same.
        let mut seen = BTreeSet::new();
        for id in ids.into_iter().filter(|id| !id.name.is_empty() && seen.insert(*id)) {
            let key = (id.group.as_str(), id.version.as_str(), id.kind.as_str(), id.namespace.as_str());
            groups.entry(key).or_insert_with(|| Group { ids: Vec::new() }).ids.push(id);
        }
        let groups: Vec<Group<'a>> = groups.into_values().collect();
        let listed = run_concurrently(&groups, move |group| self.list_group(group, detail).boxed()).await;
        let mut snapshot = ReadableSnapshot::default();
        let mut left: Vec<&ObjectId> = Vec::new();
        for (group, objects) in groups.iter().zip(listed) {
            match objects {
                Some(objects) => objects.into_iter().for_each(|object| snapshot.live.insert(object)),
                None => left.extend(group.ids.iter().copied()),
            }
        }
        let read = run_concurrently(&left, |id| self.get(id).boxed()).await;
        for (id, object) in left.iter().zip(read) {
            match object {
                Ok(Some(object)) => snapshot.live.insert(object),
                Ok(None) | Err(Error::NoSuchKind { .. }) => {}
                Err(error) => snapshot.unreadable.push(((*id).clone(), error)),
            }
        }
        snapshot
    }

    /// Reads a group with one list request, if that is cheaper and returns all of it. `None` falls back to single
    /// gets, for which RBAC may grant rights where it does not for lists.
    async fn list_group(&self, group: &Group<'_>, detail: Detail) -> Option<Vec<Object>> {
        if group.ids.len() < LIST_THRESHOLD {
            return None;
        }
        let first = group.ids[0];
        let resource = self.resource(&first.api_version(), &first.kind).await.ok()?;
        // Without a namespace the list would span all namespaces.
        if resource.namespaced && first.namespace.is_empty() {
            return None;
        }
        // Some unrelated objects are cheaper than single gets; with many of them, the page is incomplete and the list
        // abandoned.
        let limit = u32::try_from(group.ids.len() * 2).ok()?.max(100);
        // Secrets that hold Helm's release records are large, and never objects of a release.
        let records = first.group.is_empty() && first.kind == "Secret";
        let fields = if records { "type!=helm.sh/release.v1" } else { "" };
        let selection = ListParams {
            fields: fields.to_owned(),
            limit,
            metadata_only: detail == Detail::MetadataOnly,
            ..ListParams::default()
        };
        let page = self.page(&resource, &first.namespace, &selection, "").await.ok()?;
        if !page.next.is_empty() {
            return None;
        }
        let mut names: Vec<&str> = group.ids.iter().map(|id| id.name.as_str()).collect();
        names.sort_unstable();
        let selected = |object: &Object| names.binary_search(&object.name()).is_ok();
        Some(page.objects.into_iter().filter(selected).map(|object| restore_kind(object, first)).collect())
    }
}

/// Helm's message for a failed get.
fn get_failure(id: &ObjectId) -> String {
    let ObjectId { kind, name, namespace, .. } = id;
    format!("could not get information about the resource {kind} {name:?} in namespace {namespace:?}")
}

/// Restores the kind of an object that was returned as `PartialObjectMetadata`.
fn restore_kind(mut object: Object, example: &ObjectId) -> Object {
    object.body_mut().insert("apiVersion".into(), example.api_version().into());
    object.body_mut().insert("kind".into(), example.kind.as_str().into());
    object
}
