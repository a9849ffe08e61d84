//! The handlers of lifecycle events, and how operations emit to them.
//!
//! Only `prepare` and `deploy` emit events, between their stages. `context` builds what handlers see; `sources`
//! (values, files, templates) and `objects` apply what they changed. All of it is skipped for events without
//! handlers.

pub(crate) mod context;
pub(crate) mod discarded;
#[cfg(all(feature = "lua", feature = "registry"))]
pub(crate) mod network;
pub(crate) mod objects;
#[cfg(feature = "cluster")]
pub(crate) mod record_metadata;
#[cfg(feature = "lua")]
mod script_log;
#[cfg(feature = "lua")]
pub(crate) mod scripts;
#[cfg(not(feature = "lua"))]
#[path = "lifecycle/no_scripts.rs"]
pub(crate) mod scripts;
#[cfg(feature = "cluster")]
pub(crate) mod secrets;
pub(crate) mod sources;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_events::{
    ChartPath, Context, Emitter, Event, Handler, HandlerError, HandlerId, Registration, TABLE,
};
#[cfg(feature = "lua")]
use pintle_lua::Permissions;

#[cfg(feature = "cluster")]
use crate::Error;
use crate::Result;
#[cfg(feature = "lua")]
use script_log::ScriptLog;
#[cfg(feature = "lua")]
use scripts::Scripting;

/// The handlers of lifecycle events. A clone is cheap and has the same handlers.
///
/// A handler runs while all others wait, so it must not start an operation with the handlers that it belongs to.
///
/// ```
/// use pintle::Lifecycle;
/// use pintle::events::Event;
///
/// let lifecycle = Lifecycle::default();
/// lifecycle.on_event(Event::PreRender, |context| {
///     context.values_mut()?.insert("replicaCount".into(), 3.into());
///     Ok(())
/// })?;
/// # Ok::<(), pintle::events::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Lifecycle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    emitter: Mutex<Emitter>,
    /// One bit per event that has handlers, so that [`Lifecycle::listens`] takes no lock, even while a handler runs.
    listened: AtomicU64,
    /// How scripts of charts are run; `None` ignores them.
    #[cfg(feature = "lua")]
    scripting: Option<Scripting>,
    /// Buffers the log of scripts until the operation's reporter is available; `None` if the services have a
    /// listener.
    #[cfg(feature = "lua")]
    script_log: Option<Arc<ScriptLog>>,
    /// The handlers of the program, before those of a chart's scripts were added.
    #[cfg(feature = "lua")]
    program: Option<Lifecycle>,
    /// The permissions that were granted to the scripts of the chart.
    #[cfg(feature = "lua")]
    #[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "only releases record it"))]
    granted: Permissions,
}

// `listened` has one bit per event.
const _: () = assert!(TABLE.len() <= 64);

impl Lifecycle {
    /// Uses the handlers of an emitter.
    pub fn new(emitter: Emitter) -> Lifecycle {
        Lifecycle::of(Shared { emitter: Mutex::new(emitter), ..Shared::default() })
    }

    fn of(mut shared: Shared) -> Lifecycle {
        let emitter = shared.emitter.get_mut().unwrap_or_else(PoisonError::into_inner);
        shared.listened = AtomicU64::new(listened(emitter));
        Lifecycle(Arc::new(shared))
    }

    /// Registers a handler.
    ///
    /// # Errors
    /// When there is no such event, when it is a core event, or when the weight is not between 0 and 1.
    pub fn on(&self, registration: Registration<'_>, handler: Handler) -> pintle_events::Result<HandlerId> {
        self.register(|emitter| emitter.on(registration, handler))
    }

    /// Registers a handler of the program with the default weight. At the same weight, the handlers of charts run first.
    ///
    /// # Errors
    /// When it is a core event, which has no handlers.
    #[track_caller]
    pub fn on_event(
        &self,
        event: Event,
        handler: impl FnMut(&mut Context) -> Result<(), HandlerError> + Send + 'static,
    ) -> pintle_events::Result<HandlerId> {
        let location = std::panic::Location::caller().to_string();
        let (weight, chart) = (Registration::DEFAULT_WEIGHT, ChartPath::program());
        self.on(Registration { event: event.as_str(), weight, chart, location }, Box::new(handler))
    }

    /// Registers, mutes, wraps or removes any number of handlers.
    pub fn register<T>(&self, change: impl FnOnce(&mut Emitter) -> T) -> T {
        let mut emitter = self.emitter();
        let answer = change(&mut emitter);
        self.0.listened.store(listened(&emitter), Ordering::Release);
        answer
    }

    /// Returns whether no event has handlers.
    pub fn is_empty(&self) -> bool {
        self.0.listened.load(Ordering::Acquire) == 0
    }

    /// Returns whether an event has handlers.
    pub fn listens(&self, event: Event) -> bool {
        self.0.listened.load(Ordering::Acquire) & bit(event) != 0
    }

    /// Calls the handlers of an event.
    ///
    /// # Errors
    /// The first error of a handler.
    pub(crate) fn emit(&self, event: Event, context: &mut Context) -> Result<()> {
        Ok(self.emitter().emit(event, context)?)
    }

    /// Calls the handlers of an event on a blocking thread.
    ///
    /// # Errors
    /// The first error of a handler.
    #[cfg(feature = "cluster")]
    pub(crate) async fn emit_async(&self, event: Event, mut context: Context) -> Result<Context> {
        let lifecycle = self.clone();
        spawn_blocking(event, move || lifecycle.emit(event, &mut context).map(|()| context)).await
    }

    /// Locks the emitter. A poisoned lock is fine: a handler that panicked cannot have left the list of handlers half
    /// changed.
    fn emitter(&self) -> MutexGuard<'_, Emitter> {
        self.0.emitter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Lifecycle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events = TABLE.iter().filter(|entry| self.listens(entry.event)).map(|entry| entry.name);
        formatter.debug_set().entries(events).finish()
    }
}

fn bit(event: Event) -> u64 {
    1 << (event as u64)
}

fn listened(emitter: &Emitter) -> u64 {
    let events = TABLE.iter().map(|entry| entry.event).filter(|event| emitter.listens(*event));
    events.fold(0, |bits, event| bits | bit(event))
}

/// Runs code that calls handlers on a blocking thread, so that slow handlers do not stall the async runtime.
#[cfg(feature = "cluster")]
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    event: Event,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let broken = |error| Error::Input(format!("a handler of `{event}` panicked: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(event: &str) -> Registration<'_> {
        Registration { event, weight: 0.5, chart: ChartPath::program(), location: "here".into() }
    }

    #[test]
    fn what_is_listened_to_follows_registrations() {
        let lifecycle = Lifecycle::default();
        assert!(lifecycle.is_empty());
        let id = lifecycle.on(at("ready"), Box::new(|_| Ok(()))).expect("a known event");
        let same = lifecycle.clone();
        assert!(same.listens(Event::Ready) && !same.listens(Event::Wait) && !same.is_empty());
        assert_eq!(format!("{same:?}"), r#"{"ready"}"#);
        assert!(same.register(|emitter| emitter.off(id)) && lifecycle.is_empty());
    }

    #[test]
    fn a_handler_that_panics_leaves_the_others_in_place() {
        let lifecycle = Lifecycle::default();
        lifecycle.on(at("wait"), Box::new(|_| panic!("on purpose"))).expect("a known event");
        lifecycle.on(at("ready"), Box::new(|_| Ok(()))).expect("a known event");
        let other = lifecycle.clone();
        let outcome = std::thread::spawn(move || other.emit(Event::Wait, &mut Context::default())).join();
        assert!(outcome.is_err());
        assert!(lifecycle.emit(Event::Ready, &mut Context::default()).is_ok());
    }
}
