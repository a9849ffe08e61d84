//! What can go wrong between a reference and a chart. The texts are Helm's wherever Helm has one.

use std::io;
use std::path::Path;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for makes no sense, or is not there.
    #[error("{0}")]
    Input(String),
    /// A reference is neither a URL nor the name of a repository with that of a chart.
    #[error("non-absolute URLs should be in form of repo_name/path_to_chart, got: {reference}")]
    NotAbsolute {
        /// The reference.
        reference: String,
    },
    /// There is no repository of the name that a reference begins with.
    #[error("repo {name} not found")]
    UnknownRepository {
        /// The name.
        name: String,
    },
    /// A server could not be reached, or returned an error.
    #[error("{0}")]
    Fetch(String),
    /// An index that cannot be used.
    #[error("{0}")]
    Index(String),
    /// A file that could not be worked with.
    #[error("{0}")]
    File(String),
    /// An archive that is no chart.
    #[error("{0}")]
    Archive(String),
    /// The content cache cannot be written.
    #[error("{0}")]
    Cache(String),
    /// Bytes that are not those that the index of the repository declares.
    #[error(
        "{url} does not match the digest in the index of the repository: expected sha256:{expected}, found \
         sha256:{found}"
    )]
    Digest {
        /// Where the bytes came from.
        url: String,
        /// What the index declares.
        expected: String,
        /// What came.
        found: String,
    },
    /// A registry could not be reached, or returned an error.
    #[error("{text}")]
    Registry {
        /// What is wrong.
        text: String,
        /// What may help.
        hint: Option<String>,
        /// Whether it refused the login, or wants one.
        denied: bool,
    },
}

impl Error {
    /// The same error with `front` before its text.
    #[must_use]
    pub fn within(self, front: &str) -> Error {
        let text = format!("{front}: {self}");
        match self {
            Error::Input(_) | Error::NotAbsolute { .. } | Error::UnknownRepository { .. } => {
                Error::Input(text)
            }
            Error::Fetch(_) | Error::Digest { .. } => Error::Fetch(text),
            Error::Index(_) => Error::Index(text),
            Error::File(_) => Error::File(text),
            Error::Archive(_) => Error::Archive(text),
            Error::Cache(_) => Error::Cache(text),
            Error::Registry { hint, denied, .. } => Error::Registry { text, hint, denied },
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Digest { .. } => {
                Some("the chart was damaged or exchanged, or the index is wrong; nothing of it was kept")
            }
            Error::Registry { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}

impl From<pintle_registry::Error> for Error {
    fn from(error: pintle_registry::Error) -> Error {
        let denied = matches!(error.cause(), pintle_registry::Error::Denied { .. });
        Error::Registry { text: error.to_string(), hint: error.hint(), denied }
    }
}

/// An I/O error with operation and path, formatted as Go does.
pub(crate) fn refused(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File(pintle_chart::FileError { operation, path, source }.to_string())
}
