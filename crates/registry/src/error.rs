//! Errors of registry operations.

use std::io;
use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::StatusCode;
use pintle_tree::quote::quote;

use crate::digest::Digest;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, with the operation and its subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid image name.
    #[error("`{text}` is not a valid image name: {reason}")]
    Name {
        /// The given text.
        text: String,
        /// Why it is invalid.
        reason: &'static str,
    },
    /// An invalid digest, or an unsupported algorithm.
    #[error("`{text}` is not a supported digest")]
    Digest {
        /// The given text.
        text: String,
    },
    /// An invalid platform.
    #[error("`{text}` is not a platform")]
    Platform {
        /// The given text.
        text: String,
    },
    /// Unusable settings.
    #[error("cannot use {what}: {reason}")]
    Settings {
        /// The setting or file.
        what: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// No response, or an incomplete one.
    #[error("{url}: {reason}")]
    Network {
        /// The URL, without its query, which may carry secrets.
        url: String,
        /// What happened.
        reason: String,
    },
    /// An error response.
    #[error("{method} {url}: {status}{}", note(detail))]
    Status {
        /// The request method.
        method: http::Method,
        /// The URL, without its query, which may carry secrets.
        url: String,
        /// The status code.
        status: StatusCode,
        /// The registry's error message.
        detail: String,
        /// The same in the words of Go's library.
        answer: String,
    },
    /// Authentication or authorisation failed.
    #[error("{repository}: not allowed to {action}{}", note(detail))]
    Denied {
        /// The repository, or the registry.
        repository: String,
        /// The attempted action.
        action: &'static str,
        /// The registry's error message.
        detail: String,
        /// The answer in the words of Go's library; empty if there was none.
        answer: String,
    },
    /// The image does not exist.
    #[error("{name}: no such image")]
    Missing {
        /// Its name.
        name: String,
    },
    /// Content does not match its digest.
    #[error("{what}: the content does not fit its digest: expected {expected}, found {found}")]
    Mismatch {
        /// Where the content came from.
        what: String,
        /// The expected digest.
        expected: Digest,
        /// The actual digest.
        found: Digest,
    },
    /// Content has an unexpected or excessive size.
    #[error("{what}: {reason}")]
    Size {
        /// Where the content came from.
        what: String,
        /// What is wrong with the size.
        reason: String,
    },
    /// The next page of a list is at an address that is not followed. The text is Helm's.
    #[error("invalid next link {}: {reason}", quote(next.as_bytes()))]
    NextPage {
        /// The address, as the registry sent it.
        next: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An invalid manifest.
    #[error("{what}: {reason}")]
    Manifest {
        /// Which manifest.
        what: String,
        /// Why it is invalid.
        reason: String,
    },
    /// A credential helper failed.
    #[error("{program}: {reason}")]
    Helper {
        /// The program.
        program: String,
        /// How it failed.
        reason: String,
    },
    /// A credential helper is not installed.
    #[error("exec: \"{program}\": executable file not found in $PATH")]
    NoHelper {
        /// The program.
        program: String,
    },
    /// The tag exists at the destination with another digest.
    #[error("{name} already exists as {there}, not {wanted}")]
    Conflict {
        /// The name at the destination.
        name: String,
        /// The digest it resolves to.
        there: Digest,
        /// The digest to be copied.
        wanted: Digest,
    },
    /// Another process holds the lock of the layout.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The layout folder.
        path: PathBuf,
    },
    /// A chart cannot be resolved, pulled or pushed; the text is Helm's.
    #[error("{text}")]
    Chart {
        /// What Helm says.
        text: String,
    },
    /// A failed transfer, with the error text of Go's library as Helm prints it.
    #[error("{text}")]
    Transfer {
        /// What Helm says.
        text: String,
        /// What happened.
        source: Box<Error>,
    },
    /// A failure that several images share.
    #[error("{0}")]
    Shared(Arc<Error>),
}

/// The detail of `Error::Denied` when a registry requires a login and none is configured.
pub(crate) const NO_LOGIN: &str = "no login is known";

/// Go's error text for a failed connection.
fn go_reason(url: &str, reason: &str) -> String {
    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if let Some(port) = crate::go_words::invalid_port(host) {
        return port;
    }
    if let Some(alert) = reason.strip_prefix("received fatal alert: ") {
        return format!("remote error: tls: {}", crate::go_words::alert_words(alert));
    }
    if reason.contains("Connection refused") {
        let port = if url.starts_with("https://") { 443 } else { 80 };
        let address = host.to_socket_addrs().or_else(|_| (host, port).to_socket_addrs());
        let address = address.ok().and_then(|mut found| found.next());
        let address = address.map_or_else(|| host.to_owned(), |address| address.to_string());
        return format!("dial tcp {address}: connect: connection refused");
    }
    if reason.contains("failed to lookup address information") {
        return crate::go_words::unknown_host(host.rsplit_once(':').map_or(host, |(name, _)| name));
    }
    if reason.contains("InvalidContentType") || reason.contains("corrupt message") {
        return "http: server gave HTTP response to HTTPS client".to_owned();
    }
    reason.to_owned()
}

fn note(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

impl Error {
    /// Returns advice for the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Name { .. } => {
                Some("write it as registry/repository:tag or registry/repository@sha256:…".into())
            }
            Error::Platform { .. } => Some("write it as os/architecture or os/architecture/variant".into()),
            Error::Denied { .. } => Some("log in with `docker login` or `helm registry login`".into()),
            Error::Busy { .. } => Some("wait until the other copy is done".into()),
            Error::Mismatch { .. } => {
                Some("the content was damaged or exchanged on its way; nothing of it was kept".into())
            }
            Error::Shared(error) => error.hint(),
            Error::Transfer { source, .. } => source.hint(),
            _ => None,
        }
    }

    /// What happened, without what was being done and for how many images.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Shared(error) => error.cause(),
            Error::Transfer { source, .. } => source.cause(),
            error => error,
        }
    }

    /// The error with the text of Go's library, for requests with this method.
    pub(crate) fn into_go_error(self, method: &str) -> Error {
        let text = match &self {
            Error::Status { answer, .. } | Error::Denied { answer, .. } if !answer.is_empty() => {
                answer.clone()
            }
            Error::Network { url, reason } => format!("{method} \"{url}\": {}", go_reason(url, reason)),
            _ => return self,
        };
        Error::Transfer { text, source: Box::new(self) }
    }

    /// The same, with what was being done.
    pub(crate) fn while_performing(self, operation: &str, side: &str, method: &str) -> Error {
        match self.into_go_error(method) {
            Error::Transfer { text, source } => {
                let text = format!("failed to perform \"{operation}\" on {side}: {text}");
                Error::Transfer { text, source }
            }
            other => other,
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

/// Whether a status is worth a retry: timeouts, rate limits and server errors.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

#[cfg(test)]
mod tests {
    use super::go_reason;

    #[test]
    fn alerts_are_told_as_go_tells_them() {
        let message = |reason: &str| go_reason("https://r.io:5000/v2/", reason);
        assert_eq!(
            message("received fatal alert: CertificateRequired"),
            "remote error: tls: certificate required"
        );
        assert_eq!(message("something else"), "something else");
    }

    #[test]
    fn ports_and_addresses_are_told_as_go_tells_them() {
        let refused = "Connection refused (os error 111)";
        assert_eq!(go_reason("http://127.0.0.1:99999/v2/", refused), "dial tcp: address 99999: invalid port");
        assert_eq!(
            go_reason("http://127.0.0.1/v2/", refused),
            "dial tcp 127.0.0.1:80: connect: connection refused"
        );
    }
}
