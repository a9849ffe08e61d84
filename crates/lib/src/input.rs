//! Reading files that users name. The errors have the wording of Go's `os` package, because Helm prints
//! these.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use pintle_tree::{Map, Node};
pub use pintle_values::ValuesLayer;

use crate::Result;

/// Limit for one values file. It only exists so that `-f /dev/zero` ends; real values files are smaller by orders of
/// magnitude.
const MAX_VALUES_FILE_SIZE: u64 = 256 << 20;

/// Merges the user's values.
///
/// # Errors
/// When a file cannot be read, or a layer does not parse.
pub(crate) fn user_values(layers: &[ValuesLayer]) -> Result<Map<Node>> {
    Ok(pintle_values::layer(layers, &mut read_values)?)
}

/// Reads a values file.
pub(crate) fn read_values(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| go_error_text(path, &error);
    let file = fs::File::open(path).map_err(failed)?;
    let length = file.metadata().map_or(0, |about| about.len());
    let mut text = Vec::with_capacity(length.min(MAX_VALUES_FILE_SIZE) as usize);
    file.take(MAX_VALUES_FILE_SIZE + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_VALUES_FILE_SIZE {
        return Err(format!("read {}: larger than {} MiB", path.display(), MAX_VALUES_FILE_SIZE >> 20));
    }
    Ok(text)
}

/// Returns the reason why a file could not be read, worded as Go's `*PathError`.
pub(crate) fn go_error_text(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        io::ErrorKind::NotADirectory => format!("open {path}: not a directory"),
        _ => format!("read {path}: {error}"),
    }
}
