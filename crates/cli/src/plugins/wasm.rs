//! Runs plugins of the runtime `extism/v1`: modules of WebAssembly that get one message in JSON and return one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pintle::Network;
use pintle::lua::{Fetch as _, FetchRequest, Stream, Streams};
use pintle_plugin::{ExtismConfig, Plugin, Runtime, WASM};
use pintle_tree::quote::quote;
use pintle_tree::{Map, Node, Str, json};
use pintle_wasm::{Error, Host, HttpRequest, HttpResponse, Level, Settings, call};

use crate::clock;
use crate::failure::{Failure, FailureKind, reason};
use crate::ui;

/// The largest module that is read.
const MAX_MODULE: u64 = 128 << 20;

/// How long an HTTP request of a module may take.
const HTTP_TIMEOUT: Duration = Duration::from_secs(120);

/// A plugin that is about to run.
pub(crate) struct WasmRun<'r> {
    pub(crate) plugin: &'r Plugin,
    /// The message that it receives.
    pub(crate) message: Node,
    /// Its environment.
    pub(crate) variables: Vec<(String, String)>,
    /// How long it may work, unless its manifest sets a shorter limit.
    pub(crate) time: Duration,
    pub(crate) debug: bool,
}

/// The settings of a plugin in WebAssembly.
pub(crate) fn config(plugin: &Plugin) -> Option<&ExtismConfig> {
    match &plugin.metadata.runtime {
        Runtime::Extism(config) => Some(config),
        _ => None,
    }
}

/// The map of some fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Node); N]) -> Node {
    Node::Map(Map::from_entries(fields.into_iter().map(|(name, value)| (name.into(), value)).collect()))
}

/// A list of texts.
pub(crate) fn strings(texts: &[String]) -> Node {
    Node::List(texts.iter().map(|text| Node::from(text.as_str())).collect())
}

impl WasmRun<'_> {
    /// Runs the plugin on some streams, and returns its message; nil if it returned none.
    ///
    /// # Errors
    ///
    /// Modules that cannot be loaded, what they report, and exit codes other than 0.
    pub(crate) fn run(self, streams: Arc<dyn Streams>) -> Result<Node, Failure> {
        let name = self.plugin.metadata.name.clone();
        let settings = self.settings()?;
        let module = self.module()?;
        let input = json::write(&self.message)
            .map_err(|error| Failure::run_time(format!("the message to the plugin: {error}")))?;
        let host = PluginHost { name: name.clone(), variables: self.variables, debug: self.debug, streams };
        let returned =
            call(&module, &settings, Box::new(host), &input).map_err(|error| failed(&name, &error))?;
        if returned.code != 0 {
            return Err(super::exited(&name, u8::try_from(returned.code & 0xff).unwrap_or(1)));
        }
        if returned.output.is_empty() {
            return Ok(Node::Nil);
        }
        json::read(&returned.output).map_err(|error| {
            Failure::run_time(format!("the plugin `{name}` returned a message that is not JSON: {error}"))
        })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let config = config(self.plugin).cloned().unwrap_or_default();
        if let Some(function) = config.host_functions.first() {
            let function = quote(function.as_bytes());
            return Err(Failure::run_time(format!("plugin requested host function {function} not found")));
        }
        let default = Settings::default();
        let limit = Duration::from_millis(config.timeout);
        Ok(Settings {
            max_pages: config.max_pages,
            max_http_bytes: config.max_http_bytes,
            max_variable_bytes: config.max_variable_bytes,
            config: config.config,
            allowed_hosts: config.allowed_hosts,
            temporary_files: config.create_temp_dir,
            timeout: if limit.is_zero() { self.time } else { limit.min(self.time) },
            entry: if config.entry.is_empty() { default.entry } else { config.entry },
        })
    }

    fn module(&self) -> Result<Vec<u8>, Failure> {
        let file = self.plugin.dir.join(WASM);
        let failed = |text: String| Failure::run_time(format!("{}: {text}", file.display()));
        let found = std::fs::metadata(&file).map_err(|error| failed(reason(&error)))?;
        if found.len() > MAX_MODULE {
            return Err(failed(format!("a module can have at most {} MiB", MAX_MODULE >> 20)));
        }
        crate::read::file(&file, crate::read::MAX_STREAM).map_err(|error| failed(reason(&error)))
    }
}

fn failed(name: &str, error: &Error) -> Failure {
    Failure::new(FailureKind::RunTime, format!("plugin error: {error}"))
        .with_pintle_text(format!("plugin `{name}`: {error}"))
}

/// The bytes in a field of a message: base64, or for a post-renderer also the text itself.
///
/// # Errors
///
/// Messages without such a field.
pub(crate) fn field(
    message: &Node,
    plugin: &Plugin,
    field: &str,
    may_be_text: bool,
) -> Result<Vec<u8>, Failure> {
    let wrong = |problem: &str| {
        let name = &plugin.metadata.name;
        Failure::run_time(format!("the plugin `{name}` returned a message whose field `{field}` {problem}"))
    };
    let value = match message {
        Node::Map(fields) => fields.get(field),
        _ => None,
    };
    match value {
        None | Some(Node::Nil) => Ok(Vec::new()),
        Some(Node::Str(text)) => match BASE64_STANDARD.decode(text.as_bytes()) {
            // Manifests contain colons, which are not in the base64 alphabet.
            Ok(bytes) if !may_be_text || bytes.contains(&b':') => Ok(bytes),
            _ if may_be_text => Ok(text.as_bytes().to_vec()),
            _ => Err(wrong("is not base64")),
        },
        Some(_) => Err(wrong("is not a string")),
    }
}

/// What a module gets from this program.
struct PluginHost {
    name: String,
    variables: Vec<(String, String)>,
    debug: bool,
    streams: Arc<dyn Streams>,
}

impl Host for PluginHost {
    fn variables(&self) -> Vec<(String, String)> {
        self.variables.clone()
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A line at a time, so that a plugin can talk with its user.
        let bytes = self.streams.read_line(buffer.len())?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write(&mut self, stream: pintle_wasm::Stream, bytes: &[u8]) -> io::Result<()> {
        let stream = match stream {
            pintle_wasm::Stream::Out => Stream::Out,
            pintle_wasm::Stream::Error => Stream::Error,
        };
        self.streams.write(stream, bytes)
    }

    fn fetch(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let sent = FetchRequest {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            timeout: HTTP_TIMEOUT,
            max_bytes: usize::try_from(request.max_bytes).unwrap_or(usize::MAX),
        };
        // Private addresses are allowed: the manifest lists the hosts, which may be internal ones of a company.
        let received = Network::with_private_addresses().fetch(&sent, &(Arc::new(|| false) as Arc<_>))?;
        Ok(HttpResponse { status: received.status, headers: received.headers, body: received.body })
    }

    fn log_level(&self) -> Option<Level> {
        Some(if self.debug { Level::Trace } else { Level::Warn })
    }

    fn log(&mut self, level: Level, text: &str) {
        let level = match level {
            Level::Trace | Level::Debug => "debug",
            Level::Info => "note",
            Level::Warn => "warning",
            Level::Error => "error",
        };
        for line in text.split('\n') {
            // Errors of standard error are ignored: there is no other stream to report them on.
            let _ = ui::eprint_line(&format!("{level}: plugin {}: {line}", self.name));
        }
    }

    fn now(&self) -> Duration {
        clock::since_epoch()
    }

    fn random(&mut self, buffer: &mut [u8]) {
        rand::RngCore::fill_bytes(&mut rand::thread_rng(), buffer);
    }
}

/// The text of a message, as it is for programs.
pub(crate) fn text(bytes: &[u8]) -> Node {
    Node::Str(Str::from(bytes.to_vec()))
}
