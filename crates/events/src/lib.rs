//! Lifecycle events: the table of events and the emitter.
//!
//! Operations emit events between their stages, and handlers of charts or programs respond. [`Event`] lists all
//! events: when each is emitted and what its handlers may change. [`Context`] is what a handler sees, and enforces
//! that. [`Emitter`] calls handlers in an order that depends only on their weights, their charts and the order of
//! registration.
//!
//! This crate knows no script language and no cluster, and does not control operations: the caller provides the
//! context and reads the changes back.
//!
//! Start at [`Emitter::on`] and [`Emitter::emit`].
//!
//! ```
//! use pintle_events::{ChartPath, Context, Emitter, Event, Registration};
//!
//! let mut emitter = Emitter::new();
//! emitter.on(
//!     Registration { event: "pre-render", weight: 0.5, chart: ChartPath::program(), location: "main.rs".into() },
//!     Box::new(|context| {
//!         context.values_mut()?.insert("replicas".into(), 3.into());
//!         Ok(())
//!     }),
//! )?;
//! let mut context = Context::default();
//! emitter.emit(Event::PreRender, &mut context)?;
//! assert_eq!(context.all_values().len(), 1);
//! # Ok::<(), pintle_events::Error>(())
//! ```

mod chart_path;
mod context;
mod emitter;
mod error;
mod event;
mod handler;
mod info;

pub use chart_path::ChartPath;
pub use context::{ChartContext, Context};
pub use emitter::{Emitter, Subchart};
pub use error::{ContextError, Error, HandlerError, Result};
pub use event::{ContextField, Entry, Event, TABLE};
pub use handler::{Handler, HandlerId, Next, Registration, Wrapper};
pub use info::{
    CapabilityInfo, ChartInfo, Dependency, Maintainer, ReadinessInfo, ReleaseInfo, RenderedObject, SourceFile,
};
