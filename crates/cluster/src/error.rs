//! What can go wrong between us and Kubernetes, in the words that Go's client uses for it.

use std::time::Duration;

use pintle_objects::{Object, ObjectError};
use pintle_tree::{Node, json};

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
    /// The request did not reach the server, or its answer did not reach us.
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
    Name(String),
    /// The server's answer is no object.
    #[error("the server's answer to {request} cannot be read")]
    Answer {
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
    While {
        /// What was being done, in Helm's words.
        doing: String,
        /// What went wrong.
        #[source]
        source: Box<Error>,
    },
    /// Several things went wrong side by side.
    #[error("{}", joined(.errors, .separator))]
    Several {
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
            Error::Unreachable(source) | Error::While { source, .. } => source.is_transport(),
            _ => false,
        }
    }

    /// The server's refusal, wherever it is wrapped.
    pub fn status(&self) -> Option<&ApiStatus> {
        match self {
            Error::Api(status) => Some(status),
            Error::Unreachable(source) | Error::While { source, .. } => source.status(),
            _ => None,
        }
    }

    /// Says what was being done when this happened.
    #[must_use]
    pub fn during(self, doing: impl Into<String>) -> Self {
        Error::While { doing: doing.into(), source: Box::new(self) }
    }

    /// Joins errors into one; none when there are none, and one stays itself.
    pub fn several(mut errors: Vec<Error>, separator: &'static str) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Error::Several { errors, separator }),
        }
    }

    pub(crate) fn answer(request: impl Into<String>, source: ObjectError) -> Self {
        Error::Answer { request: request.into(), source: Box::new(source) }
    }
}

/// A refusal by the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiStatus {
    /// The HTTP status.
    pub code: u16,
    /// The reason in one word, such as `NotFound`; empty when the server gave none.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// The group of the kind that the refusal is about.
    pub group: String,
    /// The kind or resource that the refusal is about.
    pub kind: String,
    /// The name of the object that the refusal is about.
    pub name: String,
    /// The details.
    pub causes: Vec<Cause>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// One detail of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The reason in one word, such as `FieldManagerConflict`.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
    /// The field that the detail is about.
    pub field: String,
}

impl ApiStatus {
    /// Reads the body of a refusal; whatever is no `Status` becomes one in Go's words.
    pub fn read(code: u16, body: &[u8]) -> Self {
        let read = json::read_exact(body).ok().and_then(|node| match node {
            Node::Map(map) => Some(Object::new(map)),
            _ => None,
        });
        match read {
            Some(object) if object.kind() == "Status" => Self::of(code, &object),
            _ => Self::unstructured(code, body),
        }
    }

    /// Takes a `Status` object as a refusal.
    pub fn of(code: u16, status: &Object) -> Self {
        let detail = |field| status.text(&["details", field]).to_owned();
        let causes = status.at(&["details", "causes"]).and_then(Node::as_list).unwrap_or_default();
        let word = |node: &Node, key| node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let seconds = status.int(&["details", "retryAfterSeconds"]).filter(|seconds| *seconds > 0);
        ApiStatus {
            code: status.int(&["code"]).and_then(|code| u16::try_from(code).ok()).unwrap_or(code),
            reason: status.text(&["reason"]).to_owned(),
            message: status.text(&["message"]).to_owned(),
            group: detail("group"),
            kind: detail("kind"),
            name: detail("name"),
            causes: causes
                .iter()
                .map(|cause| Cause {
                    reason: word(cause, "reason"),
                    message: word(cause, "message"),
                    field: word(cause, "field"),
                })
                .collect(),
            retry_after: seconds.map(|seconds| Duration::from_secs(seconds.unsigned_abs())),
        }
    }

    /// What Go makes of an answer without a `Status`.
    fn unstructured(code: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&body[..body.len().min(2048)]).trim().to_owned();
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
            403 => ("Forbidden", ""),
            404 => ("NotFound", "the server could not find the requested resource"),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
            406 => ("NotAcceptable", ""),
            409 => ("Conflict", "the server reported a conflict"),
            410 => ("Gone", ""),
            415 => ("UnsupportedMediaType", ""),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            500.. => ("InternalError", ""),
            _ => ("", ""),
        };
        let message = match (message.is_empty(), text.is_empty(), code) {
            (false, ..) => message.to_owned(),
            (true, false, code) if code >= 500 => {
                format!("an error on the server ({text:?}) has prevented the request from succeeding")
            }
            (true, false, _) => text,
            (true, true, code) => format!("the server responded with the status code {code}"),
        };
        ApiStatus { code, reason: reason.to_owned(), message, ..ApiStatus::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_its_reason_details_and_causes() {
        let body = br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Conflict",
            "details":{"group":"apps","kind":"deployments","name":"web","retryAfterSeconds":3,
            "causes":[{"reason":"FieldManagerConflict","message":"m","field":".spec.replicas"}]},"code":409}"#;
        let status = ApiStatus::read(409, body);
        assert_eq!(status.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(status.causes[0].field, ".spec.replicas");
        assert!(Error::Api(Box::new(status)).during("doing").is_conflict());
    }

    #[test]
    fn an_answer_that_is_no_status_gets_words_from_its_code() {
        assert_eq!(ApiStatus::read(404, b"404 page not found").reason, "NotFound");
        assert!(ApiStatus::read(502, b"bad gateway").message.contains("bad gateway"));
        assert_eq!(ApiStatus::read(599, b"").code, 599);
    }
}
