//! The signature status of plugins, as `plugin list` shows it.

use std::fs::{self, File};
use std::path::Path;

use pintle_provenance::{PROVENANCE_LIMIT, sha256_of, signed_digests};

use crate::manifest::Metadata;
use crate::package::archive_name;

/// The state of the signature of an installed plugin, as Helm judges it: by the name of the plugin below `<data>/plugins`,
/// and without verifying the signer.
pub fn signing_status(data: &Path, metadata: &Metadata) -> &'static str {
    match fs::symlink_metadata(data.join(&metadata.name)) {
        Err(_) => return "unknown",
        Ok(found) if found.file_type().is_symlink() => return "local dev",
        Ok(_) => {}
    }
    let name = archive_name(metadata);
    let archive = data.join(&name);
    let provenance = data.join(format!("{name}.prov"));
    if !archive.exists() || !provenance.exists() {
        return "unsigned";
    }
    let too_large = fs::metadata(&provenance).is_ok_and(|found| found.len() > PROVENANCE_LIMIT as u64);
    let Ok(text) = fs::read(&provenance) else { return "unknown" };
    let Some(digests) = signed_digests(&text).filter(|_| !too_large) else { return "invalid provenance" };
    let Ok(found) = File::open(&archive).and_then(sha256_of) else { return "mismatched provenance" };
    let found = format!("sha256:{found}");
    match digests.iter().any(|(file, digest)| file.contains(&name) && *digest == found) {
        true => "signed",
        false => "mismatched provenance",
    }
}
