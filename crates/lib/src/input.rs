//! Reading the files that a user or a schema names, with Go's words for what can go wrong.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// The largest file that a schema may refer to.
const MAX_REFERENCED: u64 = 5 << 20;

/// The largest values file. Devices have no end, and a values file of this size takes minutes to write.
const MAX_VALUES: u64 = 256 << 20;

/// Reads a values file, or standard input for `-`.
pub(crate) fn read_values(path: &str) -> Result<Vec<u8>, String> {
    if path.trim() == "-" {
        let error = |error: &io::Error| format!("read standard input: {error}");
        return read_bounded(io::stdin().lock(), 0, "standard input", error);
    }
    if path.contains("://") {
        return Err(format!("cannot fetch {path}: values can only be read from files yet"));
    }
    let failed = |error: &io::Error| failure(Path::new(path), error);
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    let length = file.metadata().map_or(0, |about| about.len());
    read_bounded(file, length, path, failed)
}

fn read_bounded(
    from: impl io::Read,
    length: u64,
    name: &str,
    failed: impl Fn(&io::Error) -> String,
) -> Result<Vec<u8>, String> {
    let mut text = Vec::with_capacity(length.min(MAX_VALUES) as usize);
    from.take(MAX_VALUES + 1).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MAX_VALUES {
        return Err(format!("read {name}: larger than {} MiB", MAX_VALUES >> 20));
    }
    Ok(text)
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
