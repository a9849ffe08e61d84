//! The functions of Extism, by which modules exchange messages with their host.

use wasmi::{Caller, Error, Linker};

use crate::Level;
use crate::guest::State;
use crate::http::HttpRequest;

const MODULE: &str = "extism:host/env";

/// The bytes that each variable counts for besides its own, as in the host library that Helm uses.
const PER_VARIABLE: u64 = 40;

const DEFAULT_HTTP_BYTES: u64 = 50 << 20;
const DEFAULT_VARIABLE_BYTES: u64 = 1 << 20;

/// The log level that tells a module that no messages are logged.
const LOG_OFF: i32 = i32::MAX;

type Call<'c> = Caller<'c, State>;

/// Adds all functions.
pub(crate) fn define(linker: &mut Linker<State>) -> Result<(), Error> {
    blocks(linker)?;
    messages(linker)?;
    settings(linker)?;
    http(linker)?;
    logs(linker)
}

fn blocks(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "alloc", |mut call: Call<'_>, length: u64| {
        call.data_mut().blocks.allocate(length).ok_or_else(no_memory)
    })?;
    linker.func_wrap(MODULE, "free", |mut call: Call<'_>, at: u64| call.data_mut().blocks.free(at))?;
    for name in ["length", "length_unsafe"] {
        linker.func_wrap(MODULE, name, |call: Call<'_>, at: u64| call.data().blocks.length(at))?;
    }
    linker.func_wrap(MODULE, "load_u8", |call: Call<'_>, at: u64| {
        call.data().blocks.get(at, 1).map_or(0, |bytes| i32::from(bytes[0]))
    })?;
    linker.func_wrap(MODULE, "load_u64", |call: Call<'_>, at: u64| load(call.data(), at))?;
    linker.func_wrap(MODULE, "store_u8", |mut call: Call<'_>, at: u64, value: i32| {
        if let Some(bytes) = call.data_mut().blocks.get_mut(at, 1) {
            bytes[0] = value.to_le_bytes()[0];
        }
    })?;
    linker.func_wrap(MODULE, "store_u64", |mut call: Call<'_>, at: u64, value: u64| {
        let bytes = call.data_mut().blocks.get_mut(at, 8);
        let bytes = bytes.ok_or_else(|| Error::new(format!("there is no memory at {at}")))?;
        bytes.copy_from_slice(&value.to_le_bytes());
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(MODULE, "memory_bytes", |call: Call<'_>| call.data().blocks.size())?;
    linker.func_wrap(MODULE, "reset", |mut call: Call<'_>| {
        let state = call.data_mut();
        state.blocks.clear();
        (state.input, state.output, state.error) = ((0, 0), (0, 0), 0);
    })?;
    Ok(())
}

fn messages(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "input_set", |mut call: Call<'_>, at: u64, length: u64| {
        call.data_mut().input = (at, length);
    })?;
    linker.func_wrap(MODULE, "input_offset", |call: Call<'_>| call.data().input.0)?;
    linker.func_wrap(MODULE, "input_length", |call: Call<'_>| call.data().input.1)?;
    linker.func_wrap(MODULE, "input_load_u8", |call: Call<'_>, at: u64| {
        let state = call.data();
        let inside = at < state.input.1;
        let bytes = inside.then(|| state.blocks.get(state.input.0.saturating_add(at), 1)).flatten();
        bytes.map_or(0, |bytes| i32::from(bytes[0]))
    })?;
    linker.func_wrap(MODULE, "input_load_u64", |call: Call<'_>, at: u64| {
        let state = call.data();
        load(state, state.input.0.saturating_add(at))
    })?;
    linker.func_wrap(MODULE, "output_set", |mut call: Call<'_>, at: u64, length: u64| {
        call.data_mut().output = (at, length);
    })?;
    linker.func_wrap(MODULE, "output_offset", |call: Call<'_>| call.data().output.0)?;
    linker.func_wrap(MODULE, "output_length", |call: Call<'_>| call.data().output.1)?;
    linker.func_wrap(MODULE, "error_set", |mut call: Call<'_>, at: u64| call.data_mut().error = at)?;
    linker.func_wrap(MODULE, "error_get", |call: Call<'_>| call.data().error)?;
    Ok(())
}

fn settings(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "config_get", |mut call: Call<'_>, name: u64| {
        let state = call.data_mut();
        let value = state.settings.config.get(&text(state, name)?).cloned();
        value.map_or(Ok(0), |value| state.blocks.put(value.as_bytes()).ok_or_else(no_memory))
    })?;
    linker.func_wrap(MODULE, "var_get", |mut call: Call<'_>, name: u64| {
        let state = call.data_mut();
        let key = text(state, name)?;
        state.blocks.free(name);
        let value = state.variables.get(&key).cloned();
        value.map_or(Ok(0), |value| state.blocks.put(&value).ok_or_else(no_memory))
    })?;
    linker.func_wrap(MODULE, "var_set", |mut call: Call<'_>, name: u64, value: u64| {
        let state = call.data_mut();
        let key = text(state, name)?;
        state.blocks.free(name);
        if value == 0 {
            state.variables.remove(&key);
            return Ok(());
        }
        let content = state.blocks.block(value).unwrap_or_default().to_vec();
        state.blocks.free(value);
        let size = |key: &str, value: &[u8]| PER_VARIABLE + (key.len() + value.len()) as u64;
        let others = state.variables.iter().filter(|(other, _)| **other != key);
        let all: u64 = others.map(|(key, value)| size(key, value)).sum();
        let limit = or_default(state.settings.max_variable_bytes, DEFAULT_VARIABLE_BYTES);
        if all + size(&key, &content) >= limit {
            return Err(Error::new("Variable store is full".to_owned()));
        }
        state.variables.insert(key, content);
        Ok::<(), Error>(())
    })?;
    Ok(())
}

fn http(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "http_request", |mut call: Call<'_>, request: u64, body: u64| {
        let state = call.data_mut();
        state.response = crate::HttpResponse::default();
        let description = state.blocks.block(request).unwrap_or_default().to_vec();
        let content = state.blocks.block(body).unwrap_or_default().to_vec();
        state.blocks.free(request);
        state.blocks.free(body);
        let limit = or_default(state.settings.max_http_bytes, DEFAULT_HTTP_BYTES);
        let request = HttpRequest::parse(&description, content, &state.settings.allowed_hosts, limit);
        let mut response = state.host.fetch(&request.map_err(Error::new)?).map_err(Error::new)?;
        let body = std::mem::take(&mut response.body);
        state.response = response;
        state.blocks.put(&body).ok_or_else(no_memory)
    })?;
    linker.func_wrap(MODULE, "http_status_code", |call: Call<'_>| i32::from(call.data().response.status))?;
    linker.func_wrap(MODULE, "http_headers", |mut call: Call<'_>| {
        let state = call.data_mut();
        let text = serde_json::to_vec(&state.response.headers).unwrap_or_default();
        state.blocks.put(&text).ok_or_else(no_memory)
    })?;
    Ok(())
}

fn logs(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "get_log_level", |call: Call<'_>| {
        call.data().host.log_level().map_or(LOG_OFF, |level| level as i32)
    })?;
    for (name, level) in [
        ("log_trace", Level::Trace),
        ("log_debug", Level::Debug),
        ("log_info", Level::Info),
        ("log_warn", Level::Warn),
        ("log_error", Level::Error),
    ] {
        linker.func_wrap(MODULE, name, move |mut call: Call<'_>, at: u64| {
            let state = call.data_mut();
            let message = String::from_utf8_lossy(state.blocks.block(at).unwrap_or_default()).into_owned();
            state.blocks.free(at);
            if state.host.log_level().is_some_and(|least| level >= least) {
                state.host.log(level, &message);
            }
        })?;
    }
    Ok(())
}

fn load(state: &State, at: u64) -> Result<u64, Error> {
    let bytes = state.blocks.get(at, 8).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_le_bytes).ok_or_else(|| Error::new(format!("there is no memory at {at}")))
}

fn text(state: &State, at: u64) -> Result<String, Error> {
    let bytes = state.blocks.block(at).unwrap_or_default();
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::new("a name is not UTF-8".to_owned()))
}

fn or_default(limit: u64, default: u64) -> u64 {
    if limit == 0 { default } else { limit }
}

fn no_memory() -> Error {
    Error::new("out of memory".to_owned())
}
