//! Module resolution for `require`: scripts of the same chart and of library charts, in memory, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};
use pintle_chart::{Chart, ext};
use pintle_tree::Str;

use crate::call::CallError;
use crate::error::{Sources, caller};
use crate::host::Host;
use crate::plugin::PluginScripts;
use crate::sandbox;

/// The maximum size of a script, in bytes. Compiling is not metered, so its input is bounded.
pub(crate) const MAX_SCRIPT: usize = 1 << 20;

/// The scripts that one chart can require.
#[derive(Clone, Default)]
pub(crate) struct ModuleResolver {
    /// The scripts of the chart or plugin itself, by module name.
    own: BTreeMap<String, Script>,
    /// The scripts of library charts, by library and module name.
    libraries: BTreeMap<String, BTreeMap<String, Script>>,
    /// The names of subcharts, by the path below this chart.
    subcharts: BTreeMap<String, Vec<String>>,
    /// The module name of the main script.
    main: String,
    /// Where modules are, for errors.
    folder: &'static str,
}

/// A script.
#[derive(Clone)]
struct Script {
    /// The chunk name used in errors.
    file: String,
    text: Str,
}

impl ModuleResolver {
    /// Collects the scripts that a chart can require: libraries chosen for the whole tree first, then library
    /// subcharts, its own before those of its parents. `above` starts with the topmost chart.
    pub(crate) fn new(chart: &Chart, above: &[&Chart], chosen: &[&Chart]) -> Self {
        let mut libraries = BTreeMap::new();
        let holders = std::iter::once(&chart).chain(above.iter().rev());
        let held = holders.flat_map(|holder| holder.subcharts.iter().filter(|chart| chart.is_library()));
        for library in chosen.iter().copied().chain(held) {
            let name = library.name().to_owned();
            // The first one wins, so the order above is the precedence.
            libraries.entry(name).or_insert_with(|| scripts(library, &format!("{}/", library.name())));
        }
        let mut subcharts = BTreeMap::new();
        add_subcharts(chart, String::new(), &mut subcharts);
        let (main, folder) = ("chart".to_owned(), "ext/lua");
        ModuleResolver { own: scripts(chart, ""), libraries, subcharts, main, folder }
    }

    /// The scripts of a plugin: `lib/text.lua` is the module `lib.text`.
    pub(crate) fn of_plugin(scripts: &PluginScripts) -> Self {
        let module = |file: &str| file.strip_suffix(".lua").unwrap_or(file).replace('/', ".");
        let script =
            |(file, text): (&String, &Str)| (module(file), Script { file: file.clone(), text: text.clone() });
        ModuleResolver {
            own: scripts.files.iter().map(script).collect(),
            main: module(&scripts.main),
            folder: "the folder of the plugin",
            ..ModuleResolver::default()
        }
    }

    /// The main script.
    pub(crate) fn main(&self) -> Option<(&str, &Str)> {
        self.own.get(&self.main).map(|script| (script.file.as_str(), &script.text))
    }

    /// The source of every script, by chunk name.
    pub(crate) fn sources(&self) -> Sources {
        let all = self.own.values().chain(self.libraries.values().flat_map(BTreeMap::values));
        all.map(|script| (script.file.clone(), script.text.clone())).collect()
    }

    /// The names of the subcharts of a chart below this one.
    pub(crate) fn subcharts(&self, path: &str) -> &[String] {
        self.subcharts.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Resolves a module name for the file that requires it.
    ///
    /// # Errors
    /// The reason as text.
    fn find(&self, name: &str, from: Option<&str>) -> Result<&Script, String> {
        if !is_name(name) {
            return Err(format!(
                "require({name:?}): a module is named after its file below {}, as `x` or `a.b`, or `library/x` for one \
                 of a library chart",
                self.folder
            ));
        }
        let missing = |where_: &str, names: Vec<&str>| {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("require({name:?}): there is no such module in {where_}; there are: {known}")
        };
        let (scripts, module, where_) = match name.split_once('/') {
            Some((library, module)) => {
                let scripts = self.libraries.get(library);
                let names = || self.libraries.keys().map(String::as_str).collect();
                (
                    scripts.ok_or_else(|| missing("library charts", names()))?,
                    module,
                    format!("library {library}"),
                )
            }
            // Inside a library, a plain name means a module of the same library.
            None => match from.and_then(|file| self.owner(file)) {
                Some((library, scripts)) => (scripts, name, format!("library {library}")),
                None => (&self.own, name, self.folder.to_owned()),
            },
        };
        let names = || scripts.keys().map(String::as_str).collect();
        scripts.get(module).ok_or_else(|| missing(&where_, names()))
    }

    /// Whether a name resolves, for linting without running.
    pub(crate) fn check(&self, name: &str, from: &str) -> Result<(), String> {
        self.find(name, Some(from)).map(|_| ())
    }

    /// The library that a file belongs to.
    fn owner(&self, file: &str) -> Option<(&str, &BTreeMap<String, Script>)> {
        let owns = |scripts: &BTreeMap<String, Script>| scripts.values().any(|script| script.file == file);
        let found = self.libraries.iter().find(|(_, scripts)| owns(scripts));
        found.map(|(name, scripts)| (name.as_str(), scripts))
    }
}

/// The libraries chosen for a tree. If they cannot be resolved the list is empty; rendering reports the error.
pub(crate) fn chosen_libraries(root: &Chart) -> Vec<&Chart> {
    pintle_chart::library::resolve(root).unwrap_or_default()
}

/// The charts below a chart whose scripts run: its subcharts, and those of its libraries that were chosen.
pub(crate) fn below<'c>(chart: &'c Chart, chosen: &[&'c Chart]) -> impl Iterator<Item = &'c Chart> {
    // By address: two versions of a library have the same name.
    let is_chosen = |library: &&Chart| chosen.iter().any(|chosen| std::ptr::eq(*chosen, *library));
    let libraries: Vec<&Chart> = chart.libraries.iter().filter(is_chosen).collect();
    chart.subcharts.iter().chain(libraries)
}

fn scripts(chart: &Chart, prefix: &str) -> BTreeMap<String, Script> {
    let script = |(name, file): (String, &pintle_chart::File)| {
        (name, Script { file: format!("{prefix}{}", file.name), text: file.data.text() })
    };
    ext::scripts(chart).map(script).collect()
}

fn add_subcharts(chart: &Chart, path: String, subcharts: &mut BTreeMap<String, Vec<String>>) {
    let names: Vec<String> = chart.subcharts.iter().map(|chart| chart.name().to_owned()).collect();
    for subchart in &chart.subcharts {
        let name = subchart.name();
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        add_subcharts(subchart, below, subcharts);
    }
    subcharts.insert(path, names);
}

/// Whether a string is a valid module name: identifiers separated by dots, with at most one slash after the first.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    let (library, module) = name.split_once('/').unwrap_or(("x", name));
    is_word(library) && module.split('.').all(is_word)
}

/// Adds the host function behind `require` to the table for the prelude. It returns a built-in module, or the cache
/// key and the function of a script to load.
pub(crate) fn install(lua: &Lua, host: &Arc<Host>, table: &Table) -> mlua::Result<()> {
    let host = Arc::clone(host);
    let locate = lua.create_function(move |lua, name: Value| {
        host.meter.charge(lua, 1)?;
        let (ok, values) = match locate(lua, &host, &name) {
            Ok(values) => (true, values),
            Err(CallError::Message(text)) => (false, vec![Value::String(lua.create_string(text)?)]),
            Err(CallError::Lua(error)) => return Err(error),
        };
        Ok(MultiValue::from_iter(std::iter::once(Value::Boolean(ok)).chain(values)))
    })?;
    table.raw_set("locate", locate)
}

fn locate(lua: &Lua, host: &Host, name: &Value) -> Result<Vec<Value>, CallError> {
    let Value::String(text) = name else {
        let found = crate::bridge::type_name(name);
        return Err(CallError::Message(format!("require: argument 1 must be a string, not {found}")));
    };
    let text = text.to_string_lossy();
    if sandbox::MODULES.contains(&text.as_str()) {
        return Ok(vec![lua.globals().get(text)?]);
    }
    // From the call stack, because the argument is a name only.
    let from = caller(lua).map(|(file, _)| file);
    let script = host.resolver.find(&text, from.as_deref())?;
    let function = sandbox::compile(lua, &script.file, &script.text)?;
    Ok(vec![Value::String(lua.create_string(&script.file)?), Value::Function(function)])
}
