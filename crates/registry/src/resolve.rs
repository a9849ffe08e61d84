//! Resolves image names to digests.

use crate::client::Client;
use crate::copy::known_digests;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{MANIFEST_LIMIT, Manifest, Parts, Platform};
use crate::name::ImageName;

/// What an image name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The digest of the manifest.
    pub digest: Digest,
    /// The media type of the manifest.
    pub media_type: String,
    /// The digest of each platform, sorted.
    pub platforms: Vec<(Platform, Digest)>,
}

impl Client {
    /// Resolves a name.
    ///
    /// # Errors
    ///
    /// When the image does not exist, or the registry does not respond.
    pub async fn resolve(&self, name: &ImageName) -> Result<Resolved> {
        let manifest = self.manifest(name).await?;
        let manifest = manifest.ok_or_else(|| Error::Missing { name: name.to_string() })?;
        let mut platforms = match &manifest.parts {
            Parts::Index(entries) => known_digests(entries),
            Parts::Content { .. } => self.own_platform(name, &manifest).await?.into_iter().collect(),
        };
        platforms.sort();
        Ok(Resolved { digest: manifest.digest, media_type: manifest.media_type, platforms })
    }

    /// The platform of a single-platform image, from its configuration.
    async fn own_platform(
        &self,
        name: &ImageName,
        manifest: &Manifest,
    ) -> Result<Option<(Platform, Digest)>> {
        let Parts::Content { config: Some(config), .. } = &manifest.parts else { return Ok(None) };
        if !config.media_type.contains("image") {
            return Ok(None);
        }
        let answer = self.open_blob(&name.repository, &config.digest, 0).await?;
        let text = answer.content(MANIFEST_LIMIT).await?;
        config.digest.check(&text, &name.repository.at(config.digest.clone()).to_string())?;
        let platform = pintle_tree::json::read_exact(&text).ok().as_ref().and_then(Platform::read);
        Ok(platform.map(|platform| (platform, manifest.digest.clone())))
    }
}
