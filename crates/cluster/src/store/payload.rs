//! The payload of a release version, in as many Secrets as it needs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use pintle_objects::{Object, ObjectId};
use pintle_release::helm::Error as Unreadable;
use pintle_release::native::Payload;
use pintle_release::{ReleaseVersion, chunk};
use pintle_tree::{Map, Node};

use super::api;
use super::content::{self, Content};
use super::record::{self, PayloadRef};
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};

/// How many Secrets are transferred at once; each is about a megabyte.
const MAX_CONCURRENCY: usize = 4;
/// The type of the Secrets. It differs from Helm's, so that Helm does not list them as releases.
pub(super) const TYPE: &str = "helm.sh/release-payload.v3";
/// The data key.
pub(super) const KEY: &str = "payload";

pub(super) fn secrets() -> Resource {
    Resource::new("", "v1", "Secret", "secrets")
}

/// The names of the Secrets for a number of chunks. A replaced payload gets other names, so that the old one stays
/// complete until nothing refers to it.
fn names(version_name: &str, pieces: usize, digest: &str, is_replacement: bool) -> Vec<String> {
    let mark: String = digest.trim_start_matches("sha256:").chars().take(8).collect();
    let name = |piece| match is_replacement {
        false => format!("{version_name}-{piece}"),
        true => format!("{version_name}-{mark}-{piece}"),
    };
    (1..=pieces).map(name).collect()
}

/// A compressed payload with the names of its Secrets, not written yet.
pub(super) struct PayloadSecrets {
    packed: Vec<u8>,
    /// The chart, if it is kept apart.
    pub(super) chart: Option<Content>,
    /// The reference for the version's spec.
    pub(super) note: PayloadRef,
}

impl PayloadSecrets {
    /// Compresses the payload of the version with this object name. A large chart is kept apart.
    pub(super) fn new(version_name: &str, payload: &Payload) -> Self {
        let parts = payload.pack_parts();
        let chart = parts.as_ref().and_then(Content::of);
        let packed = match (&chart, parts) {
            (Some(_), Some(parts)) => parts.rest,
            _ => payload.pack(),
        };
        PayloadSecrets::of(version_name, payload, packed, chart, false)
    }

    /// The same with the chart in it, to replace a payload.
    pub(super) fn whole(version_name: &str, payload: &Payload) -> Self {
        PayloadSecrets::of(version_name, payload, payload.pack(), None, true)
    }

    fn of(
        version_name: &str,
        payload: &Payload,
        packed: Vec<u8>,
        chart: Option<Content>,
        is_replacement: bool,
    ) -> Self {
        let secrets = names(version_name, chunk::split(&packed).len(), payload.digest(), is_replacement);
        let note = PayloadRef {
            secrets,
            size: packed.len(),
            digest: payload.digest().to_owned(),
            chart: chart.as_ref().map(|chart| chart.note.clone()),
        };
        PayloadSecrets { packed, chart, note }
    }

    /// Creates the Secrets, owned by the version's object.
    pub(super) async fn write(&self, cluster: &Cluster, owner: &Object) -> Result<()> {
        let resource = secrets();
        let pieces = chunk::split(&self.packed);
        let writes: Vec<_> = self
            .note
            .secrets
            .iter()
            .zip(pieces)
            .map(|(name, piece)| create(cluster, &resource, owner, name, piece))
            .collect();
        // In any order: nothing refers to the Secrets before all of them exist.
        stream::iter(writes).buffer_unordered(MAX_CONCURRENCY).try_collect::<Vec<()>>().await.map(|_| ())
    }
}

/// Creates a Secret. An existing one can only be from our own attempt whose response was lost.
async fn create(
    cluster: &Cluster,
    resource: &Resource,
    owner: &Object,
    name: &str,
    piece: &[u8],
) -> Result<()> {
    match api::create(cluster, resource, &secret(owner, name, piece)).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}

fn secret(owner: &Object, name: &str, piece: &[u8]) -> Object {
    let mut object = Object::from_id(&ObjectId::new("v1", "Secret", owner.namespace(), name));
    object.set_label("helm.sh/release", owner.text(&["spec", "release"]));
    record::set_owner(&mut object, owner);
    object.body_mut().insert("type".into(), TYPE.into());
    let data = Map::from_entries(vec![(KEY.into(), BASE64.encode(piece).into())]);
    object.body_mut().insert("data".into(), Node::Map(data));
    // A payload is replaced as a whole and never edited.
    object.body_mut().insert("immutable".into(), Node::Bool(true));
    object
}

/// Deletes the Secrets of a payload that nothing refers to any more.
pub(super) async fn discard(cluster: &Cluster, namespace: &str, note: &PayloadRef) -> Result<()> {
    let resource = secrets();
    for name in &note.secrets {
        api::delete(cluster, &resource, (namespace, name), "").await?;
    }
    Ok(())
}

/// Reads a payload. The outer error is the cluster's, the inner one is about the content.
pub(super) async fn read(
    cluster: &Cluster,
    namespace: &str,
    note: &PayloadRef,
) -> Result<Result<ReleaseVersion, Unreadable>> {
    let resource = secrets();
    let reads: Vec<_> = note.secrets.iter().map(|name| piece(cluster, &resource, namespace, name)).collect();
    let reads = stream::iter(reads).buffered(MAX_CONCURRENCY).try_collect::<Vec<Vec<u8>>>();
    let chart = async {
        match &note.chart {
            Some(chart) => content::read(cluster, namespace, chart).await.map(|read| Some((read, chart.at))),
            None => Ok(None),
        }
    };
    let (pieces, chart) = futures::try_join!(reads, chart)?;
    match chunk::join(pieces.iter().map(Vec::as_slice), note.size) {
        Ok(packed) => Ok(match chart {
            Some(chart) => Payload::unpack_parts(packed, chart, &note.digest),
            None => Payload::unpack(packed, &note.digest),
        }),
        Err(found) => Err(corrupt(format!("the payload has {found} bytes instead of {}", note.size))),
    }
}

async fn piece(cluster: &Cluster, resource: &Resource, namespace: &str, name: &str) -> Result<Vec<u8>> {
    let Some(object) = cluster.get_by_name(resource, namespace, name).await? else {
        return Err(corrupt(format!("the Secret {name}, which holds a part of the release, does not exist")));
    };
    // A chunk that is not base64 counts as empty, and the check of the total size reports it.
    Ok(BASE64.decode(object.text(&["data", KEY])).unwrap_or_default())
}

fn corrupt(text: String) -> Error {
    Error::Configuration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_payload_does_not_touch_the_old_one() {
        let old = names("web-01a", 2, "sha256:0123456789ab", false);
        assert_eq!(old, ["web-01a-1", "web-01a-2"]);
        let new = names("web-01a", 2, "sha256:0123456789ab", true);
        assert_eq!(new, ["web-01a-01234567-1", "web-01a-01234567-2"]);
    }

    #[test]
    fn payload_secrets_are_owned_and_not_taken_for_helm_s() {
        let owner = Object::from_id(&ObjectId::new("helm.sh/v3", "ReleaseVersion", "ns", "web-01a"));
        let object = secret(&owner, "web-01a-1", b"x");
        assert_eq!(object.label("owner"), None);
        let owners =
            object.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).expect("has an owner");
        assert_eq!(owners[0].get("kind").and_then(Node::as_str), Some("ReleaseVersion"));
    }
}
