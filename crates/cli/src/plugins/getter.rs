//! Getters: plugins that download what URLs of their schemes name, and git repositories.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use pintle::lua::PluginArguments;
use pintle::repo::{Access, Error, Request, SchemeGetter};
use pintle_plugin::{Plugin, Prepared, Runtime, Subprocess};
use pintle_tree::quote::quote;

use super::git_getter;
use super::lua::{BufferStreams, LuaRun};
use super::process::{Stderr, Variables, capture, outcome, timeout};
use crate::env::Environment;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::ui::Ui;

/// The getters for schemes other than HTTP and OCI. Plugins are loaded when the first URL of such a scheme is fetched.
pub(crate) struct Getters {
    personality: Personality,
    called_as: String,
    variables: Variables,
    plugins: OnceLock<Vec<Plugin>>,
}

impl Getters {
    /// The getters of an invocation.
    pub(crate) fn new(invocation: &Invocation<'_>) -> Getters {
        let flags = &invocation.flags;
        // The link for HELM_BIN is made when a getter runs.
        let variables = Variables::without_bin(invocation.called_as, flags, invocation.environment);
        Getters {
            personality: invocation.personality,
            called_as: invocation.called_as.to_owned(),
            variables,
            plugins: OnceLock::new(),
        }
    }

    fn plugins(&self) -> &[Plugin] {
        self.plugins.get_or_init(|| {
            let environment = Environment::from_process();
            // Helm treats `HELM_PLUGINS` as a single folder here, but as a list elsewhere.
            let folders = match self.personality {
                Personality::Helm => vec![super::folder(&environment), super::own_folder(&environment)],
                Personality::Pintle => super::folders(&environment),
            };
            let mut ui = Ui::new(self.personality);
            super::load(self.personality, &folders, &mut ui).unwrap_or_default()
        })
    }

    fn plugin(&self, scheme: &str) -> Option<&Plugin> {
        self.plugins().iter().find(|plugin| plugin.metadata.protocols.iter().any(|known| known == scheme))
    }
}

/// The scheme of a URL in lower case, as Go has it; empty if it has none.
pub(crate) fn scheme_of(url: &str) -> String {
    match url.split_once(':') {
        Some((scheme, _))
            if scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
        {
            scheme.to_ascii_lowercase()
        }
        _ => String::new(),
    }
}

impl SchemeGetter for Getters {
    fn knows(&self, scheme: &str) -> bool {
        !scheme.is_empty() && (self.plugin(scheme).is_some() || git_getter::knows(scheme))
    }

    fn get(&self, request: &Request<'_>) -> Result<Vec<u8>, Error> {
        let scheme = scheme_of(request.url);
        let environment = Environment::from_process();
        let fetch = |text: String| Error::Fetch(text);
        let Some(plugin) = self.plugin(&scheme) else {
            return git_getter::get(request.url, &environment).map_err(|failure| fetch(failure.text.clone()));
        };
        let fetched = match &plugin.metadata.runtime {
            Runtime::Lua(_) => run_script(plugin, request, &self.variables, &environment),
            Runtime::Extism(_) => run_module(plugin, request, &self.variables, &environment),
            Runtime::Subprocess(subprocess) => {
                let variables = self.variables.clone();
                variables
                    .with_bin(self.personality, &self.called_as, &environment)
                    .and_then(|variables| run(plugin, subprocess, request, &variables, &environment))
            }
        };
        fetched.map_err(|failure| {
            let own = failure.own.as_ref().filter(|_| self.personality == Personality::Pintle);
            let name = quote(plugin.metadata.name.as_bytes());
            fetch(format!("plugin {name} failed to invoke: {}", own.unwrap_or(&failure.text)))
        })
    }
}

/// Runs a getter in Lua. It gets the arguments of a program, also as named fields, and prints what it has fetched.
fn run_script(
    plugin: &Plugin,
    request: &Request<'_>,
    variables: &Variables,
    environment: &Environment,
) -> Result<Vec<u8>, Failure> {
    let access = &request.access;
    let named = [
        ("cert_file", access.cert_file.as_str()),
        ("key_file", access.key_file.as_str()),
        ("ca_file", access.ca_file.as_str()),
        ("url", request.url),
        ("username", access.username.as_str()),
        ("password", access.password.as_str()),
    ];
    let arguments = PluginArguments {
        words: named[..4].iter().map(|(_, value)| (*value).to_owned()).collect(),
        fields: named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    let streams = BufferStreams::new(Vec::new());
    let run = LuaRun {
        plugin,
        arguments,
        variables: &variables.for_plugin(plugin),
        cluster: None,
        time: timeout(environment)?,
        debug: false,
        is_last: false,
    };
    run.run(Arc::clone(&streams) as Arc<_>, environment)?;
    Ok(streams.take_output())
}

/// Runs a getter in WebAssembly. Its options have the names that they have in Helm's source.
#[cfg(feature = "wasm")]
fn run_module(
    plugin: &Plugin,
    request: &Request<'_>,
    variables: &Variables,
    environment: &Environment,
) -> Result<Vec<u8>, Failure> {
    use super::wasm::{WasmRun, field, object};
    use pintle_tree::Node;
    let (access, time) = (&request.access, timeout(environment)?);
    let text = |text: &str| Node::from(text);
    let options = object([
        ("AcceptHeader", text(request.accept)),
        ("CAFile", text(&access.ca_file)),
        ("CertFile", text(&access.cert_file)),
        ("InsecureSkipVerifyTLS", Node::Bool(access.insecure_skip_tls_verify)),
        ("KeyFile", text(&access.key_file)),
        ("PassCredentialsAll", Node::Bool(access.pass_credentials_all)),
        ("Password", text(&access.password)),
        ("PlainHTTP", Node::Bool(false)),
        ("Timeout", Node::Int(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))),
        ("UNTar", Node::Bool(false)),
        ("URL", text(request.url)),
        ("UserAgent", text("")),
        ("Username", text(&access.username)),
        ("Version", text("")),
    ]);
    let message = object([
        ("href", text(request.url)),
        ("options", options),
        ("protocol", text(&scheme_of(request.url))),
    ]);
    let variables = variables.for_plugin(plugin).all().clone().into_iter().collect();
    let run = WasmRun { plugin, message, variables, time, debug: false };
    let returned = run.run(BufferStreams::new(Vec::new()))?;
    field(&returned, plugin, "data", false)
}

#[cfg(not(feature = "wasm"))]
fn run_module(plugin: &Plugin, _: &Request<'_>, _: &Variables, _: &Environment) -> Result<Vec<u8>, Failure> {
    Err(super::without_wasm(plugin))
}

fn run(
    plugin: &Plugin,
    subprocess: &Subprocess,
    request: &Request<'_>,
    variables: &Variables,
    environment: &Environment,
) -> Result<Vec<u8>, Failure> {
    let scheme = scheme_of(request.url);
    let scheme_quoted = quote(scheme.as_bytes());
    let commands = subprocess.protocol_commands.iter();
    let command = commands.into_iter().find(|command| command.protocols.contains(&scheme));
    let command = command
        .ok_or_else(|| Failure::run_time(format!("no downloader found for protocol {scheme_quoted}")))?;
    let access = &request.access;
    let variables = with_credentials(variables.for_plugin(plugin), access);
    let extra =
        [&access.cert_file, &access.key_file, &access.ca_file, &request.url.to_owned()].map(String::clone);
    let prepared =
        variables.prepare(&command.platform_command, false, &extra, environment).map_err(|failure| {
            failure.during(&format!("failed to prepare commands for protocol {scheme_quoted}"))
        })?;
    let program = program_of(&plugin.dir, &prepared.program);
    let mut command = variables.command(&Prepared { program, args: prepared.args }, environment)?;
    let captured = capture(&mut command, None, Stderr::Shown, timeout(environment)?)?;
    outcome(&plugin.metadata.name, captured.status)?;
    Ok(captured.stdout)
}

/// The variables with the credentials for a server.
pub(super) fn with_credentials(variables: Variables, access: &Access) -> Variables {
    variables
        .with("HELM_PLUGIN_USERNAME", &access.username)
        .with("HELM_PLUGIN_PASSWORD", &access.password)
        .with("HELM_PLUGIN_PASS_CREDENTIALS_ALL", &access.pass_credentials_all.to_string())
}

/// Resolves the program of a getter below the folder of its plugin, even if its path is absolute.
pub(super) fn program_of(dir: &Path, program: &str) -> String {
    crate::path::join(&[&dir.to_string_lossy(), program])
}
