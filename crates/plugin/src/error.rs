//! What can go wrong with plugins. The texts are Helm's wherever Helm has one.

use std::io;
use std::path::Path;

/// The outcome of what this crate does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A `plugin.yaml` that is not one.
    #[error("{0}")]
    Manifest(String),
    /// What was asked for makes no sense, or is not there.
    #[error("{0}")]
    Input(String),
    /// A file that could not be worked with.
    #[error("{0}")]
    File(String),
    /// An archive that is refused.
    #[error("{0}")]
    Archive(String),
    /// The git program, or what it found.
    #[error("{0}")]
    Git(String),
}

impl Error {
    /// The same failure with words in front of it.
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

/// Makes a folder and those above it. Something else in its place is no folder, and not a file that exists, as in Go.
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
