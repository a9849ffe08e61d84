//! `log` and `print`.

use mlua::Value;

use crate::call::{Answer, Body, Call};
use crate::error::sanitized;
use crate::services::Level;

/// The functions of `log`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[
    ("debug", |call| log(call, Level::Debug)),
    ("info", |call| log(call, Level::Info)),
    ("warn", |call| log(call, Level::Warn)),
    ("error", |call| log(call, Level::Error)),
];

/// The body of `print`.
pub(crate) fn print(call: &Call<'_>) -> Answer {
    log(call, Level::Info)
}

/// The maximum length of a line, in bytes.
const MAX_LINE: usize = 8 << 10;

fn log(call: &Call<'_>, level: Level) -> Answer {
    let text = match call.any(0) {
        Value::String(_) => String::from_utf8_lossy(&call.bytes(0)?).into_owned(),
        other => other.to_string()?,
    };
    if text.len() > MAX_LINE {
        return call.fail(format!("a line can have at most {MAX_LINE} bytes"));
    }
    // Log lines may be stored, and a script must not fill the disk.
    call.charge(1_000 + text.len() as u64)?;
    if let Some(listener) = &call.host.services.listener {
        listener.log(&call.host.chart, level, &sanitized(&text));
    }
    Ok(Value::Nil)
}
