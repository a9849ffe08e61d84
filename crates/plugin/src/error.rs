//! What can go wrong with plugins. The texts are Helm's wherever Helm has one.

use std::io;
use std::path::Path;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid `plugin.yaml`.
    #[error("{0}")]
    Manifest(String),
    /// An invalid argument, or something that does not exist.
    #[error("{0}")]
    Input(String),
    /// A file or folder that could not be read, written or created.
    #[error("{0}")]
    File(String),
    /// An archive that is refused.
    #[error("{0}")]
    Archive(String),
    /// A failure of git, or a repository that cannot be used.
    #[error("{0}")]
    Git(String),
}

impl Error {
    /// The same error with a prefix, as `front: text`.
    #[must_use]
    pub fn within(self, front: &str) -> Error {
        let text = format!("{front}: {self}");
        match self {
            Error::Manifest(_) => Error::Manifest(text),
            Error::Input(_) => Error::Input(text),
            Error::File(_) => Error::File(text),
            Error::Archive(_) => Error::Archive(text),
            Error::Git(_) => Error::Git(text),
        }
    }
}

/// Names the operation and the file, as Go's `PathError` does.
pub(crate) fn refused(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::File(format!("{operation} {}: {}", path.display(), reason(&error)))
}

/// Creates a folder and its parents. If a file is in its place, the error is `not a directory` and not `file exists`, as in Go.
pub(crate) fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| {
        let error = match error.kind() {
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => error,
        };
        refused("mkdir", path)(error)
    })
}

/// The reason of the operating system, as Go spells it.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}
