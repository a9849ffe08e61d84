//! Files in artifacts, as `oras push` makes them: each layer is a file, and its annotation has the name.

use std::sync::Arc;

use bytes::Bytes;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::manifest::Parts;
use crate::name::ImageName;

/// The annotation with the name of a file.
const TITLE: &str = "org.opencontainers.image.title";

impl Client {
    /// Reads a file of an artifact by its title. If there is only one layer, its title does not matter.
    ///
    /// # Errors
    ///
    /// When there is no such artifact or file, when it is larger than `limit`, and when bytes are not those of their digests.
    pub async fn artifact_file(self: &Arc<Self>, name: &ImageName, file: &str, limit: u64) -> Result<Bytes> {
        let manifest = self.manifest(name).await?;
        let manifest = manifest.ok_or_else(|| Error::Missing { name: name.to_string() })?;
        let bad = |reason: String| Error::Manifest { what: name.to_string(), reason };
        let Parts::Content { layers, .. } = &manifest.parts else {
            return Err(bad("it is an index, not an artifact with files".to_owned()));
        };
        let titled = layers.iter().find(|layer| layer.annotation(TITLE) == Some(file));
        let layer = match (titled, layers.as_slice()) {
            (Some(layer), _) | (None, [layer]) => layer,
            _ => return Err(bad(format!("it has no file `{file}`"))),
        };
        self.small(&name.repository, layer, limit).await
    }
}
