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
pub enum Place {
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Registry { name, .. } => write!(f, "{name}"),
            Place::Layout { layout, name } => write!(f, "oci:{}:{name}", layout.root().display()),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl Place {
    /// The digest that its name fixes.
    pub(crate) fn pinned(&self) -> Option<Digest> {
        match self {
            Place::Registry { name, .. } => name.digest().cloned(),
            Place::Layout { name, .. } => name.split_once('@')?.1.parse().ok(),
        }
    }

    /// Where content is read from.
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Place::Registry { client, name } => Origin::Registry(client.clone(), name.repository.clone()),
            Place::Layout { layout, .. } => Origin::Layout(layout.clone()),
        }
    }

    /// The repository, if the name has one.
    pub(crate) fn repository(&self) -> Option<Repository> {
        match self {
            Place::Registry { name, .. } => Some(name.repository.clone()),
            Place::Layout { name, .. } => name.parse::<ImageName>().ok().map(|name| name.repository),
        }
    }

    /// The manifest that the name stands for.
    pub(crate) async fn root(&self) -> Result<Manifest> {
        let found = match self {
            Place::Registry { client, name } => client.manifest(name).await?,
            Place::Layout { layout, name } => match layout.find(name) {
                Some(entry) => layout.manifest(&entry.digest, &entry.media_type)?,
                None => None,
            },
        };
        found.ok_or_else(|| Error::Missing { name: self.to_string() })
    }

    /// A manifest by its digest; `None` if it is not there.
    pub(crate) async fn manifest(&self, digest: &Digest, media_type: &str) -> Result<Option<Manifest>> {
        match self {
            Place::Registry { client, name } => client.manifest(&name.repository.at(digest.clone())).await,
            Place::Layout { layout, .. } => layout.manifest(digest, media_type),
        }
    }

    /// A manifest of the same repository by its tag; `None` if it is not there.
    pub(crate) async fn tagged(&self, tag: &str) -> Result<Option<Manifest>> {
        match (self, self.repository()) {
            (_, None) => Ok(None),
            (Place::Registry { client, .. }, Some(repository)) => {
                // Asking for the digest costs nothing with registries that count what is pulled.
                let name = repository.tagged(tag)?;
                match client.manifest_digest(&name).await? {
                    Some(_) => client.manifest(&name).await,
                    None => Ok(None),
                }
            }
            (Place::Layout { layout, .. }, Some(repository)) => {
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
            Place::Registry { client, name } => return client.referrers(&name.repository, digest).await,
            Place::Layout { layout, .. } => layout,
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
    pub(crate) async fn standing(&self) -> Result<Option<Digest>> {
        match self {
            Place::Registry { client, name } => {
                let asked = match name.tag() {
                    Some(tag) => name.repository.tagged(tag)?,
                    None => name.clone(),
                };
                client.manifest_digest(&asked).await
            }
            Place::Layout { layout, name } => Ok(layout.find(name).map(|entry| entry.digest)),
        }
    }

    /// What a tag of the same repository stands for.
    pub(crate) async fn standing_tag(&self, tag: &str) -> Result<Option<Digest>> {
        match (self, self.repository()) {
            (Place::Registry { client, .. }, Some(repository)) => {
                client.manifest_digest(&repository.tagged(tag)?).await
            }
            (Place::Layout { layout, .. }, Some(repository)) => {
                Ok(layout.find(&format!("{repository}:{tag}")).map(|entry| entry.digest))
            }
            _ => Ok(None),
        }
    }

    /// Whether a manifest is there.
    pub(crate) async fn has_manifest(&self, manifest: &Manifest) -> Result<bool> {
        match self {
            Place::Registry { client, name } => {
                let found = client.manifest_digest(&name.repository.at(manifest.digest.clone())).await?;
                Ok(found.is_some())
            }
            Place::Layout { layout, .. } => {
                Ok(layout.has_blob(&manifest.digest, manifest.bytes.len() as u64))
            }
        }
    }

    /// Whether content is there.
    pub(crate) async fn has_blob(&self, digest: &Digest, size: u64) -> Result<bool> {
        match self {
            Place::Registry { client, name } => client.has_blob(&name.repository, digest).await,
            Place::Layout { layout, .. } => Ok(layout.has_blob(digest, size)),
        }
    }

    /// Where content is kept: it is shared within a repository, and within a folder.
    pub(crate) fn store(&self) -> String {
        match self {
            Place::Registry { name, .. } => name.repository.to_string(),
            Place::Layout { layout, .. } => layout.root().display().to_string(),
        }
    }
}
