//! The `Status` of rejected requests, with client-go's messages for responses that carry none.

use std::time::Duration;

use pintle_objects::Object;
use pintle_tree::{Node, json};

/// A rejected request: Kubernetes' `metav1.Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiStatus {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty when the server gave none.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The API group of the object concerned.
    pub group: String,
    /// The kind or resource of the object concerned.
    pub kind: String,
    /// The name of the object concerned.
    pub name: String,
    /// The details, one for each invalid field or conflict.
    pub causes: Vec<StatusCause>,
    /// How long to wait before retrying (`Retry-After`).
    pub retry_after: Option<Duration>,
}

/// One detail of a rejected request: `metav1.StatusCause`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusCause {
    /// The machine-readable reason, such as `FieldManagerConflict`.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The path of the field concerned.
    pub field: String,
}

impl ApiStatus {
    /// Parses the body of an error response. Anything but a `Status` gets client-go's generic message for its code.
    pub fn parse(code: u16, body: &[u8]) -> Self {
        Self::parse_status(code, body).unwrap_or_else(|| Self::generic(code, &excerpt(body)))
    }

    /// As [`ApiStatus::parse`], but shows nothing of a body that is no `Status`: the server may be none of Kubernetes', and its
    /// answer not meant for whoever chose the address.
    pub(crate) fn parse_untrusted(code: u16, body: &[u8]) -> Self {
        Self::parse_status(code, body).unwrap_or_else(|| Self::generic(code, &excerpt(b"")))
    }

    fn parse_status(code: u16, body: &[u8]) -> Option<Self> {
        match json::read_exact(body).ok()? {
            Node::Map(map) => {
                let object = Object::new(map);
                (object.kind() == "Status").then(|| Self::from_object(code, &object))
            }
            _ => None,
        }
    }

    /// Converts a `Status` object.
    pub fn from_object(code: u16, status: &Object) -> Self {
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
                .map(|cause| StatusCause {
                    reason: word(cause, "reason"),
                    message: word(cause, "message"),
                    field: word(cause, "field"),
                })
                .collect(),
            retry_after: seconds.map(|seconds| Duration::from_secs(seconds.unsigned_abs())),
        }
    }

    /// client-go's `NewGenericServerResponse`: the reason and message for a code without a usable body.
    pub fn generic(code: u16, server_message: &str) -> Self {
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
            403 => ("Forbidden", server_message),
            404 => ("NotFound", "the server could not find the requested resource"),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
            406 if matches!(server_message, "" | "unknown") => (
                "NotAcceptable",
                "the server was unable to respond with a content type that the client supports",
            ),
            406 => ("NotAcceptable", server_message),
            409 => ("Conflict", "the server reported a conflict"),
            415 => ("UnsupportedMediaType", server_message),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => (
                "Timeout",
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ),
            500.. => ("InternalError", ""),
            _ => ("", ""),
        };
        let message = match (message, code) {
            ("", 500..) => {
                format!(
                    "an error on the server ({server_message:?}) has prevented the request from succeeding"
                )
            }
            ("", _) => format!(
                "the server responded with the status code {code} but did not return more information"
            ),
            (message, _) => message.to_owned(),
        };
        ApiStatus { code, reason: reason.to_owned(), message, ..ApiStatus::default() }
    }
}

/// The beginning of a body that is not a `Status`, as client-go quotes it.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(2048)]).trim().to_owned();
    if text.is_empty() { "unknown".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_server_that_is_not_kubernetes_is_quoted_only_if_it_is_trusted() {
        for code in [403, 406, 415, 500] {
            assert!(ApiStatus::parse(code, b"the secret of an internal service").message.contains("secret"));
            let hidden = ApiStatus::parse_untrusted(code, b"the secret of an internal service");
            assert!(!hidden.message.contains("secret") && hidden.code == code, "{hidden:?}");
        }
        let body = br#"{"kind":"Status","message":"no","reason":"Forbidden","code":403}"#;
        assert_eq!(ApiStatus::parse_untrusted(403, body), ApiStatus::parse(403, body));
    }

    #[test]
    fn a_status_keeps_its_reason_details_and_causes() {
        let body = br#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Conflict",
            "details":{"group":"apps","kind":"deployments","name":"web","retryAfterSeconds":3,
            "causes":[{"reason":"FieldManagerConflict","message":"m","field":".spec.replicas"}]},"code":409}"#;
        let status = ApiStatus::parse(409, body);
        assert_eq!(status.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(status.causes[0].field, ".spec.replicas");
    }

    #[test]
    fn a_response_without_status_gets_the_generic_message_of_its_code() {
        assert_eq!(ApiStatus::parse(404, b"404 page not found").reason, "NotFound");
        assert!(ApiStatus::parse(502, b"bad gateway").message.contains("bad gateway"));
        assert_eq!(ApiStatus::parse(599, b"").code, 599);
        assert_eq!(
            ApiStatus::generic(401, "unknown").message,
            "the server has asked for the client to provide credentials"
        );
    }
}
