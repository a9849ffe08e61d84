//! Writes lock files.

use std::fs;
use std::path::Path;

use pintle_tree::quote::quote;

use crate::error::{Error, Result, file_error};
use crate::metadata::Lock;
use crate::write::{write_below, write_file_error};

/// Writes Chart.lock, or requirements.lock for a `v1` chart, into the chart's folder.
///
/// # Errors
/// When the lock file is a symlink, because writing would change a file elsewhere; or when it cannot be written.
pub fn write_lock(chart_path: &Path, lock: &Lock, legacy: bool) -> Result<()> {
    write_named(chart_path, lock, if legacy { "requirements.lock" } else { "Chart.lock" })
}

/// Writes a lock into a file of the chart's folder.
pub(super) fn write_named(chart_path: &Path, lock: &Lock, name: &str) -> Result<()> {
    let file = chart_path.join(name);
    if let Ok(metadata) = fs::symlink_metadata(&file)
        && metadata.is_symlink()
    {
        let target = fs::read_link(&file).map_err(file_error("readlink", &file))?;
        let target = quote(target.to_string_lossy().as_bytes());
        return Err(Error::message(format!("the {name} file is a symlink to {target}")));
    }
    write_below(chart_path, Path::new(name), &lock.to_yaml()?).map_err(write_file_error(&file))
}
