//! The `events` module: handlers that a script registers while it is loaded, and what it does to those of its
//! subcharts.

use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};
use pintle_events::{ChartPath, Event, Registration, TABLE};

use crate::call::{self, Answer, Body, Call, CallError};
use crate::error::caller_location;
use crate::host::Host;

/// The registrations of a script, in order.
#[derive(Default)]
pub(crate) struct Registrations {
    /// Set once the chart is loaded; registering later is an error.
    pub(crate) closed: bool,
    pub(crate) entries: Vec<Registered>,
}

/// One registration.
pub(crate) enum Registered {
    Handler {
        event: Event,
        weight: f64,
        function: Function,
        location: String,
    },
    /// Turns the handlers of a subchart off.
    Off {
        chart: ChartPath,
        event: Event,
    },
    /// Wraps the handlers of a subchart.
    Wrap {
        chart: ChartPath,
        event: Event,
        function: Function,
        location: String,
    },
}

/// Adds the host functions of the `events` module to the table for the prelude.
pub(crate) fn install(lua: &Lua, host: &Arc<Host>, table: &Table) -> mlua::Result<()> {
    let functions: [(&str, &str, Body); 4] = [
        ("on", "events.on", on),
        ("subchart", "events.subchart", subchart),
        ("off", "events.subchart(…):off", off),
        ("wrap", "events.subchart(…):wrap", wrap),
    ];
    for (key, name, body) in functions {
        table.raw_set(key, call::function(lua, host, name.to_owned(), body)?)?;
    }
    Ok(())
}

fn on(call: &Call<'_>) -> Answer {
    let event = event(call, 0)?;
    let weight = match call.any(1) {
        Value::Nil => Registration::DEFAULT_WEIGHT,
        Value::Integer(weight) => *weight as f64,
        Value::Number(weight) => *weight,
        _ => return call.fail("the weight must be a number between 0 and 1"),
    };
    if !(0.0..=1.0).contains(&weight) {
        return call.fail(pintle_events::Error::Weight { event, weight });
    }
    let function = match call.any(2) {
        Value::Function(function) => function.clone(),
        other => {
            let found = crate::bridge::type_name(other);
            return call.fail(format!("the handler must be a function, not {found}"));
        }
    };
    let location = caller_location(call.lua).unwrap_or_else(|| pintle_chart::ext::MAIN.to_owned());
    add(call, [Registered::Handler { event, weight, function, location }])
}

/// Finds a subchart, at any depth, and returns its path.
fn subchart(call: &Call<'_>) -> Answer {
    let (parent, name) = (call.text(0)?, call.text(1)?);
    let path = if parent.is_empty() { name.clone() } else { format!("{parent}/{name}") };
    let below = call.host.resolver.subcharts(&parent);
    if below.contains(&name) {
        return call.return_text(path);
    }
    let known =
        if below.is_empty() { "it has none".to_owned() } else { format!("they are {}", below.join(", ")) };
    call.fail(format!("there is no subchart `{name}`; {known}"))
}

/// Turns off the handlers of a subchart for one event, or for all.
fn off(call: &Call<'_>) -> Answer {
    let chart = chart(call)?;
    let events: Vec<Event> = match call.any(1) {
        // Core events accept no handlers, so there is nothing to turn off.
        Value::Nil => TABLE.iter().filter(|entry| !entry.core).map(|entry| entry.event).collect(),
        _ => vec![event(call, 1)?],
    };
    add(call, events.into_iter().map(|event| Registered::Off { chart: chart.clone(), event }))
}

fn wrap(call: &Call<'_>) -> Answer {
    let (chart, event, function) = (chart(call)?, event(call, 1)?, call.function(2)?);
    let location = caller_location(call.lua).unwrap_or_else(|| pintle_chart::ext::MAIN.to_owned());
    add(call, [Registered::Wrap { chart, event, function, location }])
}

fn chart(call: &Call<'_>) -> Result<ChartPath, CallError> {
    let path = call.text(0)?;
    Ok(path.split('/').fold(call.host.chart.clone(), |chart, name| chart.child(name)))
}

fn event(call: &Call<'_>, index: usize) -> Result<Event, CallError> {
    let name = call.text(index)?;
    Event::for_handlers(&name).or_else(|error| call.fail(error))
}

fn add(call: &Call<'_>, entries: impl IntoIterator<Item = Registered>) -> Answer {
    let mut registrations = call.host.registrations();
    if registrations.closed {
        return call.fail("handlers can be registered only while the chart is loaded");
    }
    if registrations.entries.len() >= MAX_REGISTRATIONS {
        return call.fail(format!("a chart can register at most {MAX_REGISTRATIONS} handlers"));
    }
    registrations.entries.extend(entries);
    Ok(Value::Nil)
}

/// The maximum number of registrations of a chart: each keeps a function alive until the operation ends.
const MAX_REGISTRATIONS: usize = 10_000;
