//! `io`: the standard streams of a plugin.

use std::time::Instant;

use mlua::Value;

use crate::call::{Answer, Body, Call, CallError};
use crate::plugin::PluginHost;
use crate::streams::Stream;

/// The host functions behind `io`.
pub(crate) const STREAMS: &[(&str, Body)] = &[("read", read), ("write", write)];

/// How much of standard input is read.
enum Format {
    /// The next line, with or without its end.
    Line {
        keep_end: bool,
    },
    All,
    Bytes(usize),
}

/// `io.read(format)`: `"l"` for a line, which is the default, `"L"` for a line with its end, `"a"` for everything, or a
/// number of bytes. Nil at the end of the input, except for `"a"`, which returns an empty string.
fn read(call: &Call<'_>) -> Answer {
    let format = format(call)?;
    let most = call.host.limits.text;
    let limit = match format {
        Format::Bytes(count) => count.min(most),
        _ => most.saturating_add(1),
    };
    let (started, streams) = (Instant::now(), &host(call)?.streams);
    let bytes = match format {
        Format::Line { .. } => streams.read_line(limit),
        _ => streams.read(limit),
    };
    // Waiting for input, for example from a user, does not count as run time of the script.
    call.host.meter.exclude_time(started.elapsed());
    let mut bytes = bytes.or_else(|error| call.fail(format!("standard input: {error}")))?;
    call.charge(1 + bytes.len() as u64 / 64)?;
    match format {
        Format::All => return call.return_text(bytes),
        Format::Bytes(0) => return call.return_text(b""),
        _ if bytes.is_empty() => return Ok(Value::Nil),
        Format::Line { keep_end: false } if bytes.ends_with(b"\n") => {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        _ => {}
    }
    call.return_text(bytes)
}

fn format(call: &Call<'_>) -> Result<Format, CallError> {
    match call.any(0) {
        Value::Nil => return Ok(Format::Line { keep_end: false }),
        Value::Integer(_) | Value::Number(_) => {
            return match call.whole_or_none(0)?.and_then(|count| usize::try_from(count).ok()) {
                Some(count) => Ok(Format::Bytes(count)),
                None => call.fail("a number of bytes cannot be negative"),
            };
        }
        _ => {}
    }
    let text = call.text(0)?;
    // Lua 5.1 has an asterisk before the letter.
    match text.strip_prefix('*').unwrap_or(&text) {
        "l" => Ok(Format::Line { keep_end: false }),
        "L" => Ok(Format::Line { keep_end: true }),
        "a" => Ok(Format::All),
        _ => call
            .fail(format!("there is no format {text:?}; they are \"l\", \"L\", \"a\" and a number of bytes")),
    }
}

fn write(call: &Call<'_>) -> Answer {
    let stream = if call.text(0)? == "stderr" { Stream::Error } else { Stream::Out };
    let bytes = call.bytes(1)?;
    host(call)?.streams.write(stream, &bytes).or_else(|error| call.fail(error))?;
    Ok(Value::Nil)
}

fn host<'a>(call: &'a Call<'_>) -> Result<&'a PluginHost, CallError> {
    match &call.host.plugin {
        Some(plugin) => Ok(plugin),
        None => call.fail("only plugins have standard streams"),
    }
}
