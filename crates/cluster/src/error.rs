//! What can go wrong between us and Kubernetes, in the words that Go's client uses for it.

use pintle_objects::ObjectError;

pub use crate::status::{ApiStatus, StatusCause};

/// What the operations of this room return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request, or the connection, did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no way to the cluster.
    #[error("kubernetes cluster unreachable: {0}")]
    Unreachable(#[source] Box<Error>),
    /// The configuration cannot be used.
    #[error("{0}")]
    Configuration(String),
    /// The request did not reach the server, or its invalid_response did not reach us.
    #[error("{verb} {url:?}: {cause}")]
    Transport {
        /// The method as Go names it: `Get`, `Post`.
        verb: String,
        /// The whole address.
        url: String,
        /// What went wrong, as Go says it.
        cause: String,
        /// Whether the server may have seen the request.
        sent: bool,
    },
    /// A program that was to give credentials did not.
    #[error("Get {url:?}: getting credentials: {cause}")]
    Credentials {
        /// The address that they were for.
        url: String,
        /// What went wrong, as Go says it.
        cause: String,
        /// What the program said to its user; may be empty.
        stderr: String,
    },
    /// The server refused.
    #[error("{0}")]
    Api(Box<ApiStatus>),
    /// The server knows no such kind.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoSuchKind {
        /// The API version asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
    /// An object of a manifest is of a kind that the server does not know.
    #[error(
        "resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": no matches for kind {kind:?} in version {api_version:?}\nensure CRDs are installed first"
    )]
    NoMapping {
        /// The name of the object.
        name: String,
        /// The namespace that the manifest gives it.
        namespace: String,
        /// The API version asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
    /// A name that cannot be part of an address.
    #[error("{0}")]
    InvalidRequest(String),
    /// The server's invalid_response is no object.
    #[error("the server's answer to {request} cannot be read")]
    InvalidResponse {
        /// Method and path of the request.
        request: String,
        /// What the reader said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no patch from one object to the other.
    #[error("{0}")]
    Patch(#[source] Box<pintle_plan::patch::PatchError>),
    /// The owners of an object's fields cannot be changed.
    #[error("{0}")]
    Fields(#[source] pintle_plan::managed_fields::Error),
    /// Another error with a word on what was being done.
    #[error("{doing}: {source}")]
    Context {
        /// What was being done, in Helm's words.
        doing: String,
        /// What went wrong.
        #[source]
        source: Box<Error>,
    },
    /// Aggregate things went wrong side by side.
    #[error("{}", joined(.errors, .separator))]
    Aggregate {
        /// The errors in the order of the objects.
        errors: Vec<Error>,
        /// What stands between them.
        separator: &'static str,
    },
}

fn joined(errors: &[Error], separator: &str) -> String {
    errors.iter().map(Error::to_string).collect::<Vec<_>>().join(separator)
}

impl Error {
    /// Whether the object, or the kind, is not there.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404 || status.reason == "NotFound")
    }

    /// Whether somebody else changed the object meanwhile, or owns a field of it.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| {
            status.reason == "Conflict" || (status.code == 409 && status.reason != "AlreadyExists")
        })
    }

    /// Whether the object to be made is there already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// Whether we may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| status.code == 403 || status.reason == "Forbidden")
    }

    /// Whether the server finds the object wrong.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(|status| status.code == 422 || status.reason == "Invalid")
    }

    /// Whether a list or watch started from a state that the server has forgotten.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.code == 410)
    }

    /// Whether the connection failed rather than the request.
    pub fn is_transport(&self) -> bool {
        match self {
            Error::Transport { .. } => true,
            Error::Unreachable(source) | Error::Context { source, .. } => source.is_transport(),
            _ => false,
        }
    }

    /// The server's refusal, wherever it is wrapped.
    pub fn status(&self) -> Option<&ApiStatus> {
        match self {
            Error::Api(status) => Some(status),
            Error::Unreachable(source) | Error::Context { source, .. } => source.status(),
            _ => None,
        }
    }

    /// Says what was being done when this happened.
    #[must_use]
    pub fn during(self, doing: impl Into<String>) -> Self {
        Error::Context { doing: doing.into(), source: Box::new(self) }
    }

    /// Joins errors into one; none when there are none, and one stays itself.
    pub fn aggregate(mut errors: Vec<Error>, separator: &'static str) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Error::Aggregate { errors, separator }),
        }
    }

    pub(crate) fn invalid_response(request: impl Into<String>, source: ObjectError) -> Self {
        Error::InvalidResponse { request: request.into(), source: Box::new(source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_known_below_what_was_being_done() {
        let conflict =
            ApiStatus { code: 409, reason: "Conflict".into(), message: "no".into(), ..Default::default() };
        let error = Error::Api(Box::new(conflict)).during("doing");
        assert!(error.is_conflict() && !error.is_already_exists());
        assert_eq!(error.to_string(), "doing: no");
        let both = Error::aggregate(vec![error, Error::InvalidRequest("b".into())], " && ").expect("two");
        assert_eq!(both.to_string(), "doing: no && b");
    }
}
