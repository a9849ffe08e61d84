//! The state of one chart or plugin: loads its script and calls its handlers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, Lua, MultiValue, Table, Value};
use pintle_events::{Context, Event, HandlerError, Next};

use crate::bridge;
use crate::budget::Spent;
use crate::call::{self, CallError};
use crate::error::{Failure, Sources, sanitized};
use crate::host::Host;
use crate::sandbox;
use crate::services::Level;

/// The stack reserved for scripts; the engine bounds its own recursion to less.
const STACK_SIZE: usize = 3 << 20;

/// The approximate memory of a state before its script runs, in bytes.
const BASE_MEMORY: usize = 1 << 20;

/// How often a wrapper can call `next` before its step limit is used up.
const NEXT_CALLS: u64 = 100;

/// The loaded scripts of one chart.
pub(crate) struct Script {
    lua: Lua,
    host: Arc<Host>,
    sources: Sources,
}

impl Script {
    /// Creates a state and runs the chart's main script, which registers handlers.
    ///
    /// # Errors
    /// When the script fails.
    pub(crate) fn load(host: Host) -> Result<Self, Box<Failure>> {
        let sources = host.resolver.sources();
        // Before the state exists: opening it under a smaller limit would fail inside the engine.
        if host.meter.budget().memory_for(0) < BASE_MEMORY {
            return Err(Box::new(Failure::shared_memory_exhausted(&host.limits)));
        }
        let host = Arc::new(host);
        let lua = sandbox::open(&host).map_err(|error| Failure::from_lua_error(&error, &sources))?;
        let script = Script { lua, host, sources };
        script.run_main()?;
        script.host.registrations().closed = true;
        Ok(script)
    }

    fn run_main(&self) -> Result<(), Box<Failure>> {
        let Some((file, text)) = self.host.resolver.main() else { return Ok(()) };
        self.start().map_err(Box::new)?;
        let outcome = with_stack(|| {
            let main =
                sandbox::compile(&self.lua, file, text).map_err(|call_error| self.failure(call_error))?;
            let outcome = main.call::<MultiValue>(());
            self.check_limits(outcome).map(|_| ())
        });
        self.host.meter.stop(&self.lua);
        outcome.map_err(Box::new)
    }

    /// Calls the function that `prepare` returns with its argument, and returns its first result.
    ///
    /// # Errors
    /// When there is no function, or it fails.
    pub(crate) fn call_main(
        &self,
        prepare: impl FnOnce(&Lua) -> mlua::Result<(Function, Table)>,
    ) -> Result<Value, Box<Failure>> {
        self.start().map_err(Box::new)?;
        let outcome = prepare(&self.lua)
            .and_then(|(function, argument)| with_stack(|| function.call::<MultiValue>(argument)));
        let outcome = self.check_limits(outcome);
        self.host.meter.stop(&self.lua);
        Ok(outcome?.into_iter().next().unwrap_or(Value::Nil))
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Calls a handler. `wait` and `ready` handlers that return `false` are polled until they do not.
    ///
    /// # Errors
    /// When the handler fails.
    pub(crate) fn handle(
        &self,
        function: &Function,
        location: &str,
        context: &mut Context,
    ) -> Result<(), HandlerError> {
        let event = context.event();
        let is_polled = matches!(event, Some(Event::Wait | Event::Ready));
        let (budget, started) = (self.host.meter.budget(), Instant::now());
        let before = budget.waited();
        let mut reported: Option<String> = None;
        loop {
            let (answer, spent) = self.run(context, location, |ctx| function.call::<MultiValue>(ctx))?;
            let mut answer = answer.into_iter();
            if !is_polled || answer.next() != Some(Value::Boolean(false)) {
                return Ok(());
            }
            let reason = answer.next().as_ref().and_then(Value::as_string).map(|text| text.to_string_lossy());
            if reason != reported {
                self.log_waiting(event, reason.as_deref());
                reported.clone_from(&reason);
            }
            let paused = self.pause(before.saturating_add(started.elapsed()), reason.as_deref());
            // Polling does not use up the time limit; it has one of its own, shared by all handlers.
            budget.refund(spent);
            budget.wait((before + started.elapsed()).saturating_sub(budget.waited()));
            paused?;
        }
    }

    /// Logs why a handler is still waiting.
    fn log_waiting(&self, event: Option<Event>, reason: Option<&str>) {
        if let (Some(listener), Some(event), Some(reason)) = (&self.host.services.listener, event, reason) {
            listener.log(&self.host.chart, Level::Info, &format!("`{event}` waits: {}", sanitized(reason)));
        }
    }

    /// Waits before a handler is polled again.
    fn pause(&self, waited: Duration, reason: Option<&str>) -> Result<(), HandlerError> {
        let limits = self.host.limits;
        if waited.saturating_add(limits.pause) > limits.wait {
            let reason = reason.map(|reason| format!(": {}", sanitized(reason))).unwrap_or_default();
            return Err(HandlerError::new(format!("not ready after {:?}{reason}", limits.wait)));
        }
        let paused = Instant::now();
        while let Some(left) = limits.pause.checked_sub(paused.elapsed()).filter(|left| !left.is_zero()) {
            if self.host.meter.is_cancelled() {
                return Err(HandlerError::new("the operation was cancelled"));
            }
            // In short pieces, so that a cancellation is noticed soon.
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ok(())
    }

    /// Calls a wrapper around the handlers of a subchart, with the context and a `next` function.
    ///
    /// # Errors
    /// When the wrapper fails; the inner error if the wrapper let it pass.
    pub(crate) fn wrap(
        &self,
        function: &Function,
        location: &str,
        context: &mut Context,
        next: Next<'_>,
    ) -> Result<(), HandlerError> {
        let mut inner: Option<HandlerError> = None;
        let meter = &self.host.meter;
        let outcome = self.run(context, location, |ctx| {
            self.lua.scope(|scope| {
                let next = scope.create_function_mut(|lua, ()| {
                    let answer = self.lend_context(location, |context| {
                        next(context).map_err(|error| {
                            let text = error.to_string();
                            inner = Some(error);
                            // A limit of the wrapped handlers cannot be caught either.
                            match meter.budget().is_exceeded() {
                                true => CallError::Lua(meter.exceed_with(text)),
                                false => CallError::Message(text),
                            }
                        })
                    });
                    call::answer(lua, answer.map(|()| Value::Nil))
                })?;
                let next: Function = self.host.handles().checked.call(next)?;
                function.call::<MultiValue>((ctx, next))
            })
        });
        match (outcome, inner) {
            // The engine turns errors into text; if that text is still in it, the wrapper passed the inner
            // error on.
            (Err(error), Some(inner)) if error.to_string().contains(&inner.to_string()) => Err(inner),
            (outcome, _) => outcome.map(|_| ()),
        }
    }

    /// Lends the context to the wrapped handlers: changes so far are applied first, and afterwards all tables are
    /// converted again.
    fn lend_context(
        &self,
        location: &str,
        work: impl FnOnce(&mut Context) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        self.return_changes(location)?;
        // The time of inner handlers does not count, so each call of `next` is charged instead.
        self.host.meter.charge(&self.lua, self.host.limits.steps / NEXT_CALLS)?;
        self.host.meter.report_memory(&self.lua);
        let started = Instant::now();
        let mut context = self.end();
        let outcome = work(&mut context);
        self.host.meter.exclude_time(started.elapsed());
        self.host.frame().begin(context);
        outcome
    }

    /// Runs a function with a context, and applies its changes if it succeeds.
    fn run(
        &self,
        context: &mut Context,
        location: &str,
        body: impl FnOnce(mlua::Table) -> mlua::Result<MultiValue>,
    ) -> Result<(MultiValue, Spent), HandlerError> {
        self.start()?;
        // The host functions need the context while the handler runs, and it comes back when the handler
        // returns.
        self.host.frame().begin(std::mem::take(context));
        let ctx = self.host.handles().context.clone();
        let answer = with_stack(|| body(ctx)).map_err(CallError::Lua);
        let answer = answer.and_then(|answer| self.return_changes(location).map(|()| answer));
        *context = self.end();
        let outcome = match answer {
            Ok(answer) => self.check_limits(Ok(answer)),
            Err(call_error) => {
                let failure = self.failure(call_error);
                // Free what the failed run left behind; other handlers of this state still run.
                let _ = self.lua.gc_collect();
                Err(failure)
            }
        };
        let spent = self.host.meter.stop(&self.lua);
        Ok((outcome?, spent))
    }

    fn start(&self) -> Result<(), Failure> {
        self.host.meter.start(&self.lua).map_err(|error| Failure::from_lua_error(&error, &self.sources))
    }

    /// Takes the context back: its tables are invalid from now on.
    fn end(&self) -> Context {
        let handles = self.host.handles();
        for table in [&handles.pending, &handles.shadow, &handles.roots, &handles.copies] {
            // Only frozen tables cannot be cleared, and these never are.
            let _ = table.clear();
        }
        self.host.frame().end()
    }

    fn return_changes(&self, location: &str) -> Result<(), CallError> {
        let listener = self.host.services.listener.as_ref().filter(|listener| listener.wants_changes());
        let changed = || self.host.handles().changed.call::<Vec<Table>>(());
        let changed = sandbox::unmetered(&self.lua, &self.host, changed)?;
        let paths = bridge::return_changes(&self.host, &changed, listener.is_some())?;
        let event = self.host.frame().context().and_then(Context::event);
        if let (Some(listener), Some(event), false) = (listener, event, paths.is_empty()) {
            listener.changed(&self.host.chart, event, location, &paths);
        }
        Ok(())
    }

    /// A result counts only if no limit was exceeded, even if the script caught the error.
    fn check_limits(&self, outcome: mlua::Result<MultiValue>) -> Result<MultiValue, Failure> {
        match (outcome, self.host.meter.exceeded()) {
            (Ok(answer), None) => Ok(answer),
            (Ok(_), Some(_)) => Err(self.failure(CallError::Message(String::new()))),
            (Err(error), _) => Err(self.failure(CallError::Lua(error))),
        }
    }

    fn failure(&self, call_error: CallError) -> Failure {
        match call_error {
            CallError::Lua(error) => {
                self.host.meter.note_failure(&error);
                Failure::from_run(&error, &self.host.meter, &self.sources)
            }
            CallError::Message(text) if self.host.meter.exceeded().is_none() => Failure::new(text),
            CallError::Message(text) => {
                Failure::from_run(&mlua::Error::RuntimeError(text), &self.host.meter, &self.sources)
            }
        }
    }
}

/// Runs a script with enough stack on any thread.
fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_SIZE, 2 * STACK_SIZE, work)
}
