//! What is put beside a manifest: signatures of cosign, bills of materials, statements. All of it is found again by the
//! digest of the manifest, which it does not change.

use std::sync::Arc;

use bytes::Bytes;
use pintle_tree::{Map, Node};

use crate::blob::Origin;
use crate::chart::signatures::{PAYLOAD, SIGNATURE};
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, Manifest, Parts};
use crate::name::Repository;
use crate::progress::{Progress, Silent};

/// The media type of manifests.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The configuration of artifacts that have none.
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");

/// The media type of the configuration of a list of signatures, which is that of an image.
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

impl Client {
    /// Puts a document beside a manifest, as a referrer. Putting the same one twice has no effect.
    ///
    /// # Errors
    ///
    /// When the manifest does not exist, or the registry refuses something.
    pub async fn attach(
        self: &Arc<Self>,
        repository: &Repository,
        subject: &Digest,
        media_type: &str,
        content: Bytes,
    ) -> Result<Digest> {
        let name = repository.at(subject.clone());
        let subject = self.manifest(&name).await?.ok_or_else(|| Error::Missing { name: name.to_string() })?;
        let layer = self.put_content(repository, media_type, content).await?;
        let config = self.put_content(repository, EMPTY.0, Bytes::from_static(EMPTY.1)).await?;
        let manifest = manifest(&[
            ("artifactType", media_type.into()),
            ("config", config.raw.clone()),
            ("layers", vec![layer.raw.clone()].into()),
            ("subject", subject.descriptor().raw),
        ])?;
        let keeps_list = self.put_manifest(repository, &manifest.digest.to_string(), &manifest).await?;
        if !keeps_list {
            self.add_referrer(repository, &subject.digest, &manifest).await?;
        }
        Ok(manifest.digest)
    }

    /// Adds a signature to those of a manifest, where all versions of cosign look for it: under the tag `sha256-….sig`.
    ///
    /// # Errors
    ///
    /// When the registry refuses something.
    pub async fn add_signature(
        self: &Arc<Self>,
        repository: &Repository,
        subject: &Digest,
        payload: Bytes,
        signature: &str,
    ) -> Result<()> {
        let tag = format!("{}.sig", subject.tag());
        let mut layers = match self.manifest(&repository.tagged(&tag)?).await?.map(|list| list.parts) {
            Some(Parts::Content { layers, .. }) => layers,
            Some(Parts::Index(_)) | None => Vec::new(),
        };
        let mut layer = self.put_content(repository, PAYLOAD, payload).await?;
        let annotations: Map<Node> = [(SIGNATURE.into(), signature.into())].into_iter().collect();
        if let Some(raw) = layer.raw.as_map_mut() {
            raw.insert("annotations".into(), annotations.into());
        }
        let is_same =
            |one: &Descriptor| one.digest == layer.digest && one.annotation(SIGNATURE) == Some(signature);
        if layers.iter().any(is_same) {
            return Ok(());
        }
        layers.push(layer);
        let digests: Vec<Node> =
            layers.iter().map(|layer| layer.digest.to_string().as_str().into()).collect();
        let config = configuration(digests)?;
        let config = self.put_content(repository, CONFIG, config).await?;
        let layers: Vec<Node> = layers.into_iter().map(|layer| layer.raw).collect();
        let manifest = manifest(&[("config", config.raw), ("layers", layers.into())])?;
        self.put_manifest(repository, &tag, &manifest).await.map(|_| ())
    }

    async fn put_content(
        self: &Arc<Self>,
        repository: &Repository,
        media_type: &str,
        content: Bytes,
    ) -> Result<Descriptor> {
        let part = Descriptor::of(media_type, &Digest::of(&content), content.len() as u64);
        let progress: Arc<dyn Progress> = Arc::new(Silent);
        self.push_part(repository, &part, Origin::Memory(content), &progress).await?;
        Ok(part)
    }
}

/// A manifest with these fields.
fn manifest(fields: &[(&str, Node)]) -> Result<Manifest> {
    let first = [("schemaVersion", Node::Int(2)), ("mediaType", MANIFEST.into())];
    let all = first.iter().chain(fields).map(|(key, value)| ((*key).into(), value.clone()));
    let bytes = json(&Node::from(all.collect::<Map<Node>>()))?;
    let digest = Digest::of(&bytes);
    Manifest::read(bytes, digest, MANIFEST, "what is put beside a chart")
}

/// The configuration of an image with these layers and nothing to run.
fn configuration(layers: Vec<Node>) -> Result<Bytes> {
    let object = |entries: Vec<(&str, Node)>| {
        Node::from(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
    };
    json(&object(vec![
        ("architecture", "".into()),
        ("config", object(Vec::new())),
        ("os", "".into()),
        ("rootfs", object(vec![("type", "layers".into()), ("diff_ids", layers.into())])),
    ]))
}

fn json(node: &Node) -> Result<Bytes> {
    let bytes = pintle_tree::json::write_raw(node);
    bytes.map(Bytes::from).map_err(|error| Error::Manifest {
        what: "what is put beside a chart".into(),
        reason: error.to_string(),
    })
}
