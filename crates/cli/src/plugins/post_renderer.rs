//! Post-renderers: plugins, programs, and the filters of this program.

use std::sync::Arc;

use pintle::lua::PluginArguments;
use pintle::{PostRenderOptions, PostRenderStrategy, PostRenderer};
use pintle_plugin::{Plugin, Prepared, Runtime, Subprocess};
use pintle_tree::quote::quote;

use super::lua::{BufferStreams, LuaRun};
use super::process::{Captured, Stderr, Variables, capture, look_path, outcome, timeout};
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::ui;

/// The filters of this program, with the commands that they are.
const FILTERS: [(&str, &[&str]); 3] = [
    ("hooks", &["post-render", "hooks"]),
    ("images", &["post-render", "images"]),
    ("images rewrite", &["post-render", "images"]),
];

/// The post-renderers of the flags.
///
/// # Errors
///
/// Names that are neither a plugin nor a program nor a filter of ours.
pub(crate) fn from_flags(invocation: &mut Invocation<'_>) -> Result<PostRenderOptions, Failure> {
    let flags = &invocation.flags;
    let names: Vec<String> =
        flags.list(names::POST_RENDERER).iter().filter(|name| !name.is_empty()).cloned().collect();
    let args = flags.list(names::POST_RENDERER_ARGS).to_vec();
    let strategy = match flags.text(names::POST_RENDERER_STRATEGY) {
        "separate" => PostRenderStrategy::Separate,
        "nohooks" => PostRenderStrategy::NoHooks,
        "" | "combined" => PostRenderStrategy::Combined,
        other => {
            return Err(Failure::usage(format!("unknown post-render strategy: '{other}'"))
                .hint("it may be combined, separate or nohooks"));
        }
    };
    let mut renderers: Vec<Arc<dyn PostRenderer>> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if at > 0 && invocation.personality == Personality::Helm {
            return Err(refused(name, "cannot specify --post-renderer flag more than once"));
        }
        renderers.push(find(invocation, name, &args)?);
    }
    Ok(PostRenderOptions { renderers, strategy })
}

fn refused(name: &str, reason: &str) -> Failure {
    Failure::bad_argument(name, names::POST_RENDERER, reason)
}

/// What a name means: a plugin, a filter of ours, a path, or a program on the path, in this order.
fn find(
    invocation: &mut Invocation<'_>,
    name: &str,
    args: &[String],
) -> Result<Arc<dyn PostRenderer>, Failure> {
    let environment = invocation.environment;
    let plugin = super::post_renderer(invocation.personality, environment, name, invocation.ui)
        .map_err(|failure| refused(name, &failure.text))?;
    let (called_as, flags) = (invocation.called_as, &invocation.flags);
    if let Some(plugin) = plugin.as_ref().filter(|plugin| super::lua::config(plugin).is_some()) {
        // The user learns of missing permissions before anything is rendered.
        super::permissions::granted(plugin, environment)?;
        let variables = Variables::for_script(called_as, flags, environment).for_plugin(plugin);
        return Ok(Arc::new(Script { plugin: plugin.clone(), args: args.to_vec(), variables }));
    }
    if let Some(plugin) =
        plugin.as_ref().filter(|plugin| matches!(plugin.metadata.runtime, Runtime::Extism(_)))
    {
        let variables = Variables::for_script(called_as, flags, environment).for_plugin(plugin);
        return of_module(plugin, args, variables);
    }
    let variables = Variables::of_helm(invocation.personality, called_as, flags, environment);
    if let Some((plugin, subprocess)) =
        plugin.as_ref().and_then(|plugin| Some((plugin, plugin.metadata.subprocess()?)))
    {
        return Ok(Arc::new(of_plugin(plugin, subprocess, args, &variables?, environment)));
    }
    let prepared = |program: String, first: &[&str]| Prepared {
        program,
        args: first.iter().map(|word| (*word).to_owned()).chain(args.iter().cloned()).collect(),
    };
    let prepared = if let Some((_, words)) = FILTERS.iter().find(|(filter, _)| *filter == name) {
        prepared(std::env::current_exe()?.to_string_lossy().into_owned(), words)
    } else {
        let found = look_path(name, environment).ok().filter(|path| std::fs::metadata(path).is_ok());
        let missing = || {
            let quoted = format!("plugin: {{Name:{name} Type:postrenderer/v1}} not found");
            refused(name, &quoted)
                .with_pintle_text(format!("there is no post-renderer `{name}`"))
                .hint("it is the name of a plugin, the path of a program, or a program on $PATH")
        };
        prepared(found.ok_or_else(missing)?, &[])
    };
    let program =
        Program { name: name.to_owned(), is_plugin: false, prepared: Ok(prepared), variables: variables? };
    Ok(Arc::new(program))
}

fn of_plugin(
    plugin: &Plugin,
    subprocess: &Subprocess,
    args: &[String],
    variables: &Variables,
    environment: &Environment,
) -> Program {
    let name = plugin.metadata.name.clone();
    let variables = variables.for_plugin(plugin);
    let prepared = variables
        .prepare(&subprocess.platform_command, true, args, environment)
        .map_err(|failure| format!("failed to prepare plugin command: {}", failure.text));
    Program { name, is_plugin: true, prepared, variables }
}

#[cfg(feature = "wasm")]
fn of_module(
    plugin: &Plugin,
    args: &[String],
    variables: Variables,
) -> Result<Arc<dyn PostRenderer>, Failure> {
    Ok(Arc::new(Module { plugin: plugin.clone(), args: args.to_vec(), variables }))
}

#[cfg(not(feature = "wasm"))]
fn of_module(plugin: &Plugin, _: &[String], _: Variables) -> Result<Arc<dyn PostRenderer>, Failure> {
    Err(super::without_wasm(plugin))
}

/// A program that changes what it reads.
#[derive(Debug)]
struct Program {
    name: String,
    is_plugin: bool,
    prepared: Result<Prepared, String>,
    variables: Variables,
}

impl PostRenderer for Program {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        let name = quote(self.name.as_bytes());
        let failed = |text: String| match self.is_plugin {
            true => format!("failed to invoke post-renderer plugin {name}: {text}"),
            false => format!("failed to run post-renderer {name}: {text}"),
        };
        let captured = self.capture(manifests).map_err(failed)?;
        if let Err(failure) = outcome(&self.name, captured.status) {
            // Helm discards this output, which hides the cause of the failure.
            let _ = std::io::Write::write_all(&mut ui::stderr(), &captured.stderr);
            return Err(failed(match self.is_plugin {
                true => failure.text.clone(),
                false => format!("it exited with error ({})", captured.status),
            }));
        }
        not_empty(&self.name, captured.stdout)
    }
}

fn not_empty(name: &str, output: Vec<u8>) -> Result<Vec<u8>, String> {
    if output.trim_ascii().is_empty() {
        return Err(format!("post-renderer {} produced empty output", quote(name.as_bytes())));
    }
    Ok(output)
}

/// A plugin in Lua.
#[derive(Debug)]
struct Script {
    plugin: Plugin,
    args: Vec<String>,
    variables: Variables,
}

impl PostRenderer for Script {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        let name = &self.plugin.metadata.name;
        let environment = Environment::from_process();
        let streams = BufferStreams::new(manifests.to_vec());
        let failed = |failure: Failure| {
            let quoted = quote(name.as_bytes());
            format!("failed to invoke post-renderer plugin {quoted}: {}", failure.text)
        };
        let run = LuaRun {
            plugin: &self.plugin,
            arguments: PluginArguments { words: self.args.clone(), ..PluginArguments::default() },
            variables: &self.variables,
            cluster: None,
            time: timeout(&environment).map_err(failed)?,
            debug: false,
            is_last: false,
        };
        run.run(Arc::clone(&streams) as Arc<_>, &environment).map_err(failed)?;
        not_empty(name, streams.take_output())
    }
}

/// A plugin in WebAssembly.
#[cfg(feature = "wasm")]
#[derive(Debug)]
struct Module {
    plugin: Plugin,
    args: Vec<String>,
    variables: Variables,
}

#[cfg(feature = "wasm")]
impl PostRenderer for Module {
    fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        use super::wasm::{WasmRun, field, object, strings, text};
        let name = &self.plugin.metadata.name;
        let failed = |failure: Failure| {
            let quoted = quote(name.as_bytes());
            format!("failed to invoke post-renderer plugin {quoted}: {}", failure.text)
        };
        let environment = Environment::from_process();
        let run = WasmRun {
            plugin: &self.plugin,
            message: object([("extraArgs", strings(&self.args)), ("manifests", text(manifests))]),
            variables: self.variables.all().clone().into_iter().collect(),
            time: timeout(&environment).map_err(failed)?,
            debug: false,
        };
        let returned = run.run(BufferStreams::new(Vec::new())).map_err(failed)?;
        not_empty(name, field(&returned, &self.plugin, "manifests", true).map_err(failed)?)
    }
}

impl Program {
    fn capture(&self, manifests: &[u8]) -> Result<Captured, String> {
        let prepared = self.prepared.as_ref().map_err(String::clone)?;
        let environment = Environment::from_process();
        let text = |failure: Failure| failure.text.clone();
        let mut command = self.variables.command(prepared, &environment).map_err(text)?;
        let time = timeout(&environment).map_err(text)?;
        capture(&mut command, Some(manifests), Stderr::Captured, time).map_err(text)
    }
}
