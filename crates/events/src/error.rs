//! What can go wrong when handlers are registered and called.

use std::fmt;

use pintle_tree::likely::likely;

use crate::chart_path::ChartPath;
use crate::event::{ContextField, Event, TABLE, known_names};

/// A result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler was refused, or an operation stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No event has this name.
    #[error("there is no event `{name}`; {}", advice(name))]
    UnknownEvent {
        /// The name.
        name: String,
    },
    /// The event has one implementation of our own.
    #[error("`{event}` is a core event and takes no handlers{}", neighbours(*event))]
    CoreEvent {
        /// The event.
        event: Event,
    },
    /// A weight is outside of 0 to 1.
    #[error("the weight {weight} of a handler for `{event}` is not between 0 and 1")]
    Weight {
        /// The event.
        event: Event,
        /// The weight.
        weight: f64,
    },
    /// A handler failed.
    #[error("the `{event}` handler of {chart} at {place} failed")]
    Handler {
        /// The event.
        event: Event,
        /// Whose handler it is.
        chart: ChartPath,
        /// Where it was registered.
        place: String,
        /// What it said.
        #[source]
        source: HandlerError,
    },
}

/// The event that was probably meant, or all that there are.
fn advice(name: &str) -> String {
    let known = known_names();
    match likely(name, &known) {
        Some(likely) => format!("did you mean `{likely}`?"),
        None => format!("the events are {}", known.join(", ")),
    }
}

/// The events around a core event that do take handlers.
fn neighbours(event: Event) -> String {
    let around: Vec<String> = ["pre", "post"]
        .iter()
        .map(|side| format!("{side}-{event}"))
        .filter(|name| TABLE.iter().any(|entry| entry.name == name))
        .map(|name| format!("`{name}`"))
        .collect();
    if around.is_empty() { String::new() } else { format!("; {} do", around.join(" and ")) }
}

/// Why a handler may not change a part of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The event does not let the part change.
    #[error("`{}` is read-only in `{event}`", part.as_str())]
    ReadOnly {
        /// The part of the context.
        part: ContextField,
        /// The event.
        event: Event,
    },
    /// The part belongs to a chart, and there is none.
    #[error("there is no chart whose `{}` could change", part.as_str())]
    NoChart {
        /// The part of the context.
        part: ContextField,
    },
}

/// What a handler says when it fails.
#[derive(Debug)]
pub struct HandlerError {
    message: String,
    trace: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl HandlerError {
    /// Returns an error that is nothing but a message.
    pub fn new(message: impl Into<String>) -> Self {
        HandlerError { message: message.into(), trace: None, source: None }
    }

    /// Returns an error for another error, whose text it takes.
    pub fn from_error(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        // The text of the outermost error is the message here, so that a chain of causes says it once.
        let message = error.to_string();
        let source = error.source().map(|source| HandlerError::chain(source).into());
        HandlerError { message, trace: None, source }
    }

    /// Copies causes, which are only borrowed, as messages.
    fn chain(error: &(dyn std::error::Error + 'static)) -> HandlerError {
        let source = error.source().map(|source| HandlerError::chain(source).into());
        HandlerError { message: error.to_string(), trace: None, source }
    }

    /// Adds the calls that led to the error, as a script engine tells them.
    #[must_use]
    pub fn with_trace(mut self, trace: impl Into<String>) -> Self {
        self.trace = Some(trace.into());
        self
    }

    /// The calls that led to the error.
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
