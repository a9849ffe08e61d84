//! Reading files that users name. The errors have the wording of Go's `os` package, because Helm prints
//! these.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// Limit for one values file. It only exists so that `-f /dev/zero` ends; real values files are smaller by orders of
/// magnitude.
const MAX_VALUES_FILE_SIZE: u64 = 256 << 20;

/// Reads a values file, or standard input for `-`.
pub(crate) fn read_values(path: &str) -> Result<Vec<u8>, String> {
    if path.trim() == "-" {
        let error = |error: &io::Error| format!("read standard input: {error}");
        return read_bounded(io::stdin().lock(), 0, "standard input", error);
    }
    let failed = |error: &io::Error| go_error_text(Path::new(path), error);
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
    let mut text = Vec::with_capacity(length.min(MAX_VALUES_FILE_SIZE) as usize);
    from.take(MAX_VALUES_FILE_SIZE + 1).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MAX_VALUES_FILE_SIZE {
        return Err(format!("read {name}: larger than {} MiB", MAX_VALUES_FILE_SIZE >> 20));
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
