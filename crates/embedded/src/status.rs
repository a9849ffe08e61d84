//! `metav1.Status`: the body of every error answer, with the messages of the real API server.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node, Str};

/// One problem of an object, at one field (`metav1.StatusCause`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusCause {
    /// `FieldValueInvalid`, `FieldValueRequired`, `FieldManagerConflict` …
    pub reason: &'static str,
    /// The message without the field: `Invalid value: "x": must be …`.
    pub message: String,
    /// The field path: `spec.ports[0].port`. May be empty.
    pub field: String,
}

impl StatusCause {
    /// An invalid value (`field.Invalid` in Go). Strings are shown in quotes, other values as JSON.
    pub fn invalid(field: impl Into<String>, value: &Node, detail: &str) -> StatusCause {
        let message = format!("Invalid value: {}{}", format_value(value), detail_suffix(detail));
        StatusCause { reason: "FieldValueInvalid", message, field: field.into() }
    }

    /// A missing value (`field.Required`).
    pub fn required(field: impl Into<String>, detail: &str) -> StatusCause {
        let message = format!("Required value{}", detail_suffix(detail));
        StatusCause { reason: "FieldValueRequired", message, field: field.into() }
    }

    /// A value that must not be set, or a change that is not allowed (`field.Forbidden`).
    pub fn forbidden(field: impl Into<String>, detail: &str) -> StatusCause {
        let message = format!("Forbidden{}", detail_suffix(detail));
        StatusCause { reason: "FieldValueForbidden", message, field: field.into() }
    }

    /// A value that occurs twice (`field.Duplicate`).
    pub fn duplicate(field: impl Into<String>, value: &Node) -> StatusCause {
        let message = format!("Duplicate value: {}", format_value(value));
        StatusCause { reason: "FieldValueDuplicate", message, field: field.into() }
    }

    /// A value that is not in an enumeration (`field.NotSupported`).
    pub fn not_supported(field: impl Into<String>, value: &Node, supported: &[&str]) -> StatusCause {
        let quoted: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let message =
            format!("Unsupported value: {}: supported values: {}", format_value(value), quoted.join(", "));
        StatusCause { reason: "FieldValueNotSupported", message, field: field.into() }
    }

    /// The field path and the message, as in the message of a `Status`.
    pub fn to_message(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }
}

fn detail_suffix(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

/// Formats a value as in the server's messages.
fn format_value(value: &Node) -> String {
    match value {
        Node::Str(text) => format!("{:?}", text.to_str_lossy()),
        other => {
            let text = pintle_tree::json::write_raw(other).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        }
    }
}

/// The details of an error (`metav1.StatusDetails`). Empty fields are not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusDetails {
    /// The name of the object.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The plural of the resource, or its kind where the server uses the kind.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// All problems, in the order of validation.
    pub causes: Vec<StatusCause>,
    /// When the client may retry.
    pub retry_after_seconds: u32,
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// `NotFound`, `Conflict` …; may be empty.
    pub reason: &'static str,
    /// What went wrong.
    pub message: String,
    /// The object and the causes.
    pub details: Option<Box<StatusDetails>>,
}

impl Status {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Status {
        Status { code, reason, message: message.into(), details: None }
    }

    /// The same with details.
    pub fn with_details(mut self, details: StatusDetails) -> Status {
        self.details = Some(Box::new(details));
        self
    }

    /// 400 for a request that cannot be decoded.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::new(400, "BadRequest", message)
    }

    /// 422 for an object that fails validation. `kind` is the kind, not its plural. The message lists a repeated
    /// cause once; `details.causes` lists it as often as it occurs.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<StatusCause>) -> Status {
        let mut known = BTreeSet::new();
        let mut texts: Vec<String> = causes.iter().map(StatusCause::to_message).collect();
        texts.retain(|text| known.insert(text.clone()));
        let what = if let [only] = &texts[..] { only.clone() } else { format!("[{}]", texts.join(", ")) };
        let what = if texts.is_empty() { "<nil>".to_owned() } else { what };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let details = StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..StatusDetails::default()
        };
        Status::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {what}")).with_details(details)
    }

    /// The `Status` object to send.
    pub fn to_object(&self) -> Node {
        let mut map = Map::new();
        map.insert("kind".into(), "Status".into());
        map.insert("apiVersion".into(), "v1".into());
        map.insert("metadata".into(), Node::empty_map());
        map.insert("status".into(), "Failure".into());
        let mut insert_text = |key: &str, text: &str| {
            if !text.is_empty() {
                map.insert(key.into(), text.into());
            }
        };
        insert_text("message", &self.message);
        insert_text("reason", self.reason);
        if let Some(details) = &self.details {
            map.insert("details".into(), details.to_object());
        }
        map.insert("code".into(), Node::Int(i64::from(self.code)));
        Node::Map(map)
    }
}

impl StatusDetails {
    fn to_object(&self) -> Node {
        let mut map = Map::new();
        let texts = [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            map.insert(key.into(), text.as_str().into());
        }
        if !self.causes.is_empty() {
            map.insert("causes".into(), Node::List(self.causes.iter().map(cause_to_object).collect()));
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".into(), Node::Int(i64::from(self.retry_after_seconds)));
        }
        Node::Map(map)
    }
}

fn cause_to_object(cause: &StatusCause) -> Node {
    let texts =
        [("reason", cause.reason), ("message", cause.message.as_str()), ("field", cause.field.as_str())];
    let entries = texts.into_iter().filter(|(_, text)| !text.is_empty());
    Node::Map(entries.map(|(key, text)| (Str::from(key), Node::from(text))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_causes_are_bracketed_and_one_is_not() {
        let one = StatusCause::required("spec.containers", "");
        let other = StatusCause::invalid("metadata.name", &"A".into(), "must be lower case");
        let status = Status::invalid("", "Pod", "A", vec![other.clone(), one.clone()]);
        assert_eq!(
            status.message,
            r#"Pod "A" is invalid: [metadata.name: Invalid value: "A": must be lower case, spec.containers: Required value]"#
        );
        let status = Status::invalid("apps", "Deployment", "a", vec![one]);
        assert_eq!(status.message, r#"Deployment.apps "a" is invalid: spec.containers: Required value"#);
    }
}
