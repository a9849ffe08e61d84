//! One chart's state: loading its script, and calling its handlers with a context.

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

/// The stack that scripts may rely on: the engine's own recursion is bounded, and fits.
const STACK_SIZE: usize = 3 << 20;

/// What a state holds before its script runs, roughly, in bytes.
const BASE_MEMORY: usize = 1 << 20;

/// How often a wrapper can call what it stands around, if it does nothing else.
const NEXT_CALLS: u64 = 100;

/// The scripts of one chart, loaded.
pub(crate) struct Script {
    lua: Lua,
    host: Arc<Host>,
    sources: Sources,
}

impl Script {
    /// Makes a state and runs the chart's script, which registers handlers.
    ///
    /// # Errors
    /// What the script failed of.
    pub(crate) fn load(host: Host) -> Result<Self, Box<Failure>> {
        let sources = host.resolver.sources();
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

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Calls a handler. Handlers of `wait` and `ready` that answer `false` are called again until they do not.
    ///
    /// # Errors
    /// What the handler failed of.
    pub(crate) fn handle(
        &self,
        function: &Function,
        place: &str,
        context: &mut Context,
    ) -> Result<(), HandlerError> {
        let event = context.event();
        let asked_again = matches!(event, Some(Event::Wait | Event::Ready));
        let (budget, started) = (self.host.meter.budget(), Instant::now());
        let before = budget.waited();
        let mut told: Option<String> = None;
        loop {
            let (answer, spent) = self.run(context, place, |ctx| function.call::<MultiValue>(ctx))?;
            let mut answer = answer.into_iter();
            if !asked_again || answer.next() != Some(Value::Boolean(false)) {
                return Ok(());
            }
            let reason = answer.next().as_ref().and_then(Value::as_string).map(|text| text.to_string_lossy());
            if reason != told {
                self.log_waiting(event, reason.as_deref());
                told.clone_from(&reason);
            }
            let paused = self.pause(before.saturating_add(started.elapsed()), reason.as_deref());
            // Waiting has a limit of its own, which all handlers share.
            budget.refund(spent);
            budget.wait((before + started.elapsed()).saturating_sub(budget.waited()));
            paused?;
        }
    }

    /// Passes on why a handler says that it is not time yet, so that whoever waits knows what for.
    fn log_waiting(&self, event: Option<Event>, reason: Option<&str>) {
        if let (Some(listener), Some(event), Some(reason)) = (&self.host.services.listener, event, reason) {
            listener.log(&self.host.chart, Level::Info, &format!("`{event}` waits: {}", sanitized(reason)));
        }
    }

    /// Pauses before a handler is asked again.
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
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ok(())
    }

    /// Calls a function that stands around the handlers of a subchart, with the context and what it stands around.
    ///
    /// # Errors
    /// What it failed of, or the error of what it stands around if it let that pass.
    pub(crate) fn wrap(
        &self,
        function: &Function,
        place: &str,
        context: &mut Context,
        next: Next<'_>,
    ) -> Result<(), HandlerError> {
        let mut inner: Option<HandlerError> = None;
        let outcome = self.run(context, place, |ctx| {
            self.lua.scope(|scope| {
                let next = scope.create_function_mut(|lua, ()| {
                    let answer = self.lend_context(place, |context| {
                        next(context).map_err(|error| {
                            let text = error.to_string();
                            inner = Some(error);
                            CallError::Message(text)
                        })
                    });
                    call::answer(lua, answer.map(|()| Value::Nil))
                })?;
                let next: Function = self.host.handles().checked.call(next)?;
                function.call::<MultiValue>((ctx, next))
            })
        });
        match (outcome, inner) {
            (Err(error), Some(inner)) if error.to_string().contains(&inner.to_string()) => Err(inner),
            (outcome, _) => outcome.map(|_| ()),
        }
    }

    /// Gives the context away for a while: what was changed so far is taken, and afterwards everything is looked at
    /// anew.
    fn lend_context(
        &self,
        place: &str,
        work: impl FnOnce(&mut Context) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        self.return_changes(place)?;
        // Time that others take is not counted, so that calling them must be.
        self.host.meter.charge(&self.lua, self.host.limits.steps / NEXT_CALLS)?;
        self.host.meter.report_memory(&self.lua);
        let started = Instant::now();
        let mut context = self.end();
        let outcome = work(&mut context);
        self.host.meter.exclude_time(started.elapsed());
        self.host.frame().begin(context);
        outcome
    }

    /// Runs something with a context, and takes what it changed if it succeeds.
    fn run(
        &self,
        context: &mut Context,
        place: &str,
        body: impl FnOnce(mlua::Table) -> mlua::Result<MultiValue>,
    ) -> Result<(MultiValue, Spent), HandlerError> {
        self.start()?;
        self.host.frame().begin(std::mem::take(context));
        let ctx = self.host.handles().context.clone();
        let answer = with_stack(|| body(ctx)).map_err(CallError::Lua);
        let answer = answer.and_then(|answer| self.return_changes(place).map(|()| answer));
        *context = self.end();
        let outcome = match answer {
            Ok(answer) => self.check_limits(Ok(answer)),
            Err(call_error) => {
                let failure = self.failure(call_error);
                // The state is full of what made it fail, and others may still want to be called.
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

    /// Ends the handler's hold on the context: its tables stand for nothing any more.
    fn end(&self) -> Context {
        let handles = self.host.handles();
        for table in [&handles.pending, &handles.shadow, &handles.roots, &handles.copies] {
            // Only tables that are locked cannot be emptied, and these never are.
            let _ = table.clear();
        }
        self.host.frame().end()
    }

    fn return_changes(&self, place: &str) -> Result<(), CallError> {
        let listener = self.host.services.listener.as_ref().filter(|listener| listener.wants_changes());
        let changed = || self.host.handles().changed.call::<Vec<Table>>(());
        let changed = sandbox::unmetered(&self.lua, &self.host, changed)?;
        let paths = bridge::return_changes(&self.host, &changed, listener.is_some())?;
        let event = self.host.frame().context().and_then(Context::event);
        if let (Some(listener), Some(event), false) = (listener, event, paths.is_empty()) {
            listener.changed(&self.host.chart, event, place, &paths);
        }
        Ok(())
    }

    /// A result counts only if no limit was run into, whatever the script did about it.
    fn check_limits(&self, outcome: mlua::Result<MultiValue>) -> Result<MultiValue, Failure> {
        match (outcome, self.host.meter.exceeded()) {
            (Ok(answer), None) => Ok(answer),
            (Ok(_), Some(_)) => Err(self.failure(CallError::Message(String::new()))),
            (Err(error), _) => Err(self.failure(CallError::Lua(error))),
        }
    }

    fn failure(&self, call_error: CallError) -> Failure {
        match call_error {
            CallError::Lua(error) => Failure::from_run(&error, &self.host.meter, &self.sources),
            CallError::Message(text) if self.host.meter.exceeded().is_none() => Failure::new(text),
            CallError::Message(text) => {
                Failure::from_run(&mlua::Error::RuntimeError(text), &self.host.meter, &self.sources)
            }
        }
    }
}

/// Runs a script with enough stack for it, whatever thread this is.
fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_SIZE, 2 * STACK_SIZE, work)
}
