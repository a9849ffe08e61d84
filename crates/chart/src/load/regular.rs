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

/// The limit for files of settings and texts that users and charts name.
pub const MAX_TEXT: u64 = 16 << 20;

/// Reads a whole file of at most `limit` bytes. Users may name a device or a pipe without end, and charts a link to one.
///
/// # Errors
/// I/O errors, and a file of more than `limit` bytes.
pub fn read_limited(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    limited(fs::File::open(path)?, limit)
}

/// Reads a stream of at most `limit` bytes to its end.
///
/// # Errors
/// I/O errors, and more than `limit` bytes.
pub fn limited(from: impl io::Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(from, limit + 1), &mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {} MiB", limit >> 20)));
    }
    Ok(text)
}
