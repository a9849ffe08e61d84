//! The text to sign for a chart.

use std::path::Path;

use crate::report::forward_log;
use crate::{Error, Reporter, Result};

/// Returns the text to sign for an archive: the metadata of the chart, and the digest of the archive under its name.
///
/// # Errors
/// When the archive cannot be read or is not a chart.
pub fn text_to_sign(archive: &Path, reporter: &mut dyn Reporter) -> Result<Vec<u8>> {
    let chart = forward_log(reporter, |log| Ok(pintle_chart::load(archive, log)?))?;
    let metadata = pintle_yaml::write(&chart.metadata.to_full_node())
        .map_err(|error| Error::Input(error.to_string()))?;
    let digest = std::fs::File::open(archive)
        .and_then(pintle_provenance::sha256_of)
        .map_err(|source| Error::File { action: "read", path: archive.into(), source })?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    pintle_provenance::message(&metadata, &name, &digest).map_err(|error| Error::Input(error.to_string()))
}
