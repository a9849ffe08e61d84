//! Errors as the page gets them: what, why, where, and what to do.

use std::fmt::Write as _;

use pintle::release::Lease;
use pintle::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::app::Settings;
use crate::json::lease;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a request is refused or an operation failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) place: Option<Box<str>>,
    pub(crate) command: Option<Box<str>>,
    pub(crate) lease: Option<Box<Lease>>,
}

impl Failure {
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { status, kind, message, hint: None, place: None, command: None, lease: None }
    }

    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::new(400, "invalid-input", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(404, "not-found", message)
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Failure {
        Failure { hint: Some(hint.into()), ..self }
    }

    /// The error of an operation, with the hint that the program has for it.
    pub(crate) fn of(error: &Error, settings: &Settings) -> Failure {
        let (status, kind) = class(error);
        let hint = (settings.hints)(error).or_else(|| usual_hint(kind).map(str::to_owned));
        let lease = match error {
            Error::Pending { lease } => lease.clone(),
            _ => None,
        };
        Failure { hint, lease, ..Failure::new(status, kind, text(error)) }
    }

    pub(crate) fn json(&self) -> Value {
        let Failure { kind, message, hint, place, command, lease: held, .. } = self;
        json!({"error": {"kind": kind, "message": message, "hint": hint, "where": place, "command": command,
            "lease": held.as_deref().map(lease)}})
    }
}

/// The status and the word of an error.
fn class(error: &Error) -> (u16, &'static str) {
    if matches!(error, Error::StalePlan { .. }) {
        return (409, "stale-plan");
    }
    match error.kind() {
        ErrorKind::InvalidInput => (400, "invalid-input"),
        ErrorKind::InvalidChart => (422, "invalid-chart"),
        ErrorKind::NotFound => (404, "not-found"),
        ErrorKind::Conflict => (409, "conflict"),
        ErrorKind::Locked => (423, "locked"),
        ErrorKind::Forbidden => (403, "forbidden"),
        ErrorKind::Unreachable => (503, "unreachable"),
        ErrorKind::Cancelled => (499, "cancelled"),
        _ => (500, "other"),
    }
}

fn usual_hint(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "forbidden" => "ask an administrator of the cluster for this right",
        "unreachable" => "the view reconnects by itself when the cluster is back",
        "locked" => "wait until the other operation ends, or see `pintle unlock`",
        "stale-plan" => "make the plan again and look at what has changed",
        _ => return None,
    })
}

/// The longest text of an error. Errors of charts can quote all of a template.
const MAX_TEXT: usize = 16 << 10;

/// The error and its causes, as the command line prints them.
fn text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            let _ = write!(text, ": {next}");
        }
        cause = error.source();
    }
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
