//! `os`: the environment and the clock, for charts with the permission `os`.

use mlua::Value;

use crate::call::{Answer, Body, Call, Fault};
use crate::services::System;

/// The functions of `os`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[("getenv", getenv), ("time", time)];

/// A variable of the environment, or nil.
fn getenv(call: &Call<'_>) -> Answer {
    let name = call.text(0)?;
    match system(call)?.variable(&name) {
        Some(value) => call.give_text(value),
        None => Ok(Value::Nil),
    }
}

/// The seconds since 1970.
fn time(call: &Call<'_>) -> Answer {
    Ok(Value::Number(system(call)?.now().floor()))
}

fn system<'a>(call: &'a Call<'_>) -> Result<&'a dyn System, Fault> {
    match &call.host.services.system {
        Some(system) => Ok(system.as_ref()),
        None => call.say("the system cannot be asked here"),
    }
}
