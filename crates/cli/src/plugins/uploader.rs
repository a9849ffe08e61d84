//! Uploaders: plugins that upload charts to URLs of their schemes, for `push`.

use std::path::Path;
use std::sync::Arc;

use pintle::lua::PluginArguments;
use pintle::repo::Access;
use pintle_plugin::{Plugin, Prepared, Runtime, Subprocess};
use pintle_tree::quote::quote;

use super::getter::{program_of, scheme_of, with_credentials};
use super::lua::{BufferStreams, LuaRun};
use super::process::{Stderr, Variables, capture, outcome, timeout};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::read;

/// What is uploaded, and where.
pub(crate) struct PluginUpload<'u> {
    /// The archive of the chart.
    pub(crate) archive: &'u Path,
    /// Its provenance file, if there is one.
    pub(crate) provenance: Option<&'u Path>,
    /// The URL as the user typed it.
    pub(crate) url: &'u str,
    pub(crate) access: &'u Access,
}

/// The plugin that uploads to URLs of a scheme.
///
/// # Errors
///
/// Under Helm's name, two plugins with the same name.
pub(crate) fn find(invocation: &mut Invocation<'_>, scheme: &str) -> Result<Option<Plugin>, Failure> {
    let folders = super::folders(invocation.environment);
    let plugins = super::load(invocation.personality, &folders, invocation.ui)?;
    let knows = |plugin: &Plugin| plugin.metadata.upload_protocols.iter().any(|known| known == scheme);
    Ok(plugins.into_iter().find(knows))
}

/// Uploads with a plugin, and returns what it printed.
///
/// # Errors
///
/// When it cannot be run, fails, or takes too long.
pub(crate) fn upload(
    invocation: &Invocation<'_>,
    plugin: &Plugin,
    upload: &PluginUpload<'_>,
) -> Result<Vec<u8>, Failure> {
    let name = quote(plugin.metadata.name.as_bytes());
    let uploaded = match &plugin.metadata.runtime {
        Runtime::Subprocess(subprocess) => run_program(invocation, plugin, subprocess, upload),
        Runtime::Lua(_) => run_script(invocation, plugin, upload),
        Runtime::Extism(_) => {
            Err(Failure::usage("uploaders are programs or scripts in Lua, not modules of `extism/v1`"))
        }
    };
    uploaded.map_err(|failure| failure.during(&format!("plugin {name} failed to upload")))
}

/// Runs a program with the files of certificates, the archive and the URL as its last arguments.
fn run_program(
    invocation: &Invocation<'_>,
    plugin: &Plugin,
    subprocess: &Subprocess,
    upload: &PluginUpload<'_>,
) -> Result<Vec<u8>, Failure> {
    let environment = invocation.environment;
    let scheme = scheme_of(upload.url);
    let scheme_quoted = quote(scheme.as_bytes());
    let command = subprocess.upload_commands.iter().find(|command| command.protocols.contains(&scheme));
    let command = command
        .ok_or_else(|| Failure::run_time(format!("no uploader found for protocol {scheme_quoted}")))?;
    let variables =
        Variables::of_helm(invocation.personality, invocation.called_as, &invocation.flags, environment)?;
    let variables = with_credentials(variables.for_plugin(plugin), upload.access);
    let Access { cert_file, key_file, ca_file, .. } = upload.access;
    let archive = upload.archive.to_string_lossy().into_owned();
    let extra = [cert_file, key_file, ca_file, &archive, &upload.url.to_owned()].map(String::clone);
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

/// Runs a script, which reads the archive from its standard input.
fn run_script(
    invocation: &Invocation<'_>,
    plugin: &Plugin,
    upload: &PluginUpload<'_>,
) -> Result<Vec<u8>, Failure> {
    let environment = invocation.environment;
    let bytes = read::file(upload.archive, read::MAX_STREAM)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let access = upload.access;
    let named = [
        ("cert_file", access.cert_file.clone()),
        ("key_file", access.key_file.clone()),
        ("ca_file", access.ca_file.clone()),
        ("archive", text(upload.archive)),
        ("url", upload.url.to_owned()),
        ("provenance", upload.provenance.map(text).unwrap_or_default()),
        ("username", access.username.clone()),
        ("password", access.password.clone()),
    ];
    let variables = Variables::for_script(invocation.called_as, &invocation.flags, environment);
    let streams = BufferStreams::new(bytes);
    let run = LuaRun {
        plugin,
        arguments: PluginArguments {
            words: named[..5].iter().map(|(_, value)| value.clone()).collect(),
            fields: named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        },
        variables: &variables.for_plugin(plugin),
        cluster: None,
        time: timeout(environment)?,
        debug: false,
        is_last: false,
    };
    run.run(Arc::clone(&streams) as Arc<_>, environment)?;
    Ok(streams.take_output())
}
