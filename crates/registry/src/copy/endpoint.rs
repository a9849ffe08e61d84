//! The source or destination of a copy, with one interface for registries and layout folders.

use std::fmt;
use std::sync::Arc;

use crate::blob::Origin;
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::manifest::{Descriptor, Manifest};
use crate::name::{ImageName, Repository};

/// The source or destination of a copy.
#[derive(Clone)]
pub enum Endpoint {
    /// An image in a registry.
    Registry {
        /// The client to use.
        client: Arc<Client>,
        /// The name of the image.
        name: ImageName,
    },
    /// An image in a layout folder.
    Layout {
        /// The layout.
        layout: Arc<Layout>,
        /// The name of the image in its index.
        name: String,
    },
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Registry { name, .. } => write!(f, "{name}"),
            Endpoint::Layout { layout, name } => write!(f, "oci:{}:{name}", layout.root().display()),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

impl Endpoint {
    /// The digest, if the name is pinned to one.
    pub(crate) fn pinned(&self) -> Option<Digest> {
        match self {
            Endpoint::Registry { name, .. } => name.digest().cloned(),
            Endpoint::Layout { name, .. } => name.split_once('@')?.1.parse().ok(),
        }
    }

    /// Where blobs are read from.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Endpoint::Registry { client, name } => Origin::Registry(client.clone(), name.repository.clone()),
            Endpoint::Layout { layout, .. } => Origin::Layout(layout.clone()),
        }
    }

    /// The repository, if the name has one.
    pub(crate) fn repository(&self) -> Option<Repository> {
        match self {
            Endpoint::Registry { name, .. } => Some(name.repository.clone()),
            Endpoint::Layout { name, .. } => name.parse::<ImageName>().ok().map(|name| name.repository),
        }
    }

    /// The manifest that the name resolves to.
    pub(crate) async fn root(&self) -> Result<Manifest> {
        let found = match self {
            Endpoint::Registry { client, name } => client.manifest(name).await?,
            Endpoint::Layout { layout, name } => match layout.find(name) {
                Some(entry) => layout.manifest(&entry.digest, &entry.media_type)?,
                None => None,
            },
        };
        found.ok_or_else(|| Error::Missing { name: self.to_string() })
    }

    /// A manifest by digest; `None` if it does not exist.
    pub(crate) async fn manifest(&self, digest: &Digest, media_type: &str) -> Result<Option<Manifest>> {
        match self {
            Endpoint::Registry { client, name } => client.manifest(&name.repository.at(digest.clone())).await,
            Endpoint::Layout { layout, .. } => layout.manifest(digest, media_type),
        }
    }

    /// A manifest of the same repository by tag; `None` if it does not exist.
    pub(crate) async fn tagged(&self, tag: &str) -> Result<Option<Manifest>> {
        match (self, self.repository()) {
            (_, None) => Ok(None),
            (Endpoint::Registry { client, .. }, Some(repository)) => {
                // A HEAD request first: it does not count against pull rate limits, and most images have no such tag.
                let name = repository.tagged(tag)?;
                match client.manifest_digest(&name).await? {
                    Some(_) => client.manifest(&name).await,
                    None => Ok(None),
                }
            }
            (Endpoint::Layout { layout, .. }, Some(repository)) => {
                match layout.find(&format!("{repository}:{tag}")) {
                    Some(entry) => layout.manifest(&entry.digest, &entry.media_type),
                    None => Ok(None),
                }
            }
        }
    }

    /// The referrers of a manifest (signatures, attestations, SBOMs).
    pub(crate) async fn referrers(&self, digest: &Digest) -> Result<Vec<Descriptor>> {
        let layout = match self {
            Endpoint::Registry { client, name } => return client.referrers(&name.repository, digest).await,
            Endpoint::Layout { layout, .. } => layout,
        };
        let mut found: Vec<Descriptor> = Vec::new();
        for entry in layout.entries() {
            let Some(manifest) = layout.manifest(&entry.digest, &entry.media_type)? else { continue };
            if manifest.subject.as_ref() == Some(digest)
                && found.iter().all(|known| known.digest != entry.digest)
            {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// The digest that the name currently resolves to. If it has a tag, the tag decides.
    pub(crate) async fn current_digest(&self) -> Result<Option<Digest>> {
        match self {
            Endpoint::Registry { client, name } => {
                let asked = match name.tag() {
                    Some(tag) => name.repository.tagged(tag)?,
                    None => name.clone(),
                };
                client.manifest_digest(&asked).await
            }
            Endpoint::Layout { layout, name } => Ok(layout.find(name).map(|entry| entry.digest)),
        }
    }

    /// The digest that a tag of the same repository resolves to.
    pub(crate) async fn tag_digest(&self, tag: &str) -> Result<Option<Digest>> {
        match (self, self.repository()) {
            (Endpoint::Registry { client, .. }, Some(repository)) => {
                client.manifest_digest(&repository.tagged(tag)?).await
            }
            (Endpoint::Layout { layout, .. }, Some(repository)) => {
                Ok(layout.find(&format!("{repository}:{tag}")).map(|entry| entry.digest))
            }
            _ => Ok(None),
        }
    }

    /// Whether a manifest exists.
    pub(crate) async fn has_manifest(&self, manifest: &Manifest) -> Result<bool> {
        match self {
            Endpoint::Registry { client, name } => {
                let found = client.manifest_digest(&name.repository.at(manifest.digest.clone())).await?;
                Ok(found.is_some())
            }
            Endpoint::Layout { layout, .. } => {
                Ok(layout.has_blob(&manifest.digest, manifest.bytes.len() as u64))
            }
        }
    }

    /// Whether a blob exists.
    pub(crate) async fn has_blob(&self, digest: &Digest, size: u64) -> Result<bool> {
        match self {
            Endpoint::Registry { client, name } => client.has_blob(&name.repository, digest).await,
            Endpoint::Layout { layout, .. } => Ok(layout.has_blob(digest, size)),
        }
    }

    /// A key for where blobs are stored: they are shared within a repository, and within a layout.
    pub(crate) fn store(&self) -> String {
        match self {
            Endpoint::Registry { name, .. } => name.repository.to_string(),
            Endpoint::Layout { layout, .. } => layout.root().display().to_string(),
        }
    }
}
