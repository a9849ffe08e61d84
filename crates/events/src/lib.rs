//! When a chart may act: the table of lifecycle events and the emitter.
//!
//! An operation goes through stages; between them it emits events, and handlers that charts or programs have
//! registered answer. [`Event`] is the table of all events: when each fires and what its handlers may change.
//! [`Context`] is what a handler sees, and it lets handlers change only that. [`Emitter`] calls handlers in an order
//! that depends on nothing but their weights, their charts and the order of registration.
//!
//! This room knows no script language and no cluster, and it decides nothing about operations: who emits brings the
//! context and takes back what was changed.
//!
//! Enter at [`Emitter::on`] and [`Emitter::emit`].
//!
//! ```
//! use pintle_events::{ChartPath, Context, Emitter, Event, Registration};
//!
//! let mut emitter = Emitter::new();
//! emitter.on(
//!     Registration { event: "pre-render", weight: 0.5, chart: ChartPath::program(), place: "main.rs".into() },
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
