//! What can go wrong with a chart, in Helm's words, because people and tools know them.

use std::io;
use std::path::{Path, PathBuf};

/// The result of anything this room does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a chart could not be read, checked, packed or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the chart does not say what it should.
    #[error("cannot load {file}: {reason}")]
    File {
        /// The file, as in `Chart.yaml`.
        file: &'static str,
        /// What is wrong, in Go's words.
        reason: String,
        /// The line, where the YAML reader tells.
        line: Option<usize>,
    },
    /// There is no Chart.yaml.
    #[error("Chart.yaml file is missing")]
    NoChartFile,
    /// Chart.yaml breaks a rule.
    #[error("validation: {0}")]
    Invalid(String),
    /// A subchart cannot be read.
    #[error("error unpacking subchart {name} in {parent}: {source}")]
    Subchart {
        /// The folder or archive below `charts/`.
        name: String,
        /// The chart that holds it.
        parent: String,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A folder below `charts/` is named as an archive.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {found}")]
    FolderNamedAsArchive {
        /// The chart that holds it.
        parent: String,
        /// The archive's name.
        expected: String,
        /// The file found in its place.
        found: String,
    },
    /// Charts are nested deeper than any sane chart.
    #[error("charts are nested more than {0} deep")]
    TooDeep(usize),
    /// The archive is not well formed, or breaks a rule for archives.
    #[error("{0}")]
    Archive(ArchiveError),
    /// A file that should be a chart archive is not one.
    #[error("{0}")]
    NotAnArchive(String),
    /// The chart's apiVersion is unknown.
    #[error("unsupported chart version")]
    UnsupportedVersion,
    /// An archive without a Chart.yaml.
    #[error("unable to detect chart version, no Chart.yaml found")]
    UndetectableArchive,
    /// A folder without a readable Chart.yaml.
    #[error("unable to detect chart at {}: {source}", path.display())]
    UndetectableFolder {
        /// Where Chart.yaml should be.
        path: PathBuf,
        /// What the system says.
        source: FileError,
    },
    /// The system refused a file.
    #[error("{0}")]
    System(#[from] FileError),
    /// A file of the chart could not be read.
    #[error("error reading {name}: {source}")]
    Reading {
        /// The path inside the chart.
        name: String,
        /// What the system says.
        source: FileError,
    },
    /// A symbolic link leads nowhere or in a circle.
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
    /// A file that is larger than Helm allows.
    #[error("chart file {name} is larger than the maximum file size {limit}")]
    FileTooLarge {
        /// The name of the file, in Go's quotes.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A rule of .helmignore makes no sense.
    #[error("{0}")]
    IgnoreRule(&'static str),
    /// Any other failure that is told in Helm's words.
    #[error("{0}")]
    Told(String),
}

impl Error {
    /// The line of the offending file, where it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Error::File { line, .. } => *line,
            Error::Subchart { source, .. } => source.line(),
            _ => None,
        }
    }

    pub(crate) fn told(text: impl Into<String>) -> Self {
        Error::Told(text.into())
    }
}

/// Why an archive was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The stream does not begin as gzip does.
    #[error("gzip: invalid header")]
    GzipHeader,
    /// The compressed data is damaged.
    #[error("{0}")]
    Damaged(&'static str),
    /// The tar structure is damaged.
    #[error("archive/tar: invalid tar header")]
    TarHeader,
    /// Nothing in it.
    #[error("no files in chart archive")]
    Empty,
    /// An entry that breaks a rule of paths.
    #[error("{0}")]
    Path(String),
    /// More data than Helm accepts.
    #[error("decompressed chart is larger than the maximum size {0}")]
    TooLarge(u64),
    /// One entry with more data than Helm accepts.
    #[error("decompressed chart file {name} is larger than the maximum file size {limit}")]
    EntryTooLarge {
        /// The entry, in Go's quotes.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
}

impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Self {
        Error::Archive(error)
    }
}

/// A refusal of the operating system, printed as Go prints it: operation, path, reason.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {}", path.display(), go_reason(source))]
pub struct FileError {
    /// `open`, `stat`, `lstat`, …
    pub operation: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

impl FileError {
    pub(crate) fn new(operation: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        FileError { operation, path: path.as_ref().to_owned(), source }
    }
}

/// Returns a closure for `map_err` that says what was being done to which file.
pub(crate) fn refused(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| FileError::new(operation, path, source).into()
}

/// The reason without Rust's ` (os error 2)`, and in lower case as Go has it.
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
