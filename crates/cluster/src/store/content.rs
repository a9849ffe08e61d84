//! Charts by their content: a Secret that is named by the digest of the chart, which all versions of all releases of a namespace
//! share that have this chart. It has no owner, because it would have thousands.
//!
//! A version refers to the content before the content is written or looked at, and a Secret is deleted in three steps: it is marked,
//! the versions that refer to it are listed again, and it is deleted if there are none and nobody has changed it since it was
//! marked. Whoever refers to a Secret with a mark takes the mark away. So of a writer and a sweeper that meet, either the
//! sweeper's list has the version of the writer, because it is from after the mark and the writer saw none; or the writer takes
//! the mark away, and the deletion fails; or the deletion comes first, and the writer writes the content again. Neither needs a
//! clock, and both may be killed at any point: a mark alone does nothing, and content that nobody refers to is swept later.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_objects::{Object, ObjectId};
use pintle_release::chunk;
use pintle_release::native::{PackedParts, Payload};
use pintle_tree::{Map, Node};

use super::payload::{KEY, TYPE, secrets};
use super::{api, record};
use crate::cluster::Cluster;
use crate::crds;
use crate::error::{Error, Result};
use crate::read::ListParams;

/// The label of the Secrets and of the versions that refer to them: the beginning of the digest.
pub(super) const LABEL: &str = "helm.sh/chart-content";
/// The annotation of Secrets that are about to be deleted.
const MARK: &str = "helm.sh/unreferenced";
/// From which size on a chart is shared, compressed. Smaller ones are not worth a request.
const MIN_BYTES: usize = 8 << 10;
/// How often a Secret is looked at that others delete and create.
const MAX_RETRIES: usize = 8;
/// How many leftovers an uninstall looks at.
const MAX_SWEPT: usize = 4;
/// How many Secrets are remembered.
const MAX_KNOWN: usize = 4096;

/// Where the chart of a version is, as its `spec.payload.chart` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChartRef {
    pub(super) secrets: Vec<String>,
    pub(super) digest: String,
    /// Where it belongs into the rest of the payload.
    pub(super) at: usize,
}

impl ChartRef {
    /// The value of the label.
    pub(super) fn label(&self) -> &str {
        let digest = self.digest.strip_prefix("sha256:").unwrap_or(&self.digest);
        digest.get(..40).unwrap_or(digest)
    }
}

/// A chart with the names of its Secrets.
pub(super) struct Content {
    packed: Vec<u8>,
    pub(super) note: ChartRef,
}

impl Content {
    /// The chart of a payload, if it is worth it.
    pub(super) fn of(parts: &PackedParts) -> Option<Content> {
        if parts.chart.len() < MIN_BYTES {
            return None;
        }
        let mut note = ChartRef { digest: parts.digest.clone(), at: parts.at, ..ChartRef::default() };
        let count = chunk::split(&parts.chart).len();
        note.secrets = (1..=count).map(|piece| format!("helm-chart-{}-{piece}", note.label())).collect();
        Some(Content { packed: parts.chart.clone(), note })
    }

    /// Writes the Secrets that are not there, and takes marks away. Whether they can be relied on: somebody may have written
    /// others with these names, or the user may not read or change them.
    pub(super) async fn ensure(
        &self,
        cluster: &Cluster,
        namespace: &str,
        known: Option<&KnownContents>,
    ) -> Result<bool> {
        let mut found = Vec::new();
        let mut is_ours = true;
        for (name, piece) in self.note.secrets.iter().zip(chunk::split(&self.packed)) {
            match self.ensure_piece(cluster, (namespace, name), piece, known).await {
                Ok(Some(there)) => {
                    is_ours &= there == piece;
                    found.extend(there);
                }
                Ok(None) => return Ok(false),
                Err(error) if error.is_forbidden() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        // Another version of this program may compress differently.
        if !is_ours && !Payload::is_chart(found, &self.note.digest) {
            return Ok(false);
        }
        if let Some(known) = known {
            known.confirm(cluster, namespace, &self.note.secrets);
        }
        Ok(true)
    }

    /// What a Secret holds that is there now, with no mark; `None` if it cannot be used.
    async fn ensure_piece(
        &self,
        cluster: &Cluster,
        (namespace, name): (&str, &str),
        piece: &[u8],
        known: Option<&KnownContents>,
    ) -> Result<Option<Vec<u8>>> {
        let resource = secrets();
        for _ in 0..MAX_RETRIES {
            let seen = known.and_then(|known| known.get(cluster, namespace, name));
            let there = match &seen {
                Some(_) => cluster.get_metadata(&resource, namespace, name).await?,
                None => cluster.get_by_name(&resource, namespace, name).await?,
            };
            let Some(there) = there else {
                match api::create(cluster, &resource, &self.secret(namespace, name, piece)).await {
                    Err(error) if error.is_already_exists() => continue,
                    Err(error) => return Err(error),
                    Ok(made) => {
                        self.note(cluster, known, &made);
                        return Ok(Some(piece.to_vec()));
                    }
                }
            };
            if record::is_terminating(&there) {
                return Ok(None);
            }
            if seen.as_ref().is_some_and(|uid| uid != there.uid()) {
                if let Some(known) = known {
                    known.forget(cluster, namespace, name);
                }
                continue;
            }
            if there.at(&["metadata", "annotations", MARK]).is_some() {
                match set_mark(cluster, (namespace, name), false).await {
                    Ok(_) => {}
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error),
                }
            }
            if seen.is_some() {
                // It was compared when it was seen first, and it cannot be changed.
                return Ok(Some(piece.to_vec()));
            }
            let is_immutable = there.at(&["immutable"]) == Some(&Node::Bool(true));
            if is_immutable {
                self.note(cluster, known, &there);
            }
            return Ok(Some(BASE64.decode(there.text(&["data", KEY])).unwrap_or_default()));
        }
        Ok(None)
    }

    fn note(&self, cluster: &Cluster, known: Option<&KnownContents>, secret: &Object) {
        if let Some(known) = known {
            known.note(cluster, secret);
        }
    }

    fn secret(&self, namespace: &str, name: &str, piece: &[u8]) -> Object {
        let mut object = Object::from_id(&ObjectId::new("v1", "Secret", namespace, name));
        object.set_label(LABEL, self.note.label());
        object.body_mut().insert("type".into(), TYPE.into());
        let data = Map::from_entries(vec![(KEY.into(), BASE64.encode(piece).into())]);
        object.body_mut().insert("data".into(), Node::Map(data));
        object.body_mut().insert("immutable".into(), Node::Bool(true));
        object
    }
}

/// Secrets that were compared with what they should hold.
#[derive(Debug, Default)]
pub(super) struct KnownContents(Mutex<BTreeMap<SecretKey, KnownSecret>>);

/// Connection, namespace and name.
type SecretKey = (String, String, String);

#[derive(Debug)]
struct KnownSecret {
    uid: String,
    /// Whether all pieces of the chart were right.
    is_confirmed: bool,
}

impl KnownContents {
    fn get(&self, cluster: &Cluster, namespace: &str, name: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (cluster.identity(), namespace.to_owned(), name.to_owned());
        known.get(&key).filter(|known| known.is_confirmed).map(|known| known.uid.clone())
    }

    fn note(&self, cluster: &Cluster, secret: &Object) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.pop_first();
        }
        let key = (cluster.identity(), secret.namespace().to_owned(), secret.name().to_owned());
        known.insert(key, KnownSecret { uid: secret.uid().to_owned(), is_confirmed: false });
    }

    fn confirm(&self, cluster: &Cluster, namespace: &str, names: &[String]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            let key = (cluster.identity(), namespace.to_owned(), name.clone());
            if let Some(known) = known.get_mut(&key) {
                known.is_confirmed = true;
            }
        }
    }

    fn forget(&self, cluster: &Cluster, namespace: &str, name: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(cluster.identity(), namespace.to_owned(), name.to_owned()));
    }
}

/// Sets or removes the mark of a Secret.
async fn set_mark(cluster: &Cluster, at: (&str, &str), is_marked: bool) -> Result<Object> {
    let value = if is_marked { Node::from("true") } else { Node::Nil };
    let annotations = Node::Map(Map::from_entries(vec![(MARK.into(), value)]));
    let metadata = Node::Map(Map::from_entries(vec![("annotations".into(), annotations)]));
    let patch = Map::from_entries(vec![("metadata".into(), metadata)]);
    api::merge_patch(cluster, &secrets(), at, &patch).await
}

/// Whether a version of the namespace refers to a chart.
async fn is_referenced(cluster: &Cluster, namespace: &str, label: &str) -> Result<bool> {
    let selection =
        ListParams { limit: 1, metadata_only: true, ..ListParams::labels(format!("{LABEL}={label}")) };
    let page = cluster.page(&crds::release_versions(), namespace, &selection, "").await?;
    // A page may be empty although there is another one.
    Ok(!page.objects.is_empty() || !page.next.is_empty())
}

/// Deletes the Secrets of a chart to which no version refers any more. Returns whether it did.
pub(super) async fn sweep(cluster: &Cluster, namespace: &str, label: &str, names: &[String]) -> Result<bool> {
    if is_referenced(cluster, namespace, label).await? {
        return Ok(false);
    }
    let mut marked = Vec::new();
    for name in names {
        match set_mark(cluster, (namespace, name), true).await {
            Ok(secret) => marked.push(secret),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    // After the marks: who referred to it before has seen none.
    if is_referenced(cluster, namespace, label).await? {
        return Ok(false);
    }
    for secret in &marked {
        let at = (namespace, secret.name());
        match api::delete(cluster, &secrets(), at, secret.resource_version()).await {
            // Somebody took the mark away.
            Err(error) if error.is_conflict() => return Ok(false),
            deleted => deleted.map(drop)?,
        }
    }
    Ok(true)
}

/// Sweeps a few charts of a namespace whose versions others deleted. `turn` says which, so that all have their turn.
pub(super) async fn sweep_some(cluster: &Cluster, namespace: &str, turn: usize) -> Result<()> {
    let selection = ListParams { metadata_only: true, ..ListParams::labels(LABEL) };
    let mut charts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for secret in cluster.list(&secrets(), namespace, &selection).await? {
        let Some(label) = secret.label(LABEL) else { continue };
        charts.entry(label.to_owned()).or_default().push(secret.name().to_owned());
    }
    let start = turn.checked_rem(charts.len()).unwrap_or(0);
    for (label, names) in charts.iter().cycle().skip(start).take(charts.len().min(MAX_SWEPT)) {
        sweep(cluster, namespace, label, names).await?;
    }
    Ok(())
}

/// Reads a chart, compressed.
pub(super) async fn read(cluster: &Cluster, namespace: &str, note: &ChartRef) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    for name in &note.secrets {
        let found = cluster.get_by_name(&secrets(), namespace, name).await?;
        let missing = || {
            Error::Configuration(format!(
                "the Secret {name}, which holds the chart of the release, does not exist"
            ))
        };
        let object = found.ok_or_else(missing)?;
        // What is not base64 counts as empty, and the check of the digest reports it.
        packed.extend(BASE64.decode(object.text(&["data", KEY])).unwrap_or_default());
    }
    Ok(packed)
}
