//! The types of handlers, and of what a parent chart may put around those of its subcharts.

use crate::chart_path::ChartPath;
use crate::context::Context;
use crate::error::HandlerError;

/// Answers an event.
pub type Handler = Box<dyn FnMut(&mut Context) -> Result<(), HandlerError> + Send>;

/// Calls what a wrapper is wrapped around.
pub type Next<'a> = &'a mut dyn FnMut(&mut Context) -> Result<(), HandlerError>;

/// Stands around a handler: it may act before and after, call the handler or not, and answer for its error.
pub type Wrapper = Box<dyn FnMut(&mut Context, Next<'_>) -> Result<(), HandlerError> + Send>;

/// Names a registered handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId(pub(crate) u64);

/// What a handler says about itself when it is registered.
#[derive(Clone, Debug)]
pub struct Registration<'a> {
    /// The name of the event.
    pub event: &'a str,
    /// From 0, which goes first, to 1. [`Registration::MIDDLE`] for those who do not care.
    pub weight: f64,
    /// Whose handler it is.
    pub chart: ChartPath,
    /// Where the handler is written, for errors: a file, and a line if that is known.
    pub place: String,
}

impl Registration<'_> {
    /// The weight of handlers that do not care.
    pub const MIDDLE: f64 = 0.5;
}
