//! What can go wrong between us and a registry.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::StatusCode;

use crate::digest::Digest;

/// The outcome of what this room does.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with what was being done and to what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is none.
    #[error("`{text}` is no name of an image: {reason}")]
    Name {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A digest that is none, or of an algorithm that cannot be checked.
    #[error("`{text}` is no digest that can be checked")]
    Digest {
        /// What was given.
        text: String,
    },
    /// A platform that is none.
    #[error("`{text}` is no platform")]
    Platform {
        /// What was given.
        text: String,
    },
    /// Settings that cannot be used.
    #[error("cannot use {what}: {reason}")]
    Settings {
        /// Which setting, and what is in it.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that could not be worked with.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No answer, or one that broke off.
    #[error("{url}: {reason}")]
    Network {
        /// Who was spoken to; never with a query, which may carry secrets.
        url: String,
        /// What happened.
        reason: String,
    },
    /// An answer that says no.
    #[error("{method} {url}: {status}{}", note(detail))]
    Status {
        /// What was asked.
        method: http::Method,
        /// Who was asked; never with a query, which may carry secrets.
        url: String,
        /// The answer.
        status: StatusCode,
        /// What the registry said about it.
        detail: String,
    },
    /// The registry does not let us in.
    #[error("{repository}: not allowed to {action}{}", note(detail))]
    Denied {
        /// The repository, or the registry.
        repository: String,
        /// What was being tried.
        action: &'static str,
        /// What the registry said about it.
        detail: String,
    },
    /// There is nothing by that name.
    #[error("{name}: there is no such image")]
    Missing {
        /// The name.
        name: String,
    },
    /// Bytes that are not those that were promised.
    #[error("{what}: the content does not fit its digest: expected {expected}, found {found}")]
    Mismatch {
        /// Where the bytes came from.
        what: String,
        /// The digest that was promised.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// More bytes, or fewer, than were promised or than can be taken.
    #[error("{what}: {reason}")]
    Size {
        /// Where the bytes came from.
        what: String,
        /// What is wrong with their number.
        reason: String,
    },
    /// A manifest that does not make sense.
    #[error("{what}: {reason}")]
    Manifest {
        /// Which one.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A program for credentials that did not work.
    #[error("{program}: {reason}")]
    Helper {
        /// Its name.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// The destination has something else by that name.
    #[error("{name} is {there} already, which is not {wanted}")]
    Conflict {
        /// The name at the destination.
        name: String,
        /// What it stands for.
        there: Digest,
        /// What it was to stand for.
        wanted: Digest,
    },
    /// Someone else writes the same folder.
    #[error("{} is being written by someone else", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A failure that several images share.
    #[error("{0}")]
    Shared(Arc<Error>),
}

fn note(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

impl Error {
    /// What may help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Name { .. } => {
                Some("write it as registry/repository:tag or registry/repository@sha256:…".into())
            }
            Error::Platform { .. } => Some("write it as os/architecture or os/architecture/variant".into()),
            Error::Denied { .. } => Some(
                "log in with `docker login` or `helm registry login`, or give --creds USER:PASSWORD".into(),
            ),
            Error::Conflict { .. } => Some("--overwrite moves the tag".into()),
            Error::Busy { .. } => Some("wait until the other copy is done".into()),
            Error::Mismatch { .. } => {
                Some("the content was damaged or exchanged on its way; nothing of it was kept".into())
            }
            Error::Shared(error) => error.hint(),
            _ => None,
        }
    }

    /// Whether trying again may help.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Error::Network { .. } => true,
            Error::Status { status, .. } => is_transient(*status),
            _ => false,
        }
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}

/// Whether a registry that answers so may answer otherwise later.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}
