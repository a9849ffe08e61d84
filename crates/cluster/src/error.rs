//! Errors of the cluster client. Messages match those of client-go, because users and scripts know them.

use pintle_objects::{Object, ObjectError};
use pintle_plan::{FieldConflict, recreation};

pub use crate::status::{ApiStatus, StatusCause};

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request or the connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster cannot be reached.
    #[error("kubernetes cluster unreachable: {0}")]
    Unreachable(#[source] Box<Error>),
    /// The kubeconfig or a flag is invalid.
    #[error("{0}")]
    Configuration(String),
    /// The request did not reach the server, or its response did not reach us.
    #[error("{verb} {url:?}: {cause}")]
    Transport {
        /// The method as Go names it: `Get`, `Post`.
        verb: String,
        /// The full URL.
        url: String,
        /// The reason, as Go's `net/http` words it.
        cause: String,
        /// Whether the server may have processed the request.
        sent: bool,
    },
    /// A credential plugin failed.
    #[error("Get {url:?}: getting credentials: {cause}")]
    Credentials {
        /// The URL that the credentials were for.
        url: String,
        /// The reason, as client-go words it.
        cause: String,
        /// What the plugin wrote to stderr; may be empty.
        stderr: String,
    },
    /// The server rejected the request.
    #[error("{0}")]
    Api(Box<ApiStatus>),
    /// The server knows no such kind.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoSuchKind {
        /// The requested API version.
        api_version: String,
        /// The requested kind.
        kind: String,
    },
    /// An object of a manifest is of a kind that the server does not serve.
    #[error(
        "resource mapping not found for name: {name:?} namespace: {namespace:?} from \"\": no matches for kind {kind:?} in version {api_version:?}\nensure CRDs are installed first"
    )]
    NoMapping {
        /// The name of the object.
        name: String,
        /// The namespace that the manifest gives it.
        namespace: String,
        /// The requested API version.
        api_version: String,
        /// The requested kind.
        kind: String,
    },
    /// A name or namespace that cannot be used in a request.
    #[error("{0}")]
    InvalidRequest(String),
    /// `lookup` of a kind whose API version the server does not serve.
    #[error("unable to get apiresource from unstructured: {group}/{version}, Kind={kind}: {reason}")]
    UnservedVersion {
        /// The API group; empty for the core group.
        group: String,
        /// The version.
        version: String,
        /// The kind.
        kind: String,
        /// Why there is none.
        reason: &'static str,
    },
    /// The server sends more than is read, or leads in circles.
    #[error("{request}: {reason}")]
    TooMuch {
        /// The request.
        request: String,
        /// What there is too much of.
        reason: String,
    },
    /// The response is not a Kubernetes object.
    #[error("cannot decode the response to {request}")]
    InvalidResponse {
        /// Method and path of the request.
        request: String,
        /// The error of the parser.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The patch between two objects cannot be computed.
    #[error("{0}")]
    Patch(#[source] Box<pintle_plan::patch::PatchError>),
    /// The `managedFields` of an object cannot be rewritten.
    #[error("{0}")]
    Fields(#[source] pintle_plan::managed_fields::Error),
    /// An error with the operation that was under way.
    #[error("{doing}: {source}")]
    Context {
        /// The operation, in Helm's wording.
        doing: String,
        /// What went wrong.
        #[source]
        source: Box<Error>,
    },
    /// Several operations failed.
    #[error("{}", joined(.errors, .separator))]
    Aggregate {
        /// The errors in the order of the objects.
        errors: Vec<Error>,
        /// What is printed between the messages.
        separator: &'static str,
    },
}

fn joined(errors: &[Error], separator: &str) -> String {
    errors.iter().map(Error::to_string).collect::<Vec<_>>().join(separator)
}

impl Error {
    /// Whether the object, or its kind, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404 || status.reason == "NotFound")
    }

    /// Whether another writer changed the object, or owns a field of it.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| {
            // The code alone is ambiguous: AlreadyExists is 409 too.
            status.reason == "Conflict" || (status.code == 409 && status.reason != "AlreadyExists")
        })
    }

    /// Whether the object to create exists already.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// Whether RBAC or admission forbids the request.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| status.code == 403 || status.reason == "Forbidden")
    }

    /// Whether the server considers the object invalid.
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(|status| status.code == 422 || status.reason == "Invalid")
    }

    /// Whether the `resourceVersion` or `continue` token of a list or watch has expired.
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

    /// The `Status` of the server, however deep it is wrapped.
    pub fn status(&self) -> Option<&ApiStatus> {
        match self {
            Error::Api(status) => Some(status),
            Error::Unreachable(source) | Error::Context { source, .. } => source.status(),
            _ => None,
        }
    }

    /// The fields that other managers own, when a server-side apply was rejected for them.
    pub fn field_conflicts(&self) -> Vec<FieldConflict> {
        let causes: &[StatusCause] = self.status().map_or(&[], |status| &status.causes);
        let conflicts = causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
        conflicts.map(|cause| FieldConflict::from_cause(&cause.field, &cause.message)).collect()
    }

    /// The immutable fields that a rejected update would have changed; see [`recreation::immutable_fields`].
    pub fn immutable_fields(&self, live: Option<&Object>, desired: Option<&Object>) -> Vec<String> {
        let causes: &[StatusCause] = match self.status() {
            Some(status) if self.is_invalid() => &status.causes,
            _ => &[],
        };
        let causes = causes.iter().map(|cause| (cause.field.as_str(), cause.message.as_str()));
        recreation::immutable_fields(causes, live, desired)
    }

    /// Adds the operation that was under way.
    #[must_use]
    pub fn during(self, doing: impl Into<String>) -> Self {
        Error::Context { doing: doing.into(), source: Box::new(self) }
    }

    /// Combines errors: `None` for none, and a single error is returned as it is.
    pub fn aggregate(mut errors: Vec<Error>, separator: &'static str) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Error::Aggregate { errors, separator }),
        }
    }

    pub(crate) fn too_much(request: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::TooMuch { request: request.into(), reason: reason.into() }
    }

    pub(crate) fn invalid_response(request: impl Into<String>, source: ObjectError) -> Self {
        Error::InvalidResponse { request: request.into(), source: Box::new(source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_below_added_context() {
        let conflict =
            ApiStatus { code: 409, reason: "Conflict".into(), message: "no".into(), ..Default::default() };
        let error = Error::Api(Box::new(conflict)).during("doing");
        assert!(error.is_conflict() && !error.is_already_exists());
        assert_eq!(error.to_string(), "doing: no");
        let both = Error::aggregate(vec![error, Error::InvalidRequest("b".into())], " && ").expect("two");
        assert_eq!(both.to_string(), "doing: no && b");
    }
}
