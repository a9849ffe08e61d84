//! Plugins in Luau: a script with a function `main(args)`, in a sandbox of its own, with standard streams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, Table, Value};
use pintle_events::ChartPath;
use pintle_tree::Str;

use crate::budget::Budget;
use crate::error::Failure;
use crate::host::Host;
use crate::limits::Limits;
use crate::modules;
use crate::permission::Permissions;
use crate::require::ModuleResolver;
use crate::sandbox;
use crate::script::Script;
use crate::services::Services;
use crate::streams::Streams;

/// The scripts of a plugin, and the metadata that its scripts can read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginScripts {
    /// The name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its folder.
    pub dir: String,
    /// The main script: a key of `files`.
    pub main: String,
    /// All scripts, by their paths below the folder of the plugin.
    pub files: BTreeMap<String, Str>,
    /// The settings of the host, such as `HELM_NAMESPACE`. They are not secret, so no permission is needed.
    pub settings: BTreeMap<String, String>,
}

/// What `main` gets: a list, with named fields beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginArguments {
    /// The words of the command line.
    pub words: Vec<String>,
    /// Fields by name, such as the `url` for a getter.
    pub fields: BTreeMap<String, String>,
}

/// What the host functions of a plugin use.
pub(crate) struct PluginHost {
    pub(crate) scripts: PluginScripts,
    pub(crate) streams: Arc<dyn Streams>,
}

impl Limits {
    /// The limits of plugins, which users install and call themselves: enough for large manifests. `time` is the timeout;
    /// time spent waiting for standard input does not count.
    #[must_use]
    pub fn for_plugin(time: Duration) -> Limits {
        Limits {
            memory: 2 << 30,
            // The time is limit enough.
            steps: u64::MAX,
            time,
            text: 256 << 20,
            nodes: 20_000_000,
            elements: 20_000_000,
            all_memory: 2 << 30,
            all_steps: u64::MAX,
            all_time: time,
            all_disk: 4 << 30,
            ..Limits::default()
        }
    }
}

/// A plugin whose main script has run, and whose function `main` can be called.
pub struct LoadedPlugin {
    script: Script,
    main_file: String,
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LoadedPlugin").field("main_file", &self.main_file).finish_non_exhaustive()
    }
}

impl LoadedPlugin {
    /// Makes a sandbox and runs the main script in it.
    ///
    /// # Errors
    /// When the script fails or exceeds a limit.
    pub fn load(
        scripts: PluginScripts,
        granted: &Permissions,
        limits: &Limits,
        services: &Services,
        streams: Arc<dyn Streams>,
    ) -> Result<LoadedPlugin, Box<Failure>> {
        let resolver = ModuleResolver::of_plugin(&scripts);
        let main_file = scripts.main.clone();
        let budget = Arc::new(Budget::new(limits));
        let name = ChartPath::top(&scripts.name);
        let mut host = Host::new(name, *limits, services.clone(), granted.clone(), resolver, budget);
        host.plugin = Some(PluginHost { scripts, streams });
        Ok(LoadedPlugin { script: Script::load(host)?, main_file })
    }

    /// Calls the global function `main` with the arguments. Returns the exit code: what `main` returned, or 0.
    ///
    /// # Errors
    /// When the function fails or exceeds a limit, and when there is none.
    pub fn call(&self, arguments: &PluginArguments) -> Result<u8, Box<Failure>> {
        let code = self.script.call_main(|lua| {
            let main: Value = lua.globals().get("main")?;
            let Value::Function(main) = main else {
                let text = format!("{} defines no function `main`", self.main_file);
                return Err(mlua::Error::RuntimeError(text));
            };
            Ok((main, arguments_table(lua, arguments)?))
        })?;
        exit_code(&code).map_err(|text| Box::new(Failure::new(text)))
    }
}

fn arguments_table(lua: &Lua, arguments: &PluginArguments) -> mlua::Result<Table> {
    let table = lua.create_sequence_from(arguments.words.iter().map(String::as_str))?;
    for (name, value) in &arguments.fields {
        table.raw_set(name.as_str(), value.as_str())?;
    }
    Ok(table)
}

/// The exit code that `main` returned.
fn exit_code(value: &Value) -> Result<u8, String> {
    let number = match value {
        Value::Nil | Value::Boolean(true) => return Ok(0),
        // As in `os.exit` of Lua: true is success.
        Value::Boolean(false) => return Ok(1),
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        other => return Err(format!("`main` returned a {}, and not an exit code", other.type_name())),
    };
    if number.fract() == 0.0 && (0.0..=255.0).contains(&number) {
        return Ok(number as u8);
    }
    Err(format!("`main` returned {number}, and exit codes are whole numbers from 0 to 255"))
}

/// Installs what only plugins have: `io`, `plugin`, and a `print` to standard output.
pub(crate) fn install(lua: &Lua, host: &Arc<Host>, globals: &Table, answer: &Value) -> mlua::Result<()> {
    let Some(plugin) = &host.plugin else { return Ok(()) };
    let functions = lua.create_table()?;
    for (name, body) in modules::STREAMS {
        let function = crate::call::function(lua, host, format!("io.{name}"), *body)?;
        functions.raw_set(*name, function)?;
    }
    let chunk = lua.load(sandbox::PLUGIN_CODE).set_name(format!("={}", crate::error::PRELUDE));
    let chunk = chunk.set_mode(mlua::chunk::ChunkMode::Binary);
    let (io, print): (Table, Value) = chunk.call((functions, answer))?;
    io.set_readonly(true);
    globals.raw_set("io", io)?;
    globals.raw_set("print", print)?;
    globals.raw_set("plugin", about(lua, &plugin.scripts)?)?;
    // A plugin has no lifecycle.
    globals.raw_set("events", Value::Nil)
}

/// The global `plugin`.
fn about(lua: &Lua, scripts: &PluginScripts) -> mlua::Result<Table> {
    let about = lua.create_table()?;
    about.raw_set("name", scripts.name.as_str())?;
    about.raw_set("version", scripts.version.as_str())?;
    about.raw_set("dir", scripts.dir.as_str())?;
    let settings = lua.create_table()?;
    for (name, value) in &scripts.settings {
        settings.raw_set(name.as_str(), value.as_str())?;
    }
    settings.set_readonly(true);
    about.raw_set("settings", settings)?;
    about.set_readonly(true);
    Ok(about)
}
