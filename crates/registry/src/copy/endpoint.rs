//! Where an image is or goes: in a registry or in a layout folder, with the same questions to both.

use std::fmt;
use std::sync::Arc;

use crate::blob::Origin;
use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::manifest::{Descriptor, Manifest};
use crate::name::{ImageName, Repository};

/// Where an image is or goes.
#[derive(Clone)]
pub enum Endpoint {
    /// In a registry.
    Registry {
        /// Who speaks to it.
        client: Arc<Client>,
        /// Its name there.
        name: ImageName,
    },
    /// In a layout folder.
    Layout {
        /// The folder.
        layout: Arc<Layout>,
        /// Its name there.
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
        write!(f, "Place({self})")
    }
}

impl Endpoint {
    /// The digest that its name fixes.
    pub(crate) fn pinned(&self) -> Option<Digest> {
        match self {
            Endpoint::Registry { name, .. } => name.digest().cloned(),
            Endpoint::Layout { name, .. } => name.split_once('@')?.1.parse().ok(),
        }
    }

    /// Where content is read from.
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

    /// The manifest that the name stands for.
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

    /// A manifest by its digest; `None` if it is not there.
    pub(crate) async fn manifest(&self, digest: &Digest, media_type: &str) -> Result<Option<Manifest>> {
        match self {
            Endpoint::Registry { client, name } => client.manifest(&name.repository.at(digest.clone())).await,
            Endpoint::Layout { layout, .. } => layout.manifest(digest, media_type),
        }
    }

    /// A manifest of the same repository by its tag; `None` if it is not there.
    pub(crate) async fn tagged(&self, tag: &str) -> Result<Option<Manifest>> {
        match (self, self.repository()) {
            (_, None) => Ok(None),
            (Endpoint::Registry { client, .. }, Some(repository)) => {
                // Asking for the digest costs nothing with registries that count what is pulled.
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

    /// What belongs to a manifest.
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

    /// What the name stands for at the moment. If it has a tag, the tag counts.
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

    /// What a tag of the same repository stands for.
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

    /// Whether a manifest is there.
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

    /// Whether content is there.
    pub(crate) async fn has_blob(&self, digest: &Digest, size: u64) -> Result<bool> {
        match self {
            Endpoint::Registry { client, name } => client.has_blob(&name.repository, digest).await,
            Endpoint::Layout { layout, .. } => Ok(layout.has_blob(digest, size)),
        }
    }

    /// Where content is kept: it is shared within a repository, and within a folder.
    pub(crate) fn store(&self) -> String {
        match self {
            Endpoint::Registry { name, .. } => name.repository.to_string(),
            Endpoint::Layout { layout, .. } => layout.root().display().to_string(),
        }
    }
}
