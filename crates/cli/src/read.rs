//! Reading what users name, which may be a pipe or a device: as much as makes sense, and not without end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most that a filter takes from standard input: several times what any chart renders.
pub(crate) const MAX_STREAM: u64 = 256 << 20;

/// The largest file of settings: a kubeconfig, a list of images, a mapping of registries.
pub(crate) const MAX_SETTINGS: u64 = 16 << 20;

/// Reads a file to its end.
///
/// # Errors
/// Those of reading, and one for a file of more than `most` bytes.
pub(crate) fn file(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    to_end(File::open(path)?, most)
}

/// Reads standard input to its end.
///
/// # Errors
/// Those of reading, and one for more than [`MAX_STREAM`] bytes.
pub(crate) fn standard_input() -> io::Result<Vec<u8>> {
    to_end(io::stdin().lock(), MAX_STREAM)
}

fn to_end(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(most + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {} MiB", most >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_the_limit() {
        assert_eq!(to_end(io::repeat(1).take(1 << 20), 1 << 20).expect("it fits").len(), 1 << 20);
        let error = to_end(io::repeat(1), 1 << 20).expect_err("it does not fit");
        assert_eq!(error.to_string(), "larger than 1 MiB");
    }
}
