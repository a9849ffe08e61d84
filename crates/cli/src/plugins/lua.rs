//! Runs plugins of the runtime `lua`, in a sandbox, with the permissions that the user has granted.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Read, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::Network;
use pintle::events::ChartPath;
use pintle::lua::{
    ClusterReader, Level, Limits, Listener, LoadedPlugin, PluginArguments, PluginScripts, Services, Stream,
    Streams, System,
};
use pintle_plugin::{LuaConfig, Plugin, Runtime, read_scripts};

use super::permissions;
use super::process::{MAX_OUTPUT, Variables, too_much_output};
use crate::clock;
use crate::env::Environment;
use crate::failure::{Failure, FailureKind};
use crate::ui;

/// Variables that may be secret; plugins need a permission for them.
const SECRET: [&str; 3] = ["HELM_KUBETOKEN", "HELM_PLUGIN_USERNAME", "HELM_PLUGIN_PASSWORD"];

/// A plugin in Lua that is about to run.
pub(crate) struct LuaRun<'r> {
    pub(crate) plugin: &'r Plugin,
    pub(crate) arguments: PluginArguments,
    pub(crate) variables: &'r Variables,
    /// The cluster, for plugins that are commands.
    pub(crate) cluster: Option<Arc<dyn ClusterReader>>,
    /// How long the plugin may work.
    pub(crate) time: Duration,
    pub(crate) debug: bool,
    /// Whether the process ends with the plugin.
    pub(crate) is_last: bool,
}

/// The settings of a plugin in Lua.
pub(crate) fn config(plugin: &Plugin) -> Option<&LuaConfig> {
    match &plugin.metadata.runtime {
        Runtime::Lua(config) => Some(config),
        _ => None,
    }
}

impl LuaRun<'_> {
    /// Runs the plugin on some streams.
    ///
    /// # Errors
    ///
    /// Permissions that were not granted, what went wrong in the script, and exit codes other than 0.
    pub(crate) fn run(self, streams: Arc<dyn Streams>, environment: &Environment) -> Result<(), Failure> {
        let name = self.plugin.metadata.name.clone();
        let granted = permissions::granted(self.plugin, environment)?;
        let services = Services {
            listener: Some(Arc::new(PluginListener { name: name.clone(), debug: self.debug })),
            cluster: self.cluster.clone(),
            // Private addresses are allowed: a company's plugins need its internal hosts.
            network: Some(Arc::new(Network::with_private_addresses())),
            folder: Some(PathBuf::from(".")),
            system: Some(Arc::new(PluginSystem { variables: self.variables.all().clone() })),
            ..Services::default()
        };
        let scripts = self.scripts()?;
        let limits = Limits::for_plugin(self.time);
        let outcome = LoadedPlugin::load(scripts, &granted, &limits, &services, streams).and_then(|plugin| {
            let code = plugin.call(&self.arguments);
            if self.is_last {
                // The process exits next, and the system reclaims the memory faster than dropping it would.
                std::mem::forget(plugin);
            }
            code
        });
        let stdout_closed = io::stdout().flush().err();
        match outcome {
            Ok(0) => stdout_closed.map_or(Ok(()), |error| Err(error.into())),
            Ok(code) => Err(super::exited(&name, code)),
            Err(failure) => {
                let location = match (&failure.file, failure.line) {
                    (Some(file), Some(line)) => format!("{file}:{line}: "),
                    _ => String::new(),
                };
                let text = format!("plugin `{name}`: {location}{}", failure.message);
                let mut shown = Failure::new(FailureKind::RunTime, text);
                shown.excerpt.clone_from(&failure.excerpt);
                Err(shown)
            }
        }
    }

    fn scripts(&self) -> Result<PluginScripts, Failure> {
        let metadata = &self.plugin.metadata;
        let main = config(self.plugin).map(|config| config.script.clone()).unwrap_or_default();
        let files = read_scripts(&self.plugin.dir)?;
        let settings = self.variables.all().iter().filter(|(name, _)| !SECRET.contains(&name.as_str()));
        Ok(PluginScripts {
            name: metadata.name.clone(),
            version: metadata.version.clone(),
            dir: self.plugin.dir.to_string_lossy().into_owned(),
            main,
            files: files.into_iter().map(|(file, text)| (file, text.into())).collect(),
            settings: settings.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }
}

/// The environment of this process with the variables of the plugin.
struct PluginSystem {
    variables: BTreeMap<String, String>,
}

impl System for PluginSystem {
    fn variable(&self, name: &str) -> Option<String> {
        if let Some(value) = self.variables.get(name) {
            return Some(value.clone());
        }
        // Such a name cannot be set, and looking it up is an error of the caller.
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        is_name.then(|| Environment::from_process().variable(name)).flatten()
    }

    #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are exact for a very long time")]
    fn now(&self) -> f64 {
        clock::now() as f64
    }
}

/// Prints what the plugin logs, each line with its source.
struct PluginListener {
    name: String,
    debug: bool,
}

impl Listener for PluginListener {
    fn log(&self, _: &ChartPath, level: Level, text: &str) {
        let level = match level {
            Level::Debug if !self.debug => return,
            Level::Debug => "debug",
            Level::Info => "note",
            Level::Warn => "warning",
            Level::Error => "error",
        };
        for line in text.split('\n') {
            // Errors of standard error are ignored: there is no other stream to report them on.
            let _ = ui::eprint_line(&format!("{level}: plugin {}: {line}", self.name));
        }
    }
}

/// The streams of this process.
pub(crate) struct ProcessStreams;

impl Streams for ProcessStreams {
    fn read(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(limit as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_line(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(limit as u64).read_until(b'\n', &mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Out => io::stdout().write_all(bytes),
            Stream::Error => io::stderr().write_all(bytes),
        }
    }
}

/// Streams in memory, for plugins whose output is for this program. Standard error is that of this process.
pub(crate) struct BufferStreams {
    input: Mutex<io::Cursor<Vec<u8>>>,
    output: Mutex<Vec<u8>>,
}

impl BufferStreams {
    /// Streams with some input.
    pub(crate) fn new(input: Vec<u8>) -> Arc<BufferStreams> {
        Arc::new(BufferStreams { input: Mutex::new(io::Cursor::new(input)), output: Mutex::default() })
    }

    /// What was written so far.
    pub(crate) fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut self.output.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Streams for BufferStreams {
    fn read(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        Read::by_ref(&mut *input).take(limit as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_line(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        Read::by_ref(&mut *input).take(limit as u64).read_until(b'\n', &mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        if stream == Stream::Error {
            return io::stderr().write_all(bytes);
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if (output.len() + bytes.len()) as u64 > MAX_OUTPUT {
            return Err(io::Error::other(too_much_output()));
        }
        output.extend_from_slice(bytes);
        Ok(())
    }
}
