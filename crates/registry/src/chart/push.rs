//! Sending charts.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use pintle_tree::Node;

use super::{CONFIG, CONTENT, ChartReference, PROVENANCE};
use crate::blob::Origin;
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, Manifest};
use crate::progress::{BlobProgress, Progress};
use crate::upload::Upload;

/// The media type of the manifest.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// How much of a file is read at once.
const PIECE: usize = 256 << 10;

/// An archive to send.
#[derive(Clone, Debug)]
pub enum ChartContent {
    /// An archive in memory.
    Bytes(Bytes),
    /// A file, which is read as it is sent.
    File {
        /// The file.
        path: PathBuf,
        /// The digest of its content.
        digest: Digest,
        /// How many bytes it has.
        size: u64,
    },
}

impl ChartContent {
    /// The content of a file; reads it once, piece by piece.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn of_file(path: &Path) -> Result<ChartContent> {
        let failed = |source| Error::File { action: "read", path: path.to_owned(), source };
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let mut hasher = Digest::of(b"").hasher();
        let (mut piece, mut size) = (vec![0; PIECE], 0);
        loop {
            match file.read(&mut piece).map_err(failed)? {
                0 => break,
                count => {
                    hasher.update(&piece[..count]);
                    size += count as u64;
                }
            }
        }
        Ok(ChartContent::File { path: path.to_owned(), digest: hasher.finish(), size })
    }

    fn descriptor(&self, media_type: &str) -> Descriptor {
        match self {
            ChartContent::Bytes(bytes) => Descriptor::of(media_type, &Digest::of(bytes), bytes.len() as u64),
            ChartContent::File { digest, size, .. } => Descriptor::of(media_type, digest, *size),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            ChartContent::Bytes(bytes) => Origin::Memory(bytes.clone()),
            ChartContent::File { path, .. } => Origin::File(Arc::from(path.as_path())),
        }
    }
}

/// What to send.
pub struct ChartPush {
    /// The archive.
    pub content: ChartContent,
    /// The chart's metadata as JSON, as Go writes it.
    pub config: Vec<u8>,
    /// The annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
    /// The provenance file, if there is one.
    pub provenance: Option<Vec<u8>>,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedChart {
    /// The reference as Helm shows it.
    pub reference: String,
    /// The digest of the manifest.
    pub manifest: Digest,
}

impl ChartPush {
    /// The parts in the order in which the manifest has them: the configuration, then layers by digest.
    fn parts(&self) -> (Descriptor, Vec<(Descriptor, Origin)>, Origin) {
        let config = ChartContent::Bytes(self.config.clone().into());
        let mut layers = vec![(self.content.descriptor(CONTENT), self.content.origin())];
        if let Some(provenance) = &self.provenance {
            let provenance = ChartContent::Bytes(provenance.clone().into());
            layers.push((provenance.descriptor(PROVENANCE), provenance.origin()));
        }
        layers.sort_by_key(|(layer, _)| layer.digest.to_string());
        (config.descriptor(CONFIG), layers, config.origin())
    }

    /// The manifest, to the byte as Helm writes it.
    ///
    /// # Errors
    ///
    /// Texts that JSON cannot hold.
    pub fn manifest(&self) -> Result<Bytes> {
        let (config, layers, _) = self.parts();
        let layers: Vec<String> = layers.iter().map(|(layer, _)| descriptor(layer)).collect::<Result<_>>()?;
        let mut text = format!(
            r#"{{"schemaVersion":2,"config":{},"layers":[{}]"#,
            descriptor(&config)?,
            layers.join(",")
        );
        if !self.annotations.is_empty() {
            let pairs: Vec<String> = self
                .annotations
                .iter()
                .map(|(key, value)| Ok(format!("{}:{}", string(key)?, string(value)?)))
                .collect::<Result<_>>()?;
            text.push_str(&format!(r#","annotations":{{{}}}"#, pairs.join(",")));
        }
        text.push('}');
        Ok(text.into())
    }
}

fn descriptor(part: &Descriptor) -> Result<String> {
    let (media_type, digest) = (string(&part.media_type)?, string(&part.digest.to_string())?);
    Ok(format!(r#"{{"mediaType":{media_type},"digest":{digest},"size":{}}}"#, part.size))
}

/// A text as Go writes it into JSON.
fn string(text: &str) -> Result<String> {
    let bytes = pintle_tree::json::write(&Node::from(text)).map_err(|error| Error::Manifest {
        what: "the manifest of the chart".into(),
        reason: error.to_string(),
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Client {
    /// Sends a chart: what the registry lacks of it, then its manifest under the tag of the reference. A tag that is there
    /// already is moved.
    ///
    /// # Errors
    ///
    /// When the registry refuses something, or does not answer.
    pub async fn push_chart(
        self: &Arc<Self>,
        reference: &ChartReference,
        push: &ChartPush,
        progress: Arc<dyn Progress>,
    ) -> Result<PushedChart> {
        let repository = &reference.repository;
        if !reference.digest.is_empty() {
            // Pushing to a digest is impossible; as in Helm, an invalid digest is reported first.
            reference.digest_name()?;
        }
        let bytes = push.manifest()?;
        let digest = Digest::of(&bytes);
        let name = repository.tagged(&reference.tag)?;
        let there = self
            .manifest_digest(&repository.at(digest.clone()))
            .await
            .map_err(|error| error.while_performing("Exists", "destination", "Head"))?;
        if there.is_none() {
            let (config, layers, origin) = push.parts();
            let all = layers.into_iter().chain([(config, origin)]);
            for (part, origin) in all {
                self.push_part(repository, &part, origin, &progress)
                    .await
                    .map_err(|error| error.while_performing("Push", "destination", "Post"))?;
            }
        }
        let manifest = Manifest::read(bytes, digest.clone(), MANIFEST, &name.to_string())?;
        self.put_manifest(repository, &reference.tag, &manifest)
            .await
            .map_err(|error| error.while_performing("PushReference", "destination", "Put"))?;
        Ok(PushedChart { reference: format!("{repository}:{}", reference.tag), manifest: digest })
    }

    /// Sends a blob, unless the registry has it.
    pub(crate) async fn push_part(
        self: &Arc<Self>,
        repository: &crate::name::Repository,
        part: &Descriptor,
        origin: Origin,
        progress: &Arc<dyn Progress>,
    ) -> Result<()> {
        if self.has_blob(repository, &part.digest).await? {
            return Ok(());
        }
        let begun = self.begin_upload(repository).await?;
        let blob = BlobProgress::new(progress.clone(), part.digest.clone());
        blob.blob_started(part.size);
        let upload = Upload {
            client: self,
            repository,
            origin,
            digest: &part.digest,
            size: part.size,
            progress: blob.clone(),
        };
        let outcome = upload.run(begun).await;
        blob.blob_finished();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_helms_to_the_byte() {
        let push = ChartPush {
            content: ChartContent::Bytes("archive".into()),
            config: b"{}".to_vec(),
            annotations: [("b".to_owned(), "<1 & 2>".to_owned()), ("a".to_owned(), "x".to_owned())].into(),
            provenance: Some(b"signed".to_vec()),
        };
        let (config, archive, signed) = (Digest::of(b"{}"), Digest::of(b"archive"), Digest::of(b"signed"));
        let archive = format!(r#"{{"mediaType":"{CONTENT}","digest":"{archive}","size":7}}"#);
        let signed = format!(r#"{{"mediaType":"{PROVENANCE}","digest":"{signed}","size":6}}"#);
        let mut layers = [archive, signed];
        layers.sort_by_key(|layer| layer.split("sha256:").nth(1).map(str::to_owned));
        let expected = format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"{CONFIG}","digest":"{config}","size":2}},"layers":[{}],"annotations":{{"a":"x","b":"\u003c1 \u0026 2\u003e"}}}}"#,
            layers.join(",")
        );
        assert_eq!(push.manifest().unwrap(), expected);
    }
}
