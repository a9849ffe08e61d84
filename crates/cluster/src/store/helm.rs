//! Helm's release storage: one Secret or ConfigMap per version, in Helm's exact format.

mod listing;
mod optimistic_lock;
mod record_kind;
mod timestamps;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use pintle_objects::{Object, ObjectId};
use pintle_release::helm::{self, TimestampLabel};
use pintle_release::{
    ChartSource, Lease, Query, RecordPart, ReleaseHead, ReleaseVersion, Store, StoreChanges, StoreError,
    StoreFuture, Summary, driver_word, newest,
};

use super::{api, changes, clock};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use listing::{Wanted, owned_by_helm};
use record_kind::{Action, CREATE, MAX_RECORD_BYTES, RecordKind, UPDATE, too_large};
pub use record_kind::{ConfigMaps, Secrets};
use timestamps::Timestamps;

/// Stores releases as Helm does.
#[derive(Debug)]
pub struct HelmStore<H> {
    cluster: Cluster,
    resource: Resource,
    holder: PhantomData<H>,
    /// The resource versions of records that this client holds a lease on, after its last write, by namespace and name.
    held: Mutex<BTreeMap<(String, String), String>>,
    /// The markers that were read so far: where releases were moved to, by namespace and name.
    markers: Mutex<BTreeMap<(String, String), String>>,
    timestamps: Timestamps,
}

/// Stores releases in Secrets, Helm's default.
pub type HelmSecrets = HelmStore<Secrets>;

/// Stores releases in ConfigMaps.
pub type HelmConfigMaps = HelmStore<ConfigMaps>;

impl<H: RecordKind> HelmStore<H> {
    /// Returns a store in this cluster.
    pub fn new(cluster: Cluster) -> Self {
        let resource = Resource::new("", "v1", H::KIND, H::PLURAL);
        HelmStore {
            cluster,
            resource,
            holder: PhantomData,
            held: Mutex::default(),
            markers: Mutex::default(),
            timestamps: Timestamps::default(),
        }
    }

    /// Remembers the resource version of a record that was written with a lease, or forgets it.
    fn cache_lease(&self, object: &Object, lease: Option<&Lease>) {
        let key = (object.namespace().to_owned(), object.name().to_owned());
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match lease {
            Some(_) => held.insert(key, object.resource_version().to_owned()),
            None => held.remove(&key),
        };
    }

    /// The object that replaces the record of a version.
    fn update_of(&self, version: &ReleaseVersion, lease: Option<&Lease>) -> Result<Object, StoreError> {
        let name = helm::object_name(&version.name, version.number);
        let carried = self.timestamps.of(&version.namespace, &name);
        Self::object(version, lease, (TimestampLabel::Modified(clock::now()), carried), UPDATE)
    }

    /// Remembers what was written: the next operation finds it as its labels.
    fn note_written(&self, object: &Object, lease: Option<&Lease>) {
        if lease.is_none() {
            self.timestamps.set(object.namespace(), object.name(), &labels(object));
        }
    }

    /// The object of a version. A record that is too large is rejected before it is sent, with the server's message.
    fn object(
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        (label_time, carried): (TimestampLabel, BTreeMap<String, String>),
        action: Action,
    ) -> Result<Object, StoreError> {
        let encoded = helm::encode(version).map_err(|source| StoreError::Unwritable {
            action: action.verb,
            name: version.name.clone(),
            source,
        })?;
        let name = helm::object_name(&version.name, version.number);
        let packed = helm::pack(&encoded);
        if packed.len() > MAX_RECORD_BYTES {
            return Err(too_large::<H>(&name, packed.len(), action));
        }
        let mut object = Object::from_id(&ObjectId::new("v1", H::KIND, &version.namespace, &name));
        let mut labels = helm::labels(version, label_time);
        labels.extend(carried);
        object.metadata_mut().insert("labels".into(), api::texts(&labels));
        for (key, value) in lease.map(helm::lease_annotations).into_iter().flatten() {
            object.set_annotation(key, &value);
        }
        for (key, value) in ChartSource::of(&version.chart).iter().flat_map(ChartSource::annotations) {
            object.set_annotation(key, value);
        }
        H::fill(object.body_mut(), packed);
        Ok(object)
    }

    fn forget_marker(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.markers.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// The object of a marker.
    fn marker(last: &Summary, to: &str) -> Result<Object, StoreError> {
        let marker = helm::marker(last, driver_word(H::KIND), to);
        let time = TimestampLabel::Created(clock::now());
        let record = Self::object(&marker, None, (time, BTreeMap::new()), CREATE)?;
        let name = helm::marker_name(&last.name);
        let mut object = Object::from_id(&ObjectId::new("v1", H::KIND, &last.namespace, &name));
        object.metadata_mut().insert("labels".into(), api::texts(&labels(&record)));
        for key in ["type", "data"] {
            if let Some(value) = record.body().get(key) {
                object.body_mut().insert(key.into(), value.clone());
            }
        }
        Ok(object)
    }

    async fn read(
        &self,
        namespace: &str,
        name: &str,
        number: u64,
        part: RecordPart,
    ) -> Result<Option<ReleaseVersion>, StoreError> {
        let key = helm::object_name(name, number);
        let failure = format!("get: failed to get {key:?}");
        let failed = || api::backend_error(H::error_prefix(&failure));
        // Uncompressed: the server would spend more time on compressing it than it takes to send.
        let body = self.cluster.get_uncompressed(&self.resource, namespace, &key).await.map_err(failed())?;
        let Some(body) = body else { return Ok(None) };
        let (packed, labels) = {
            let object = Object::read_json(&body)
                .map_err(|error| Error::invalid_response(format!("GET {} {key}", H::PLURAL), error))
                .map_err(failed())?;
            (H::packed(&object).unwrap_or_default(), labels(&object))
        };
        // Each form of a record may take megabytes, so each is dropped once the next one is decoded from it.
        drop(body);
        let json = helm::unpack(&packed);
        drop(packed);
        let decoded = json.and_then(|json| match part {
            RecordPart::All => helm::decode(&json),
            RecordPart::WithoutFiles => helm::decode_without_files(json),
        });
        let mut version = decoded.map_err(|source| StoreError::Unreadable { key: key.clone(), source })?;
        // The record itself has no labels: Helm keeps those of the user only on the object.
        self.timestamps.note_read(namespace, &key, &labels);
        version.labels = helm::user_labels(labels);
        version.complete_namespace(namespace);
        Ok(Some(version))
    }

    /// Reads the version with the highest number among the labels; `None` when a label is missing or invalid, or the
    /// record cannot be decoded.
    async fn read_newest(
        &self,
        namespace: &str,
        name: &str,
        part: RecordPart,
    ) -> Result<Option<ReleaseVersion>, StoreError> {
        let heads = self.list_metadata(namespace, owned_by_helm(Some(name))).await;
        let heads =
            heads.map_err(api::backend_error(H::error_prefix("query: failed to query with labels")))?;
        let number = |head: &Object| head.label("version")?.parse::<u64>().ok();
        let Some(numbers) = heads.iter().map(number).collect::<Option<Vec<u64>>>() else { return Ok(None) };
        let Some(newest) = numbers.into_iter().max() else { return Ok(None) };
        match self.read(namespace, name, newest, part).await {
            Err(StoreError::Unreadable { .. }) => Ok(None),
            read => read,
        }
    }
}

fn labels(object: &Object) -> BTreeMap<String, String> {
    api::text_map(object.at(&["metadata", "labels"]))
}

impl<H: RecordKind> Store for HelmStore<H> {
    fn driver(&self) -> &'static str {
        H::KIND
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let name = version.name.clone();
            let carried = self.timestamps.for_next(version, after);
            let time = TimestampLabel::Created(clock::now());
            let object = Self::object(version, lease, (time, carried.clone()), CREATE)?;
            match api::create(&self.cluster, &self.resource, &object).await {
                Ok(created) => {
                    self.cache_lease(&created, lease);
                    let times = if lease.is_some() { carried } else { labels(&object) };
                    self.timestamps.set(object.namespace(), object.name(), &times);
                }
                Err(error) if error.is_already_exists() => {
                    return Err(StoreError::Exists { name, number: version.number });
                }
                Err(error) => return Err(api::backend_error(H::error_prefix(CREATE.failure))(error)),
            }
            let Some(after) = after else { return Ok(()) };
            let result = self.annotate_successor(version, after).await;
            if result.is_err() {
                // No work was done under this version yet. If it cannot be deleted, its lease expires.
                let at = (object.namespace(), object.name());
                let _ = api::delete(&self.cluster, &self.resource, at, "").await;
            }
            result
        })
    }

    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()> {
        if let Some(held) = held {
            return Box::pin(self.replace_held(version, lease, held));
        }
        Box::pin(async move {
            let name = version.name.clone();
            let object = self.update_of(version, lease)?;
            match api::replace(&self.cluster, &self.resource, &object).await {
                Ok(_) => {
                    self.note_written(&object, lease);
                    Ok(())
                }
                Err(error) if error.is_not_found() => {
                    Err(StoreError::NotFound { name, number: version.number })
                }
                Err(error) => Err(api::backend_error(H::error_prefix(UPDATE.failure))(error)),
            }
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String> {
        Box::pin(self.replace_if_unmodified(seen, version, lease))
    }

    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        Box::pin(self.annotate_lease(seen, lease))
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let path = |key: &str| format!("/metadata/annotations/{}", key.replace('/', "~1"));
            let mut steps =
                vec![api::json_patch_op("test", &path(helm::LEASE_HOLDER), lease.holder.as_str())];
            let fields = helm::lease_annotations(lease).into_iter();
            steps.extend(fields.map(|(key, value)| api::json_patch_op("add", &path(key), value)));
            let key = helm::object_name(name, number);
            match api::json_patch(&self.cluster, &self.resource, (namespace, &key), steps).await {
                Ok(Some(renewed)) => {
                    self.cache_lease(&renewed, Some(lease));
                    Ok(())
                }
                Ok(None) => {
                    Err(StoreError::Conflict { name: name.to_owned(), number, winner: None, holder: None })
                }
                Err(error) if error.is_not_found() => {
                    Err(StoreError::NotFound { name: name.to_owned(), number })
                }
                Err(error) => Err(api::backend_error(H::error_prefix(UPDATE.failure))(error)),
            }
        })
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        Box::pin(self.read(namespace, name, number, RecordPart::All))
    }

    fn newest<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        part: RecordPart,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        Box::pin(async move {
            if let Some(version) = self.read_newest(namespace, name, part).await? {
                return Ok(Some(version));
            }
            // The labels do not tell which records can be decoded, so all of them are read.
            match self.history(namespace, name).await?.last() {
                Some(newest) => self.read(namespace, name, newest.number, part).await,
                None => Ok(None),
            }
        })
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            self.forget_marker(namespace, name);
            let found = self.summaries(namespace, owned_by_helm(Some(name)), Wanted::History).await;
            let mut found =
                found.map_err(api::backend_error(H::error_prefix("query: failed to query with labels")))?;
            found.sort_by_key(|version| version.number);
            Ok(found)
        })
    }

    fn has_records<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let found = self.has_objects(namespace, owned_by_helm(Some(name))).await;
            found.map_err(api::backend_error(H::error_prefix("query: failed to query with labels")))
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            let namespace = query.namespace.as_deref().unwrap_or_default();
            let mut labels_wanted = owned_by_helm(query.name.as_deref());
            if !selector.is_empty() {
                labels_wanted = format!("{labels_wanted},{}", query.selector);
            }
            if let Some(statuses) = &query.statuses
                && !statuses.is_empty()
                // Statuses that we do not know are read as `Unknown` but have another label, so the server cannot
                // select them.
                && !statuses.contains(&pintle_release::Status::Unknown)
            {
                let words: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
                labels_wanted = format!("{labels_wanted},status in ({})", words.join(","));
            }
            let found = self.summaries(namespace, labels_wanted, Wanted::All).await;
            let mut found = found.map_err(api::backend_error(H::error_prefix("list: failed to list")))?;
            found.retain(|version| query.matches_status(version.status));
            found.sort_by(|a, b| (&a.namespace, &a.name, a.number).cmp(&(&b.namespace, &b.name, b.number)));
            Ok(found)
        })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            if let (Some(namespace), Some(name)) = (&query.namespace, &query.name) {
                self.forget_marker(namespace, name);
            }
            let found = self.newest(query, &selector).await;
            let found = found.map_err(api::backend_error(H::error_prefix("list: failed to list")))?;
            Ok(newest(found, query, |_| true))
        })
    }

    fn leave_marker<'a>(&'a self, last: &'a Summary, to: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let object = Self::marker(last, to)?;
            let written = match api::create(&self.cluster, &self.resource, &object).await {
                // One of an earlier move, which has an older number.
                Err(error) if error.is_already_exists() => {
                    api::replace(&self.cluster, &self.resource, &object).await
                }
                created => created,
            };
            written.map_err(api::backend_error(H::error_prefix(CREATE.failure)))?;
            let key = (last.namespace.clone(), last.name.clone());
            self.markers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, to.to_owned());
            Ok(())
        })
    }

    fn remove_marker<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let object_name = helm::marker_name(name);
            let deleted = api::delete(&self.cluster, &self.resource, (namespace, &object_name), "").await;
            deleted.map_err(api::backend_error(""))?;
            self.forget_marker(namespace, name);
            Ok(())
        })
    }

    fn moved_to(&self, namespace: &str, name: &str) -> Option<String> {
        let markers = self.markers.lock().unwrap_or_else(PoisonError::into_inner);
        markers.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    fn heads<'a>(&'a self, namespace: Option<&'a str>) -> StoreFuture<'a, Vec<ReleaseHead>> {
        Box::pin(async move {
            let heads = self.newest_heads(namespace.unwrap_or_default()).await;
            heads.map_err(api::backend_error(H::error_prefix("list: failed to list")))
        })
    }

    fn summary<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<Summary>> {
        Box::pin(async move {
            let key = helm::object_name(name, number);
            let object = self.cluster.get_by_name(&self.resource, namespace, &key).await;
            let object = object
                .map_err(api::backend_error(H::error_prefix(&format!("get: failed to get {key:?}"))))?;
            Ok(object.as_ref().and_then(listing::summary::<H>))
        })
    }

    fn watch(&self, namespace: Option<&str>) -> Option<StoreChanges> {
        let (cluster, resource) = (self.cluster.clone(), self.resource.clone());
        let labels = owned_by_helm(None);
        Some(changes::follow(cluster, resource, namespace, labels, |record| record.label("name")))
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let key = helm::object_name(name, number);
            match api::delete(&self.cluster, &self.resource, (namespace, &key), "").await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::NotFound { name: name.to_owned(), number }),
                Err(error) => Err(api::backend_error("")(error)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> ReleaseVersion {
        ReleaseVersion {
            name: "web".into(),
            namespace: "ns".into(),
            number: 3,
            manifest: "kind: A\n".into(),
            labels: [("team".to_owned(), "a".to_owned())].into(),
            ..ReleaseVersion::default()
        }
    }

    #[test]
    fn a_record_that_is_too_large_is_rejected_with_the_servers_message() {
        let mut state = 1_u64;
        let letter = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'0' + (state >> 58) as u8)
        };
        let mut version = version();
        version.manifest = (0..1_600_000).map(letter).collect();
        let label_time = (TimestampLabel::Created(clock::now()), BTreeMap::new());
        let refused = HelmSecrets::object(&version, None, label_time.clone(), CREATE).expect_err("too large");
        assert_eq!(
            refused.to_string(),
            "create: failed to create: Secret \"sh.helm.release.v1.web.v3\" is invalid: data: Too long: may not be more than 1048576 bytes"
        );
        let refused = HelmConfigMaps::object(&version, None, label_time, UPDATE).expect_err("too large");
        assert_eq!(
            refused.to_string(),
            "ConfigMap \"sh.helm.release.v1.web.v3\" is invalid: []: Too long: may not be more than 1048576 bytes"
        );
    }

    #[test]
    fn secrets_and_config_maps_hold_the_same_release() {
        let lease = Lease::new("me", clock::now(), 30);
        let label_time = (TimestampLabel::Created(clock::now()), BTreeMap::new());
        let secret = HelmSecrets::object(&version(), Some(&lease), label_time.clone(), CREATE)
            .expect("can be written");
        let map = HelmConfigMaps::object(&version(), None, label_time, CREATE).expect("can be written");
        assert_eq!(secret.text(&["type"]), "helm.sh/release.v1");
        assert_eq!(secret.name(), "sh.helm.release.v1.web.v3");
        assert_eq!(Secrets::packed(&secret), ConfigMaps::packed(&map));
        let read = listing::summary::<Secrets>(&secret).expect("a release");
        assert_eq!((read.name.as_str(), read.number, read.lease), ("web", 3, Some(lease)));
        assert_eq!(read.labels.into_keys().collect::<Vec<_>>(), ["team"]);
        assert_eq!(listing::summary::<ConfigMaps>(&map).expect("a release").lease, None);
    }
}
