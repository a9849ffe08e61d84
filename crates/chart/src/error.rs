//! Errors of charts, with Helm's texts, because people and tools know them.

use std::io;
use std::path::{Path, PathBuf};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a chart could not be loaded, validated, packed or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the chart is invalid.
    #[error("cannot load {file}: {reason}")]
    File {
        /// The file, as in `Chart.yaml`.
        file: &'static str,
        /// What is wrong, as Go reports it.
        reason: String,
        /// The line, if the YAML reader reports one.
        line: Option<usize>,
    },
    /// There is no Chart.yaml.
    #[error("Chart.yaml file is missing")]
    NoChartFile,
    /// Chart.yaml violates a rule.
    #[error("validation: {0}")]
    Invalid(String),
    /// A subchart cannot be read.
    #[error("error unpacking subchart {name} in {parent}: {source}")]
    Subchart {
        /// The folder or archive below `charts/`.
        name: String,
        /// The chart that holds it.
        parent: String,
        /// The cause.
        source: Box<Error>,
    },
    /// A folder below `charts/` has the name of an archive.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {found}")]
    FolderNamedAsArchive {
        /// The chart that holds it.
        parent: String,
        /// The archive's name.
        expected: String,
        /// The file that was found.
        found: String,
    },
    /// Subcharts are nested too deeply.
    #[error("charts are nested more than {0} deep")]
    TooDeep(usize),
    /// The archive is malformed, or violates a rule for archives.
    #[error("{0}")]
    Archive(ArchiveError),
    /// The archive of a chart cannot be unpacked. Helm leaves the reason out; it is the source.
    #[error("unable to load chart archive")]
    UnreadableArchive(#[source] ArchiveError),
    /// A file that should be a chart archive is not one.
    #[error("{0}")]
    NotAnArchive(String),
    /// The chart's `apiVersion` is unknown.
    #[error("unsupported chart version")]
    UnsupportedVersion,
    /// An archive without a Chart.yaml.
    #[error("unable to detect chart version, no Chart.yaml found")]
    UndetectableArchive,
    /// A folder without a readable Chart.yaml.
    #[error("unable to detect chart at {}: {source}", path.display())]
    UndetectableFolder {
        /// The expected path of Chart.yaml.
        path: PathBuf,
        /// The I/O error.
        source: FileError,
    },
    /// An I/O error.
    #[error("{0}")]
    System(#[from] FileError),
    /// A file of the chart could not be read.
    #[error("error reading {name}: {source}")]
    Reading {
        /// The path inside the chart.
        name: String,
        /// The I/O error.
        source: FileError,
    },
    /// A symlink is dangling or cyclic.
    #[error("error evaluating symlink {}: {reason}", path.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A device, socket or pipe among the chart's files.
    #[error("cannot load irregular file {} as it has file mode type bits set", .0.display())]
    Irregular(PathBuf),
    /// The files of a folder are larger together than Helm allows.
    #[error("error reading {name}: chart exceeds maximum decompressed size of {limit} bytes")]
    FolderTooLarge {
        /// The path inside the chart of the file that exceeds the limit.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A rule of .helmignore is invalid.
    #[error("{0}")]
    IgnoreRule(&'static str),
    /// Any other failure with Helm's text.
    #[error("{0}")]
    Message(String),
}

impl Error {
    /// The line of the invalid file, if known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Error::File { line, .. } => *line,
            Error::Subchart { source, .. } => source.line(),
            _ => None,
        }
    }

    /// A failure with a text of its own.
    pub fn message(text: impl Into<String>) -> Self {
        Error::Message(text.into())
    }
}

/// Why an archive was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The stream is not gzip.
    #[error("gzip: invalid header")]
    GzipHeader,
    /// The compressed data is corrupt.
    #[error("{0}")]
    Damaged(&'static str),
    /// The tar structure is corrupt.
    #[error("archive/tar: invalid tar header")]
    TarHeader,
    /// The archive is empty.
    #[error("no files in chart archive")]
    Empty,
    /// An entry whose path is not allowed.
    #[error("{0}")]
    Path(String),
    /// More data than Helm accepts.
    #[error("decompressed chart is larger than the maximum size {0}")]
    TooLarge(u64),
}

impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Self {
        Error::Archive(error)
    }
}

/// An I/O error, printed as Go prints a `PathError`: operation, path, reason.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {}", path.display(), go_reason(source))]
pub struct FileError {
    /// `open`, `stat`, `lstat`, …
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

impl FileError {
    /// Returns the error of an operation on a file.
    pub fn new(operation: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        FileError { operation, path: path.as_ref().to_owned(), source }
    }
}

/// Returns a closure for `map_err` that adds the operation and the path.
pub(crate) fn file_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| FileError::new(operation, path, source).into()
}

/// The reason as Go spells it: lower case, without Rust's ` (os error 2)`.
fn go_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = match text.find(" (os error") {
        Some(end) => &text[..end],
        None => &text,
    };
    let mut characters = reason.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_read_as_in_go() {
        let error = FileError::new("open", "/nowhere", io::Error::from_raw_os_error(2));
        assert_eq!(error.to_string(), "open /nowhere: no such file or directory");
    }
}
