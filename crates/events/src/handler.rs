//! The types of handlers and of wrappers around the handlers of subcharts.

use crate::chart_path::ChartPath;
use crate::context::Context;
use crate::error::HandlerError;

/// Handles an event.
pub type Handler = Box<dyn FnMut(&mut Context) -> Result<(), HandlerError> + Send>;

/// Calls the wrapped handler.
pub type Next<'a> = &'a mut dyn FnMut(&mut Context) -> Result<(), HandlerError>;

/// Wraps a handler: it may act before and after, skip the handler, and handle its error.
pub type Wrapper = Box<dyn FnMut(&mut Context, Next<'_>) -> Result<(), HandlerError> + Send>;

/// Identifies a registered handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId(pub(crate) u64);

/// The registration of a handler.
#[derive(Clone, Debug)]
pub struct Registration<'a> {
    /// The name of the event.
    pub event: &'a str,
    /// From 0 (first) to 1 (last).
    pub weight: f64,
    /// The chart of the handler.
    pub chart: ChartPath,
    /// Where the handler is defined, for errors: a file, and a line if known.
    pub location: String,
}

impl Registration<'_> {
    /// The default weight.
    pub const DEFAULT_WEIGHT: f64 = 0.5;
}
