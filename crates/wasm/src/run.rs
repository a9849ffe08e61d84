//! Calls a function of a module, with limits.

use std::collections::BTreeMap;
use std::time::Instant;

use wasmi::errors::{ErrorKind, LinkerError};
use wasmi::{
    CompilationMode, Config, Engine, Func, Instance, Linker, Module, ResumableCall, Store,
    StoreLimitsBuilder, Val, ValType,
};

use crate::files::Files;
use crate::guest::State;
use crate::memory::Blocks;
use crate::{Error, Host, HttpResponse, Result, Returned, Settings, extism, wasi};

/// The bytes of a page.
const PAGE: u64 = 64 << 10;

/// A gigabyte, unless the manifest sets another limit.
const DEFAULT_PAGES: u32 = 16_384;

/// Instructions between two checks of the timeout: some milliseconds.
const SLICE: u64 = 2_000_000;

/// Instructions of a start function, which cannot be interrupted: some seconds.
const START: u64 = 2_000_000_000;

/// Calls the function that the settings name, with a message.
///
/// # Errors
/// Modules that cannot be loaded, those that report an error, and those that are stopped.
pub fn call(module: &[u8], settings: &Settings, host: Box<dyn Host>, input: &[u8]) -> Result<Returned> {
    let mut config = Config::default();
    config.consume_fuel(true).compilation_mode(CompilationMode::LazyTranslation);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, module).map_err(load_error)?;
    let mut linker = Linker::new(&engine);
    extism::define(&mut linker).and_then(|()| wasi::define(&mut linker)).map_err(load_error)?;
    let mut store = Store::new(&engine, state(settings, host));
    store.limiter(|state| &mut state.limits);
    store.set_fuel(START).map_err(load_error)?;
    let instance = linker.instantiate_and_start(&mut store, &module).map_err(load_error)?;
    let function = find(&store, instance, &settings.entry)?;
    put_input(store.data_mut(), input)?;
    for name in ["_initialize", "__wasm_call_ctors"] {
        // A module has one of these, or none.
        let Some(initialize) = instance.get_func(&store, name) else { continue };
        if initialize.ty(&store).params().is_empty() {
            run(&mut store, &initialize)?;
        }
        break;
    }
    let code = run(&mut store, &function)?;
    finish(store.data(), code)
}

fn load_error(error: wasmi::Error) -> Error {
    match error.kind() {
        ErrorKind::Linker(LinkerError::MissingDefinition { name, .. }) => {
            Error::Module(format!("it asks for {name}, which does not exist here"))
        }
        kind => Error::Module(kind.to_string()),
    }
}

fn state(settings: &Settings, host: Box<dyn Host>) -> State {
    let pages = if settings.max_pages == 0 { DEFAULT_PAGES } else { settings.max_pages };
    let bytes = u64::from(pages) * PAGE;
    let limits = StoreLimitsBuilder::new()
        .memory_size(usize::try_from(bytes).unwrap_or(usize::MAX))
        .table_elements(1 << 20)
        .instances(1)
        .build();
    State {
        host,
        settings: settings.clone(),
        blocks: Blocks::new(bytes),
        input: (0, 0),
        output: (0, 0),
        error: 0,
        variables: BTreeMap::new(),
        response: HttpResponse::default(),
        files: Files::new(settings.temporary_files),
        limits,
        start: Instant::now(),
    }
}

fn find(store: &Store<State>, instance: Instance, name: &str) -> Result<Func> {
    let function = instance.get_func(store, name).ok_or_else(|| Error::NoFunction(name.to_owned()))?;
    let signature = function.ty(store);
    let problem = match (signature.params(), signature.results()) {
        ([], [] | [ValType::I32]) => return Ok(function),
        ([], [one]) => format!("returns {one:?}, expected nothing or I32"),
        ([], results) => format!("has {} results, expected 0 or 1", results.len()),
        (params, _) => format!("has {} parameters, expected none", params.len()),
    };
    Err(Error::Signature { name: name.to_owned(), problem })
}

fn put_input(state: &mut State, input: &[u8]) -> Result<()> {
    let at = state.blocks.put(input).ok_or_else(|| Error::Trap("the input is too large".to_owned()))?;
    state.input = (at, input.len() as u64);
    Ok(())
}

/// Runs a function until it returns or times out.
fn run(store: &mut Store<State>, function: &Func) -> Result<u32> {
    let mut results: Vec<Val> =
        function.ty(&*store).results().iter().map(|kind| Val::default_for_ty(*kind)).collect();
    store.set_fuel(SLICE).map_err(stopped)?;
    let mut call = match function.call_resumable(&mut *store, &[], &mut results) {
        Ok(call) => call,
        Err(error) => return exit_code(error),
    };
    loop {
        call = match call {
            ResumableCall::Finished => {
                return Ok(match results.first() {
                    Some(Val::I32(code)) => code.cast_unsigned(),
                    _ => 0,
                });
            }
            ResumableCall::HostTrap(trap) => return exit_code(trap.into_host_error()),
            ResumableCall::OutOfFuel(paused) => {
                let timeout = store.data().settings.timeout;
                if store.data().start.elapsed() >= timeout {
                    return Err(Error::Timeout(timeout));
                }
                store.set_fuel(SLICE.max(paused.required_fuel())).map_err(stopped)?;
                match paused.resume(&mut *store, &mut results) {
                    Ok(call) => call,
                    Err(error) => return exit_code(error),
                }
            }
        };
    }
}

fn stopped(error: wasmi::Error) -> Error {
    Error::Trap(error.to_string())
}

/// The exit code, if the error of a call is a WASI exit; other errors are returned.
fn exit_code(error: wasmi::Error) -> Result<u32> {
    error.i32_exit_status().map(i32::cast_unsigned).ok_or_else(|| stopped(error))
}

fn finish(state: &State, code: u32) -> Result<Returned> {
    if let Some(message) = state.blocks.block(state.error) {
        return Err(Error::Reported(String::from_utf8_lossy(message).into_owned()));
    }
    let (at, length) = state.output;
    let output = if length == 0 { Some(&[][..]) } else { state.blocks.get(at, length) };
    let output = output.ok_or_else(|| Error::Trap("its output is not in memory".to_owned()))?;
    Ok(Returned { code, output: output.to_vec() })
}
