//! Reading the files that a user or a schema names, with Go's words for what can go wrong.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// The largest file that a schema may refer to.
const MAX_REFERENCED: u64 = 5 << 20;

/// Reads a values file, or standard input for `-`.
pub(crate) fn read_values(path: &str) -> Result<Vec<u8>, String> {
    if path.trim() == "-" {
        let mut text = Vec::new();
        return match io::stdin().lock().read_to_end(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => Err(format!("read standard input: {error}")),
        };
    }
    if path.contains("://") {
        return Err(format!("cannot fetch {path}: values can only be read from files yet"));
    }
    fs::read(path).map_err(|error| failure(Path::new(path), &error))
}

/// Reads a file that a schema refers to. Only small ordinary files count, because a chart can name any path.
pub(crate) fn read_referenced(path: &str) -> Result<Vec<u8>, String> {
    let about = fs::metadata(path).map_err(|error| failure(Path::new(path), &error))?;
    if !about.is_file() || about.len() > MAX_REFERENCED {
        return Err(format!("{path} is not an ordinary file of at most 5 MiB"));
    }
    fs::read(path).map_err(|error| failure(Path::new(path), &error))
}

/// Why a file could not be read, in Go's words.
pub(crate) fn failure(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        io::ErrorKind::NotADirectory => format!("open {path}: not a directory"),
        _ => format!("read {path}: {error}"),
    }
}
