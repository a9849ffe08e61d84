//! The standard streams of a plugin, implemented by the caller.

use std::io;

/// A stream that a plugin writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// The standard streams of a plugin.
pub trait Streams: Send + Sync {
    /// Reads up to `limit` bytes of standard input; less only at its end.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn read(&self, limit: usize) -> io::Result<Vec<u8>>;

    /// Reads up to and including the next line feed, but at most `limit` bytes. Empty at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn read_line(&self, limit: usize) -> io::Result<Vec<u8>>;

    /// Writes all bytes.
    ///
    /// # Errors
    /// When they cannot be written, or exceed the caller's size limit.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;
}
