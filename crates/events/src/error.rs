//! Errors of registering and calling handlers.

use std::fmt;

use pintle_tree::suggest::suggest;

use crate::chart_path::ChartPath;
use crate::event::{ContextField, Event, TABLE, known_names};

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler was rejected, or an operation was stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such event.
    #[error("there is no event `{name}`; {}", advice(name))]
    UnknownEvent {
        /// The name.
        name: String,
    },
    /// The event is a core event.
    #[error("`{event}` is a core event and takes no handlers{}", neighbours(*event))]
    CoreEvent {
        /// The event.
        event: Event,
    },
    /// A weight is not between 0 and 1.
    #[error("the weight {weight} of a handler for `{event}` is not between 0 and 1")]
    Weight {
        /// The event.
        event: Event,
        /// The weight.
        weight: f64,
    },
    /// A handler failed.
    #[error("the `{event}` handler of {chart} at {location} failed")]
    Handler {
        /// The event.
        event: Event,
        /// The chart of the handler.
        chart: ChartPath,
        /// Where the handler is defined.
        location: String,
        /// The handler's error.
        #[source]
        source: HandlerError,
    },
}

/// Suggests the most similar event, or lists all events.
fn advice(name: &str) -> String {
    let known = known_names();
    match suggest(name, &known) {
        Some(likely) => format!("did you mean `{likely}`?"),
        None => format!("the events are {}", known.join(", ")),
    }
}

/// The pre and post events of a core event.
fn neighbours(event: Event) -> String {
    let around: Vec<String> = ["pre", "post"]
        .iter()
        .map(|side| format!("{side}-{event}"))
        .filter(|name| TABLE.iter().any(|entry| entry.name == name))
        .map(|name| format!("`{name}`"))
        .collect();
    if around.is_empty() { String::new() } else { format!("; {} do", around.join(" and ")) }
}

/// Why a handler may not change a field of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The field is read-only at this event.
    #[error("`{}` is read-only in `{event}`", part.as_str())]
    ReadOnly {
        /// The part of the context.
        part: ContextField,
        /// The event.
        event: Event,
    },
    /// The field belongs to a chart, and there is none.
    #[error("`{}` cannot be changed: there is no chart", part.as_str())]
    NoChart {
        /// The part of the context.
        part: ContextField,
    },
}

/// The error of a handler.
#[derive(Debug)]
pub struct HandlerError {
    message: String,
    trace: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl HandlerError {
    /// Returns an error with a message.
    pub fn new(message: impl Into<String>) -> Self {
        HandlerError { message: message.into(), trace: None, source: None }
    }

    /// Converts another error.
    pub fn from_error(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        // The message of the outermost error is taken over, so that printing the chain does not repeat it.
        let message = error.to_string();
        let source = error.source().map(|source| HandlerError::chain(source).into());
        HandlerError { message, trace: None, source }
    }

    /// Copies borrowed causes as messages.
    fn chain(error: &(dyn std::error::Error + 'static)) -> HandlerError {
        let source = error.source().map(|source| HandlerError::chain(source).into());
        HandlerError { message: error.to_string(), trace: None, source }
    }

    /// Adds the stack trace of a script.
    #[must_use]
    pub fn with_trace(mut self, trace: impl Into<String>) -> Self {
        self.trace = Some(trace.into());
        self
    }

    /// The stack trace of a script.
    pub fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for HandlerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<ContextError> for HandlerError {
    fn from(error: ContextError) -> Self {
        HandlerError::from_error(error)
    }
}
