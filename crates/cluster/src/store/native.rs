//! Releases as objects of their own kind: a `Release` that points to its current `ReleaseVersion`, whose payload is in
//! Secrets.
//!
//! A new version is written whole before the release points to it. Moving the pointer succeeds only for the writer that
//! saw the state before it, so that of two writers one wins, and the other takes back what it wrote.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pintle_objects::Object;
use pintle_release::native::Payload;
use pintle_release::{
    Answer, Claim, Query, ReleaseVersion, Status, Store, StoreError, Summary, VersionId, newest,
};
use pintle_tree::{Map, Node};

use super::payload::Parcel;
use super::record::{self, PayloadNote};
use super::{application, chance, payload, wire};
use crate::cluster::Cluster;
use crate::crds;
use crate::error::{Error, Result};
use crate::read::Selection;

/// How often the pointer is tried again when others change the release without moving it.
const STUBBORNNESS: usize = 20;

/// Namespace, release and number.
type Key = (String, String, u64);

/// Keeps releases as objects of their own kind.
#[derive(Debug)]
pub struct Native {
    cluster: Cluster,
    /// What was learned about versions on the way: their ids, and where their payload is.
    known: Mutex<BTreeMap<Key, (VersionId, PayloadNote)>>,
    /// Releases as they were last seen, by namespace and name; none where there was none. Whoever builds on one of them
    /// finds out when it is out of date, because it cannot be replaced then.
    seen: Mutex<BTreeMap<(String, String), Option<Object>>>,
    /// Versions as a history has just told them, so that whoever goes on to read one of them need not ask again.
    listed: Mutex<BTreeMap<Key, Object>>,
}

impl Native {
    /// Returns a store in this cluster. The kinds are installed when the first release is created.
    pub fn new(cluster: Cluster) -> Self {
        Native { cluster, known: Mutex::default(), seen: Mutex::default(), listed: Mutex::default() }
    }

    fn remember(&self, object: &Object) {
        let summary = record::version_summary(object);
        if let Some(id) = summary.id {
            let key = (summary.namespace, summary.name, summary.number);
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, (id, record::payload_note(object)));
        }
    }

    fn remembered(&self, namespace: &str, name: &str, number: u64) -> Option<(VersionId, PayloadNote)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(namespace.to_owned(), name.to_owned(), number)).cloned()
    }

    fn forget(&self, namespace: &str, name: &str, number: u64) {
        let key = (namespace.to_owned(), name.to_owned(), number);
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// A version as it was last listed, once.
    fn take_listed(&self, namespace: &str, name: &str, number: u64) -> Option<Object> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.remove(&(namespace.to_owned(), name.to_owned(), number))
    }

    fn list_later(&self, parts: &[(Summary, Object)]) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        for (summary, object) in parts {
            let key = (summary.namespace.clone(), summary.name.clone(), summary.number);
            listed.insert(key, object.clone());
        }
    }

    fn see(&self, namespace: &str, name: &str, release: Option<&Object>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((namespace.to_owned(), name.to_owned()), release.cloned());
    }

    /// A release as it was last seen, once.
    fn take_seen(&self, namespace: &str, name: &str) -> Option<Option<Object>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(&(namespace.to_owned(), name.to_owned()))
    }

    /// The release as it was last seen, if it was there.
    fn seen(&self, namespace: &str, name: &str) -> Option<Object> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&(namespace.to_owned(), name.to_owned())).cloned().flatten()
    }

    /// Whether the release is known to have come further than a version. It does not go back but by deleting versions,
    /// and whoever does that tells the release himself.
    fn is_past(&self, namespace: &str, name: &str, number: u64) -> bool {
        let release = self.seen(namespace, name);
        release.as_ref().and_then(record::pointer).is_some_and(|(_, current)| current > number)
    }

    async fn release(&self, namespace: &str, name: &str) -> Result<Option<Object>> {
        self.cluster.get_at(&crds::releases(), namespace, name).await
    }

    /// The resources of versions, whether or not their release ever pointed to them.
    async fn versions(&self, namespace: &str, selector: String) -> Result<Vec<Object>> {
        let selection = Selection { labels: selector, ..Selection::default() };
        absent_as_none(self.cluster.list(&crds::release_versions(), namespace, &selection).await)
    }

    /// The versions of one release, or some of them by number, in order.
    async fn parts(&self, namespace: &str, name: &str, numbers: &[u64]) -> Result<Vec<(Summary, Object)>> {
        let release = async { absent_as_none(self.release(namespace, name).await) };
        let versions = || self.versions(namespace, record::selector(name, numbers));
        let (release, mut versions_there) = futures::try_join!(release, versions())?;
        self.see(namespace, name, release.as_ref());
        let pointer = release.as_ref().and_then(record::pointer);
        // Whoever takes a release away tells the version first; what was read before that is out of date.
        let knows = |version: &Object| {
            let summary = record::version_summary(version);
            summary.status == Status::Uninstalling
                || Some(summary.number) != pointer.map(|(_, number)| number)
        };
        if release.as_ref().is_some_and(record::is_going) && !versions_there.iter().all(knows) {
            versions_there = versions().await?;
        }
        let summed = versions_there.into_iter().map(|object| (record::version_summary(&object), object));
        let mut parts: Vec<_> = summed.filter(|(summary, _)| record::is_part(summary, pointer)).collect();
        parts.sort_by_key(|(summary, _)| summary.number);
        for (_, object) in &parts {
            self.remember(object);
        }
        Ok(parts)
    }

    /// The resource of a version by its number.
    async fn version(&self, namespace: &str, name: &str, number: u64) -> Result<Option<Object>> {
        if let Some((id, _)) = self.remembered(namespace, name, number) {
            let name = record::version_name(name, id);
            return self.cluster.get_at(&crds::release_versions(), namespace, &name).await;
        }
        Ok(self.parts(namespace, name, &[number]).await?.pop().map(|(_, object)| object))
    }

    /// The name of the resource of a version.
    async fn version_name(&self, namespace: &str, name: &str, number: u64) -> Result<Option<String>> {
        if let Some((id, _)) = self.remembered(namespace, name, number) {
            return Ok(Some(record::version_name(name, id)));
        }
        Ok(self.version(namespace, name, number).await?.map(|object| object.name().to_owned()))
    }

    /// The release of a new version, made when there is none; the kinds are installed when they are missing.
    async fn release_for(&self, version: &ReleaseVersion) -> Result<Object, StoreError> {
        let failed = || wire::failed("create: failed to create");
        let (namespace, name) = (&version.namespace, &version.name);
        let found = match self.take_seen(namespace, name) {
            Some(seen) => seen,
            None => self.release(namespace, name).await.map_err(failed())?,
        };
        if let Some(release) = found {
            return Ok(release);
        }
        match self.new_release(version).await {
            Err(error) if is_missing_kind(&error) => {
                crds::install(&self.cluster)
                    .await
                    .map_err(|error| StoreError::NoKinds { source: Box::new(error) })?;
                self.new_release(version).await.map_err(failed())
            }
            made => made.map_err(failed()),
        }
    }

    async fn new_release(&self, version: &ReleaseVersion) -> Result<Object> {
        let mut release = record::new_release(version);
        if let Some(application) = application::ensure(&self.cluster, version).await? {
            record::set_owner(&mut release, &application);
        }
        match wire::create(&self.cluster, &crds::releases(), &release).await {
            Err(error) if error.is_already_exists() => {
                let found = self.release(&version.namespace, &version.name).await?;
                found.ok_or(error)
            }
            made => made,
        }
    }

    async fn add(
        &self,
        version: &ReleaseVersion,
        claim: Option<&Claim>,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let unwritable =
            |source| StoreError::Unwritable { action: "create", name: version.name.clone(), source };
        let payload = Payload::of(version).map_err(unwritable)?;
        let mut release = self.release_for(version).await?;
        if self.is_taken(version, &release).await? {
            return Err(StoreError::Exists { name: version.name.clone(), number: version.number });
        }
        if record::pointer(&release).is_some_and(|(_, number)| number >= version.number) {
            release = self.release_for(version).await?;
        }
        self.still_follows(&release, version, after).await?;
        let moment = version.info.last_deployed.unwrap_or_else(chance::now);
        let id = version.id.unwrap_or_else(|| chance::id_of(moment));
        let name = record::version_name(&version.name, id);
        let parcel = Parcel::new(&name, &payload, false);
        let mut object = record::new_version(version, id, claim, &parcel.note);
        record::set_owner(&mut object, &release);
        let created = wire::create(&self.cluster, &crds::release_versions(), &object).await;
        let object = created.map_err(wire::failed("create: failed to create"))?;
        let outcome = self.finish(version, id, &object, &parcel, (release, after)).await;
        match &outcome {
            Ok(()) => self.remember(&object),
            // Nothing points to it, so nothing is lost with it; its Secrets go with it.
            Err(_) => self.take_back(&object).await,
        }
        outcome
    }

    /// Whether the number of a new version is taken. Somebody may have died between deleting the current version and
    /// telling the release; then the release is told.
    async fn is_taken(&self, version: &ReleaseVersion, release: &Object) -> Result<bool, StoreError> {
        let failed = || wire::failed("create: failed to create");
        let Some((id, _)) = record::pointer(release).filter(|(_, number)| *number >= version.number) else {
            return Ok(false);
        };
        let (namespace, name) = (&version.namespace, record::version_name(&version.name, id));
        let found = self.cluster.get_at(&crds::release_versions(), namespace, &name).await;
        if found.map_err(failed())?.is_some() {
            return Ok(true);
        }
        self.settle_pointer(namespace, &version.name, &name).await.map_err(failed())?;
        let release = self.release(namespace, &version.name).await.map_err(failed())?;
        let pointer = release.as_ref().and_then(record::pointer);
        Ok(pointer.is_some_and(|(_, number)| number >= version.number))
    }

    /// Writes the payload of a new version and makes the release point to it.
    async fn finish(
        &self,
        version: &ReleaseVersion,
        id: VersionId,
        object: &Object,
        parcel: &Parcel,
        (release, after): (Object, Option<&Summary>),
    ) -> Result<(), StoreError> {
        let pointer = record::pointer(&release);
        let write = parcel.write(&self.cluster, object);
        let (written, rivals) = futures::join!(write, self.rivals(version, pointer));
        written.map_err(wire::failed("create: failed to create"))?;
        self.move_pointer(version, id, release, after).await?;
        for rival in rivals.unwrap_or_default().iter().filter(|rival| rival.name() != object.name()) {
            self.take_back(rival).await;
        }
        Ok(())
    }

    /// Versions that carry the number of this one, or of the one before it, but to which no release points. Those who
    /// made them will lose, or have died; once this version is in place they can go.
    async fn rivals(
        &self,
        version: &ReleaseVersion,
        pointer: Option<(VersionId, u64)>,
    ) -> Result<Vec<Object>> {
        let mut numbers = vec![version.number];
        numbers.extend(pointer.map(|(_, number)| number));
        let mut found = self.versions(&version.namespace, record::selector(&version.name, &numbers)).await?;
        found.retain(|object| !record::is_part(&record::version_summary(object), pointer));
        Ok(found)
    }

    /// Deletes a version to which no release points. When that fails, the next writer does it.
    async fn take_back(&self, object: &Object) {
        let at = (object.namespace(), object.name());
        let _ = wire::delete(&self.cluster, &crds::release_versions(), at, "").await;
    }

    async fn move_pointer(
        &self,
        version: &ReleaseVersion,
        id: VersionId,
        mut release: Object,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let failed = || wire::failed("create: failed to create");
        for _ in 0..STUBBORNNESS {
            record::point(&mut release, version, id);
            match wire::replace(&self.cluster, &crds::releases(), &release).await {
                Ok(release) => {
                    self.see(&version.namespace, &version.name, Some(&release));
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_not_found() => return Err(self.lost(version, None).await),
                Err(error) => return Err(failed()(error)),
            }
            let now = self.release(&version.namespace, &version.name).await.map_err(failed())?;
            let Some(now) = now else { return Err(self.lost(version, None).await) };
            match record::pointer(&now) {
                // An answer that was lost on its way may have been a success.
                Some((winner, _)) if winner == id => return Ok(()),
                Some((winner, number)) if number >= version.number => {
                    return Err(self.lost(version, Some(winner)).await);
                }
                _ => {
                    self.still_follows(&now, version, after).await?;
                    release = now;
                }
            }
        }
        Err(self.lost(version, None).await)
    }

    /// Makes sure that a release still points to the version that a new one is to follow, and is not going away.
    async fn still_follows(
        &self,
        release: &Object,
        version: &ReleaseVersion,
        after: Option<&Summary>,
    ) -> Result<(), StoreError> {
        let Some(after) = after else { return Ok(()) };
        let pointer = record::pointer(release).map(|(id, _)| id);
        let is_going = record::is_going(release) && after.status != Status::Uninstalling;
        if pointer == after.id && !is_going {
            return Ok(());
        }
        match pointer.filter(|_| pointer != after.id) {
            None => Err(self.changed(after).await),
            winner => Err(self.lost(version, winner).await),
        }
    }

    /// What has become of a version that was seen otherwise.
    async fn changed(&self, seen: &Summary) -> StoreError {
        let name = seen.id.map(|id| record::version_name(&seen.name, id)).unwrap_or_default();
        let found = self.cluster.get_at(&crds::release_versions(), &seen.namespace, &name).await;
        let now = found.ok().flatten().map(|object| record::version_summary(&object));
        StoreError::Changed {
            name: seen.name.clone(),
            number: seen.number,
            status: now.as_ref().map(|now| now.status),
            holder: now.and_then(|now| now.claim).map(|claim| claim.holder),
        }
    }

    async fn lost(&self, version: &ReleaseVersion, winner: Option<VersionId>) -> StoreError {
        let mut holder = None;
        if let Some(winner) = winner {
            let name = record::version_name(&version.name, winner);
            let found = self.cluster.get_at(&crds::release_versions(), &version.namespace, &name).await;
            let claim = found.ok().flatten().and_then(|object| record::version_summary(&object).claim);
            holder = claim.map(|claim| claim.holder);
        }
        StoreError::Lost { name: version.name.clone(), number: version.number, winner, holder }
    }

    /// Writes a version anew; with what was seen of it, only if it is still so. Gives the resource.
    async fn change(
        &self,
        version: &ReleaseVersion,
        claim: Option<&Claim>,
        seen: Option<&Summary>,
    ) -> Result<Object, StoreError> {
        let (namespace, name, number) = (version.namespace.as_str(), version.name.as_str(), version.number);
        let failed = || wire::failed("update: failed to update");
        let not_found = || StoreError::NotFound { name: name.to_owned(), number };
        let payload = Payload::of(version).map_err(|source| StoreError::Unwritable {
            action: "update",
            name: name.to_owned(),
            source,
        })?;
        if self.remembered(namespace, name, number).is_none() {
            self.version(namespace, name, number).await.map_err(failed())?.ok_or_else(not_found)?;
        }
        let (id, old) = self.remembered(namespace, name, number).ok_or_else(not_found)?;
        self.take_listed(namespace, name, number);
        let object_name = record::version_name(name, id);
        let mut new = None;
        if old.digest != payload.digest() {
            let owner = self.cluster.get_at(&crds::release_versions(), namespace, &object_name).await;
            let owner = owner.map_err(failed())?.ok_or_else(not_found)?;
            let parcel = Parcel::new(&object_name, &payload, true);
            parcel.write(&self.cluster, &owner).await.map_err(failed())?;
            new = Some(parcel.note);
        }
        let mut patch = record::change(version, claim, new.as_ref());
        if let Some(seen) = seen {
            record::guard(&mut patch, &seen.state);
        }
        let at = (namespace, object_name.as_str());
        let object = match wire::merge(&self.cluster, &crds::release_versions(), at, &patch).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Err(not_found()),
            Err(error) if error.is_conflict() && seen.is_some() => {
                self.same(at, version, claim).await.map_err(failed())?.ok_or_else(not_found)?
            }
            Err(error) => return Err(failed()(error)),
        };
        self.remember(&object);
        if new.is_some() {
            payload::discard(&self.cluster, namespace, &old).await.map_err(failed())?;
        }
        Ok(object)
    }

    /// The resource of a version, if it is what somebody wanted it to become: an answer was lost on its way, or somebody
    /// else has come to the same end.
    async fn same(
        &self,
        (namespace, name): (&str, &str),
        version: &ReleaseVersion,
        claim: Option<&Claim>,
    ) -> Result<Option<Object>> {
        let found = self.cluster.get_at(&crds::release_versions(), namespace, name).await?;
        Ok(found.filter(|object| {
            let now = record::version_summary(object);
            now.status == version.info.status && now.claim.as_ref() == claim
        }))
    }

    async fn update(&self, version: &ReleaseVersion, claim: Option<&Claim>) -> Result<(), StoreError> {
        self.change(version, claim, None).await?;
        if self.is_past(&version.namespace, &version.name, version.number) {
            return Ok(());
        }
        let failed = wire::failed("update: failed to update");
        self.repeat_in_release(version).await.map_err(failed).map(drop)
    }

    /// Changes the newest version, then its release. Whoever adds a version at the same time needs the release as it was
    /// before, or has changed it already; then the version becomes again what it was.
    async fn swap(
        &self,
        seen: &Summary,
        version: &ReleaseVersion,
        claim: Option<&Claim>,
    ) -> Result<String, StoreError> {
        let object = match self.change(version, claim, Some(seen)).await {
            Err(StoreError::NotFound { .. }) => return Err(self.changed(seen).await),
            changed => changed?,
        };
        let failed = wire::failed("update: failed to update");
        if self.repeat_in_release(version).await.map_err(failed)? {
            return Ok(object.resource_version().to_owned());
        }
        let undo = record::undo(seen, object.resource_version());
        let at = (object.namespace(), object.name());
        // Whoever came first may have changed it by now, and then knows better what it is.
        let _ = wire::merge(&self.cluster, &crds::release_versions(), at, &undo).await;
        let release = self.release(&version.namespace, &version.name).await.ok().flatten();
        match release.as_ref().and_then(record::pointer) {
            Some((winner, number)) => {
                let next = ReleaseVersion { number, name: seen.name.clone(), ..version.clone() };
                Err(self.lost(&next, Some(winner)).await)
            }
            None => Err(self.changed(seen).await),
        }
    }

    /// Repeats the state of a version in its release, and tells whether that points to it.
    async fn repeat_in_release(&self, version: &ReleaseVersion) -> Result<bool> {
        let (namespace, name) = (version.namespace.as_str(), version.name.as_str());
        let Some((id, _)) = self.remembered(namespace, name, version.number) else { return Ok(false) };
        let mut steps = vec![wire::step("test", "/status/current", id.to_string())];
        let fields = record::mirror(version).into_iter();
        steps.extend(fields.map(|(key, value)| wire::step("add", &format!("/status/{key}"), value)));
        steps.push(wire::step("add", "/metadata/labels/status", version.status_word()));
        match wire::steps(&self.cluster, &crds::releases(), (namespace, name), steps).await {
            Ok(Some(release)) => {
                self.see(namespace, name, Some(&release));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn whole(
        &self,
        namespace: &str,
        name: &str,
        number: u64,
    ) -> Result<Option<ReleaseVersion>, StoreError> {
        let failed = || wire::failed(format!("get: failed to get version {number} of {name:?}"));
        let listed = self.take_listed(namespace, name, number);
        let was_listed = listed.is_some();
        let object = match listed {
            Some(object) => Some(object),
            None => absent_as_none(self.version(namespace, name, number).await).map_err(failed())?,
        };
        let Some(object) = object else { return Ok(None) };
        let note = record::payload_note(&object);
        let read = match payload::read(&self.cluster, namespace, &note).await {
            // Since it was listed, it may have got another payload, or have gone.
            Err(_) if was_listed => return Box::pin(self.whole(namespace, name, number)).await,
            read => read.map_err(failed())?,
        };
        let mut version =
            read.map_err(|source| StoreError::Unreadable { key: object.name().to_owned(), source })?;
        record::complete(&mut version, &object);
        Ok(Some(version))
    }

    /// The current versions of releases. Where the release says that an operation is under way, the version itself is
    /// asked: it is written first, and the writer may not have come further.
    async fn current(&self, query: &Query) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let releases = match &query.name {
            Some(name) if !namespace.is_empty() && query.selector.is_empty() => {
                absent_as_none(self.release(namespace, name).await)?.into_iter().collect()
            }
            _ => {
                let fields =
                    query.name.as_ref().map(|name| format!("metadata.name={name}")).unwrap_or_default();
                let selection = Selection { labels: query.selector.clone(), fields, ..Selection::default() };
                absent_as_none(self.cluster.list(&crds::releases(), namespace, &selection).await)?
            }
        };
        let mut found: Vec<Summary> = releases.iter().filter_map(record::release_summary).collect();
        let is_unsettled =
            |summary: &Summary| summary.status.is_pending() || summary.status == Status::Uninstalling;
        let mut unsettled = Vec::new();
        found.retain(|summary| {
            let keep = !is_unsettled(summary);
            if !keep {
                unsettled.push((summary.namespace.clone(), summary.name.clone()));
            }
            keep
        });
        for (namespace, name) in unsettled {
            found.extend(self.parts(&namespace, &name, &[]).await?.pop().map(|(summary, _)| summary));
        }
        Ok(found)
    }

    /// Every version that a query wants.
    async fn matching(&self, query: &Query) -> Result<Vec<Summary>> {
        let namespace = query.namespace.as_deref().unwrap_or_default();
        let name = query.name.as_ref().map(|name| format!("name={name}"));
        let parts = name.into_iter().chain(Some(query.selector.clone()).filter(|text| !text.is_empty()));
        let selector = parts.collect::<Vec<_>>().join(",");
        let (everything, releases) = (Selection::default(), crds::releases());
        let releases = async { absent_as_none(self.cluster.list(&releases, namespace, &everything).await) };
        let (releases, versions) = futures::try_join!(releases, self.versions(namespace, selector))?;
        let pointers: BTreeMap<_, _> = releases
            .iter()
            .map(|release| ((release.namespace(), release.name()), record::pointer(release)))
            .collect();
        let mut found: Vec<Summary> = versions.iter().map(record::version_summary).collect();
        found.retain(|version| {
            let pointer = pointers.get(&(version.namespace.as_str(), version.name.as_str()));
            query.wants(version.status) && record::is_part(version, pointer.copied().flatten())
        });
        found.sort_by(|a, b| (&a.namespace, &a.name, a.number).cmp(&(&b.namespace, &b.name, b.number)));
        Ok(found)
    }

    async fn remove(&self, namespace: &str, name: &str, number: u64) -> Result<bool> {
        let Some(object_name) = absent_as_none(self.version_name(namespace, name, number).await)? else {
            return Ok(false);
        };
        let at = (namespace, object_name.as_str());
        let was_there = wire::delete(&self.cluster, &crds::release_versions(), at, "").await?;
        self.forget(namespace, name, number);
        if !self.is_past(namespace, name, number) {
            self.settle_pointer(namespace, name, &object_name).await?;
        }
        Ok(was_there)
    }

    /// After a version is gone: a release that pointed to it points to the newest that is left, or goes too.
    async fn settle_pointer(&self, namespace: &str, name: &str, gone: &str) -> Result<()> {
        let points_elsewhere = |release: &Object| {
            let current = record::pointer(release).map(|(id, _)| record::version_name(name, id));
            current.is_some_and(|current| current != gone)
        };
        let mut seen = self.take_seen(namespace, name).flatten().filter(|release| !points_elsewhere(release));
        for _ in 0..STUBBORNNESS {
            let release = match seen.take() {
                Some(release) => Some(release),
                None => self.release(namespace, name).await?,
            };
            let Some(mut release) = release.filter(|release| !points_elsewhere(release)) else {
                return Ok(());
            };
            let versions = self.versions(namespace, record::selector(name, &[])).await?;
            let pointer = record::pointer(&release);
            let left = versions.iter().filter(|object| {
                object.name() != gone && record::is_part(&record::version_summary(object), pointer)
            });
            let left = left.max_by_key(|object| record::version_summary(object).number);
            let changed = match left {
                Some(object) => {
                    let mut version = ReleaseVersion::default();
                    record::complete(&mut version, object);
                    let metadata = &mut version.chart.metadata;
                    let summary = record::version_summary(object);
                    metadata.name = summary.chart_name;
                    metadata.version = summary.chart_version;
                    metadata.app_version = summary.app_version;
                    let Some(id) = summary.id else { return Ok(()) };
                    record::point(&mut release, &version, id);
                    wire::replace(&self.cluster, &crds::releases(), &release).await.map(|_| ())
                }
                None => {
                    let state = release.resource_version();
                    let gone = wire::delete(&self.cluster, &crds::releases(), (namespace, name), state).await;
                    match gone {
                        Ok(_) => application::discard(&self.cluster, &release).await,
                        Err(error) => Err(error),
                    }
                }
            };
            match changed {
                Err(error) if error.is_conflict() => {}
                other => return other,
            }
        }
        Ok(())
    }
}

/// Whether the server does not know the kind at all, rather than not having the object.
fn is_missing_kind(error: &Error) -> bool {
    let names_something = error.status().is_some_and(|status| !status.name.is_empty());
    error.is_not_found() && !names_something
}

/// Where the kinds are not installed, there are no releases.
fn absent_as_none<T: Default>(result: Result<T>) -> Result<T> {
    match result {
        Err(error) if is_missing_kind(&error) => Ok(T::default()),
        other => other,
    }
}

impl Store for Native {
    fn driver(&self) -> &'static str {
        "native"
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        claim: Option<&'a Claim>,
        after: Option<&'a Summary>,
    ) -> Answer<'a, ()> {
        Box::pin(self.add(version, claim, after))
    }

    fn update<'a>(&'a self, version: &'a ReleaseVersion, claim: Option<&'a Claim>) -> Answer<'a, ()> {
        Box::pin(Native::update(self, version, claim))
    }

    fn swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        claim: Option<&'a Claim>,
    ) -> Answer<'a, String> {
        Box::pin(Native::swap(self, seen, version, claim))
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        claim: &'a Claim,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let failed = || wire::failed("update: failed to update");
            let not_found = || StoreError::NotFound { name: name.to_owned(), number };
            let object_name = self.version_name(namespace, name, number).await.map_err(failed())?;
            let object_name = object_name.ok_or_else(not_found)?;
            let steps = vec![
                wire::step("test", "/status/claim/holder", claim.holder.as_str()),
                wire::step("replace", "/status/claim", Node::Map(record::claim_node(claim))),
            ];
            let at = (namespace, object_name.as_str());
            match wire::steps(&self.cluster, &crds::release_versions(), at, steps).await {
                Ok(Some(_)) => Ok(()),
                Ok(None) => {
                    Err(StoreError::Lost { name: name.to_owned(), number, winner: None, holder: None })
                }
                Err(error) if error.is_not_found() => Err(not_found()),
                Err(error) => Err(failed()(error)),
            }
        })
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> Answer<'a, Option<ReleaseVersion>> {
        Box::pin(self.whole(namespace, name, number))
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            let parts = self.parts(namespace, name, &[]).await;
            let parts = parts.map_err(wire::failed("query: failed to query with labels"))?;
            self.list_later(&parts);
            Ok(parts.into_iter().map(|(summary, _)| summary).collect())
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            query.selector()?;
            let found = self.matching(query).await;
            found.map_err(wire::failed("list: failed to list"))
        })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            query.selector()?;
            let found = self.current(query).await.map_err(wire::failed("list: failed to list"))?;
            Ok(newest(found, query, |_| true))
        })
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> Answer<'a, ()> {
        Box::pin(async move {
            let action = format!("delete: failed to delete version {number} of {name:?}");
            match self.remove(namespace, name, number).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::NotFound { name: name.to_owned(), number }),
                Err(error) => Err(wire::failed(action)(error)),
            }
        })
    }

    fn owner<'a>(&'a self, namespace: &'a str, name: &'a str) -> Answer<'a, Option<Map<Node>>> {
        Box::pin(async move {
            if let Some(release) = self.seen(namespace, name) {
                return Ok(Some(record::owner_reference(&release)));
            }
            let failed = wire::failed(format!("get: failed to get {name:?}"));
            let release = absent_as_none(self.release(namespace, name).await).map_err(failed)?;
            Ok(release.as_ref().map(record::owner_reference))
        })
    }
}
