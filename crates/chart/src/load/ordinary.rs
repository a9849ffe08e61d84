//! Reading a file that a chart names, which might be a pipe or a device that never ends.

use std::fs;
use std::io;
use std::path::Path;

/// The largest file that is read whole.
const MAX_SIZE: u64 = 256 << 20;

/// Reads an ordinary file.
///
/// # Errors
/// As [`fs::read`], and for pipes, devices and files of more than 256 MiB, before they are opened.
pub fn read_ordinary(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    // Reading a folder fails by itself, with the system's words for it.
    if !about.is_file() && !about.is_dir() {
        return Err(io::Error::other("not an ordinary file"));
    }
    if about.len() > MAX_SIZE {
        return Err(io::Error::other("larger than 256 MiB"));
    }
    fs::read(path)
}
