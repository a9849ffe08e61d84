//! Reads files and standard input with a size limit: users may name a device or a pipe without end.

use std::io;
use std::path::Path;

use pintle::chart::{limited, read_limited};

/// The limit for standard input of filters: several times the size of any rendered chart.
pub(crate) const MAX_STREAM: u64 = 256 << 20;

/// The limit for configuration files, such as a kubeconfig, a list of images or a registry mapping.
pub(crate) const MAX_SETTINGS: u64 = 16 << 20;

/// Reads a whole file.
///
/// # Errors
/// I/O errors, and a file of more than `limit` bytes.
pub(crate) fn file(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    read_limited(path, limit)
}

/// Reads all of standard input.
///
/// # Errors
/// I/O errors, and more than [`MAX_STREAM`] bytes.
pub(crate) fn standard_input() -> io::Result<Vec<u8>> {
    limited(io::stdin().lock(), MAX_STREAM)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_the_limit() {
        assert_eq!(limited(io::repeat(1).take(1 << 20), 1 << 20).expect("it fits").len(), 1 << 20);
        let error = limited(io::repeat(1), 1 << 20).expect_err("it does not fit");
        assert_eq!(error.to_string(), "larger than 1 MiB");
    }
}
