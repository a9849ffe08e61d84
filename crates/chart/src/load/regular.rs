//! Reads regular files only: a chart might name a pipe or a device that never ends.

use std::fs;
use std::io;
use std::path::Path;

/// The maximum size of a file that is read whole.
const MAX_SIZE: u64 = 256 << 20;

/// Reads a regular file.
///
/// # Errors
/// Like [`fs::read`], and for pipes, devices and files of more than 256 MiB, before they are opened.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    // Reading a folder fails by itself, with the system's error.
    if !about.is_file() && !about.is_dir() {
        return Err(io::Error::other("not a regular file"));
    }
    if about.len() > MAX_SIZE {
        return Err(io::Error::other("larger than 256 MiB"));
    }
    fs::read(path)
}
