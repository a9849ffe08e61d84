//! What is signed when a chart is signed.

use std::path::Path;

use crate::report::forward_log;
use crate::{Error, Reporter, Result};

/// The text that a signature of an archive is over: the metadata of the chart, and the digest of the archive under its name.
///
/// # Errors
/// An archive that cannot be read, or that is no chart.
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
