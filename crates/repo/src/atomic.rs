//! Atomic file writes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Writes a temporary file and renames it to `path`, so that readers see the old content or the new. Returns the metadata
/// of this very file, even if another process has replaced it by now.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<fs::Metadata> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    persist(file, path, mode)
}

/// A temporary file in the folder of `path`. It is deleted on drop unless [`persist`] is called.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".pintle-").tempfile_in(folder)
}

/// Renames a temporary file to `path`.
pub(crate) fn persist(file: NamedTempFile, path: &Path, mode: u32) -> io::Result<fs::Metadata> {
    restrict(file.as_file(), mode)?;
    file.persist(path).map_err(|error| error.error)?.metadata()
}

#[cfg(unix)]
fn restrict(file: &fs::File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &fs::File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Makes a folder and those above it.
pub(crate) fn folder(path: &Path) -> Result<()> {
    pintle_chart::create_folders(path).map_err(|error| Error::File(error.to_string()))
}
