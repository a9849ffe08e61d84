//! The sandbox: a Luau state with an allow-list of globals.
//! Nothing is removed by name: what is not on the lists below does not exist, so that a new version of the
//! engine adds nothing by itself.

use std::sync::Arc;

use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Function, LightUserData, Lua, LuaOptions, LuaString, Number, StdLib, Table, Value, VmState};
use pintle_tree::Str;

use crate::bridge;
use crate::call::{self, CallError};
use crate::error::PRELUDE;
use crate::host::{Handles, Host};
use crate::permission::Permission;
use crate::require::MAX_SCRIPT;
use crate::{modules, plugin, registration, require, strings};

/// The modules available through `require` and as globals.
pub(crate) const MODULES: &[&str] = &[
    "events",
    "yaml",
    "json",
    "toml",
    "semver",
    "base64",
    "hash",
    "regex",
    "log",
    "template",
    "kubernetes",
    "http",
    "fs",
    "os",
];

/// The allowed globals of the language.
const LANGUAGE: &[&str] = &[
    "_G",
    "_VERSION",
    "assert",
    "bit32",
    "buffer",
    "coroutine",
    "error",
    "getmetatable",
    "ipairs",
    "math",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "select",
    "setmetatable",
    "string",
    "table",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "unpack",
    "utf8",
    "xpcall",
];

/// Other globals.
const OTHERS: &[&str] = &["array", "null", "permissions", "print", "require"];

/// Whether scripts have a global of this name.
pub(crate) fn is_global(name: &str) -> bool {
    [MODULES, LANGUAGE, OTHERS].iter().any(|names| names.contains(&name))
}

/// The allowed members of language libraries; libraries that are not listed are kept whole.
const MEMBERS: &[(&str, &[&str])] = &[
    (
        "table",
        &[
            "clear", "clone", "concat", "create", "find", "freeze", "insert", "isfrozen", "maxn", "move",
            "pack", "remove", "sort", "unpack",
        ],
    ),
    (
        "string",
        &[
            "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize",
            "rep", "reverse", "split", "sub", "unpack", "upper",
        ],
    ),
    ("coroutine", &["close", "create", "isyieldable", "resume", "running", "status", "wrap", "yield"]),
];

/// Wrapped functions, for which the compiler's fast calls must be disabled, or it would bypass the wrapper.
const WRAPPED: &[&str] = &["rawget", "rawlen", "rawset", "table.insert", "table.unpack"];

/// Creates a state, installs everything and locks it.
pub(crate) fn open(host: &Arc<Host>) -> mlua::Result<Lua> {
    let libraries = StdLib::TABLE
        | StdLib::STRING
        | StdLib::MATH
        | StdLib::UTF8
        | StdLib::BIT
        | StdLib::BUFFER
        | StdLib::COROUTINE;
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    // Everything installed here stays alive, so collecting garbage would only take time.
    lua.gc_stop();
    let globals = lua.globals();
    keep_only(&globals, |name| LANGUAGE.contains(&name))?;
    for (library, members) in MEMBERS {
        keep_only(&globals.raw_get(*library)?, |name| members.contains(&name))?;
    }
    // A fixed seed: rendering must be reproducible.
    let seed: Function = globals.raw_get::<Table>("math")?.raw_get("randomseed")?;
    seed.call::<()>(0)?;
    let prelude = run_prelude(&lua, host)?;
    install(&lua, host, &globals, &prelude)?;
    // Makes all tables so far read-only, and gives scripts globals of their own in front of them.
    lua.sandbox(true)?;
    lua.gc_restart();
    // Only now: what the host installs does not count against the chart.
    lua.set_memory_limit(host.limits.memory)?;
    meter(&lua, host);
    Ok(lua)
}

/// Starts counting steps.
fn meter(lua: &Lua, host: &Arc<Host>) {
    let metered = Arc::clone(host);
    lua.set_interrupt(move |lua| metered.meter.step(lua).map(|()| VmState::Continue));
}

/// Runs host code in the state without counting steps.
pub(crate) fn unmetered<T>(lua: &Lua, host: &Arc<Host>, work: impl FnOnce() -> T) -> T {
    lua.remove_interrupt();
    let outcome = work();
    meter(lua, host);
    outcome
}

/// Compiles a script.
pub(crate) fn compile(lua: &Lua, file: &str, text: &Str) -> Result<Function, CallError> {
    if text.len() > MAX_SCRIPT {
        return Err(CallError::Message(format!("{file}: a script can have at most {MAX_SCRIPT} bytes")));
    }
    // Source only (`ChunkMode::Text`): the engine does not validate bytecode, and crafted bytecode could
    // break out of the sandbox.
    let chunk = lua.load(text.as_bytes()).set_name(format!("@{file}")).set_mode(ChunkMode::Text);
    Ok(chunk.set_compiler(compiler()).into_function()?)
}

/// The compiler settings for all scripts.
pub(crate) fn compiler() -> Compiler {
    Compiler::new().set_disabled_builtins(WRAPPED.iter().copied())
}

fn keep_only(table: &Table, keep: impl Fn(&str) -> bool) -> mlua::Result<()> {
    let mut removed = Vec::new();
    table.for_each(|key: Value, _: Value| {
        let kept = key.as_string().is_some_and(|name| keep(&name.to_string_lossy()));
        if !kept {
            removed.push(key);
        }
        Ok(())
    })?;
    removed.into_iter().try_for_each(|key| table.raw_set(key, Value::Nil))
}

/// The bytecode of `prelude.luau`, because compiling it takes half of the run time of a small plugin. A test compares it
/// with the source.
const PRELUDE_CODE: &[u8] = include_bytes!("prelude.bytecode");

/// The bytecode of `plugin.luau`.
pub(crate) const PLUGIN_CODE: &[u8] = include_bytes!("plugin.bytecode");

/// Runs the prelude, which wraps language functions and returns what is to be installed.
fn run_prelude(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Table> {
    let functions = lua.create_table()?;
    registration::install(lua, host, &functions)?;
    require::install(lua, host, &functions)?;
    install_context(lua, host, &functions)?;
    strings::install(lua, host, &functions)?;
    functions.raw_set("print", call::function(lua, host, "print".to_owned(), modules::print)?)?;
    let limits = lua.create_table()?;
    limits.raw_set("elements", host.limits.elements)?;
    limits.raw_set("text", host.limits.text)?;
    let (pending, shadow) = (lua.create_table()?, lua.create_table()?);
    let (roots, copies) = (lua.create_table()?, lua.create_table()?);
    let prelude = lua.load(PRELUDE_CODE).set_name(format!("={PRELUDE}")).set_mode(ChunkMode::Binary);
    let prelude: Table = prelude.call((functions, &pending, &shadow, &roots, &copies, limits))?;
    let handles = Handles {
        pending,
        shadow,
        roots,
        copies,
        changed: prelude.raw_get("changed")?,
        lazy: prelude.raw_get("lazy")?,
        read_only: prelude.raw_get("read_only")?,
        list: prelude.raw_get("list")?,
        context: prelude.raw_get("context")?,
        checked: prelude.raw_get("checked")?,
    };
    for table in [&handles.lazy, &handles.read_only, &handles.list, &handles.context] {
        table.set_readonly(true);
    }
    // A host has one state, so this is set once.
    let _ = host.handles.set(handles);
    Ok(prelude)
}

/// Adds the host functions behind the context, which have their own calling conventions.
fn install_context(lua: &Lua, host: &Arc<Host>, table: &Table) -> mlua::Result<()> {
    let shared = Arc::clone(host);
    let fill = lua.create_function(move |lua, table: Table| bridge::fill(lua, &shared, &table))?;
    let shared = Arc::clone(host);
    let part =
        lua.create_function(move |lua, key: Value| call::answer(lua, bridge::part(lua, &shared, &key)))?;
    let shared = Arc::clone(host);
    let assign =
        lua.create_function(move |_, (key, value): (Value, Value)| bridge::assign(&shared, &key, &value))?;
    let shared = Arc::clone(host);
    let refusal = lua
        .create_function(move |_, (table, key): (Table, Value)| Ok(bridge::refusal(&shared, &table, &key)))?;
    let parts = lua.create_function(|_, ()| {
        Ok(std::iter::once("event").chain(bridge::Root::ALL.map(bridge::Root::as_str)).collect::<Vec<_>>())
    })?;
    let shared = Arc::clone(host);
    let charge =
        lua.create_function(move |lua, count: f64| shared.meter.charge(lua, count.max(0.0) as u64))?;
    let shared = Arc::clone(host);
    let caught = lua.create_function(move |lua, error: Value| shared.meter.check_caught(lua, &error))?;
    for (name, function) in [
        ("charge", charge),
        ("caught", caught),
        ("fill", fill),
        ("part", part),
        ("assign", assign),
        ("refusal", refusal),
        ("parts", parts),
    ] {
        table.raw_set(name, function)?;
    }
    Ok(())
}

/// Sets globals and metatables.
fn install(lua: &Lua, host: &Arc<Host>, globals: &Table, prelude: &Table) -> mlua::Result<()> {
    let functions: Table = prelude.raw_get("functions")?;
    functions.for_each(|name: Value, function: Value| globals.raw_set(name, function))?;
    globals.raw_set("events", prelude.raw_get::<Table>("events")?)?;
    globals.raw_set("null", Value::NULL)?;
    let permissions = lua.create_table()?;
    for permission in Permission::ALL {
        let has = host.granted.contains(permission) || host.assumed.contains(permission);
        permissions.raw_set(permission.as_str(), has)?;
    }
    globals.raw_set("permissions", permissions)?;
    install_modules(lua, host, globals, prelude)?;
    plugin::install(lua, host, globals, &prelude.raw_get("answer")?)?;
    set_metatables(lua, prelude)
}

fn install_modules(lua: &Lua, host: &Arc<Host>, globals: &Table, prelude: &Table) -> mlua::Result<()> {
    let checked = &host.handles().checked;
    let refused: Function = prelude.raw_get("refused")?;
    for module in modules::ALL {
        if let Some(permission) = module.permission.filter(|needed| !host.granted.contains(*needed)) {
            let name = module.name;
            let owner = match host.plugin {
                Some(_) => "the plugin must list it under runtimeConfig.permissions of its plugin.yaml",
                None => "the chart must list it in ext/permissions.yaml",
            };
            let text = format!(
                "`{name}` needs the permission `{permission}`: {owner}, and the user must grant it, for example with \
                 --accept-perms {permission}"
            );
            let table: Table = refused.call(text)?;
            table.set_readonly(true);
            globals.raw_set(name, table)?;
            continue;
        }
        let table = lua.create_table()?;
        for (name, body) in module.functions {
            let function = call::function(lua, host, format!("{}.{name}", module.name), *body)?;
            table.raw_set(*name, checked.call::<Function>(function)?)?;
        }
        table.set_readonly(true);
        globals.raw_set(module.name, table)?;
    }
    Ok(())
}

/// Makes strings, numbers and booleans callable, so that immutable fields can be written as calls, and locks the
/// metatables of basic types, which are shared by all values of the type.
fn set_metatables(lua: &Lua, prelude: &Table) -> mlua::Result<()> {
    let itself: Function = prelude.raw_get("itself")?;
    let metatable = |base: Option<Table>| {
        let table = base.map_or_else(|| lua.create_table(), Ok)?;
        table.raw_set("__call", &itself)?;
        table.raw_set("__metatable", "locked")?;
        mlua::Result::Ok(table)
    };
    let texts = metatable(lua.type_metatable::<LuaString>())?;
    let (numbers, booleans, nulls) = (metatable(None)?, metatable(None)?, lua.create_table()?);
    nulls.raw_set("__tostring", lua.create_function(|_, _: Value| Ok("null"))?)?;
    nulls.raw_set("__metatable", "locked")?;
    lua.set_type_metatable::<Number>(Some(numbers.clone()));
    lua.set_type_metatable::<bool>(Some(booleans.clone()));
    lua.set_type_metatable::<LightUserData>(Some(nulls.clone()));
    [texts, numbers, booleans, nulls].iter().for_each(|table| table.set_readonly(true));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytecode files, with the bytecode compiled from their sources.
    fn bytecode() -> [(&'static str, &'static [u8], Vec<u8>); 2] {
        let compile = |compiler: Compiler, source: &str| compiler.compile(source).unwrap();
        [
            ("prelude", PRELUDE_CODE, compile(Compiler::new(), include_str!("prelude.luau"))),
            ("plugin", PLUGIN_CODE, compile(compiler(), include_str!("plugin.luau"))),
        ]
    }

    /// With `PINTLE_WRITE_BYTECODE` set, the files are written.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test takes its settings from the environment")]
    fn the_bytecode_is_that_of_the_source() {
        let write = std::env::var_os("PINTLE_WRITE_BYTECODE").is_some();
        for (name, stored, compiled) in bytecode() {
            if write {
                std::fs::write(format!("{}/src/{name}.bytecode", env!("CARGO_MANIFEST_DIR")), compiled)
                    .unwrap();
                continue;
            }
            assert!(
                stored == compiled,
                "{name}.luau or the engine has changed: `PINTLE_WRITE_BYTECODE=1 cargo test -p pintle-lua --lib bytecode`"
            );
        }
    }
}
