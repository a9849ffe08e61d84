//! The old generation of manifests, without `apiVersion`.

use pintle_tree::quote::{is_print, quote};

use super::{
    ApiVersion, Cli, Metadata, PLATFORM_COMMANDS, PLATFORM_HOOKS, PluginType, ProtocolCommand, Runtime,
    Subprocess, check, is_name, is_version, platform_commands, platform_hooks,
};
use crate::command::PlatformCommand;
use crate::decode::{Decoded, GoType, decode};
use crate::error::{Error, Result};

static MANIFEST: GoType = GoType::Struct(
    "plugin.MetadataLegacy",
    &[
        ("name", GoType::String),
        ("version", GoType::String),
        ("usage", GoType::String),
        ("description", GoType::String),
        ("platformCommand", PLATFORM_COMMANDS),
        ("command", GoType::String),
        ("ignoreFlags", GoType::Bool),
        ("platformHooks", PLATFORM_HOOKS),
        ("hooks", GoType::Map("plugin.Hooks", &GoType::String)),
        ("downloaders", DOWNLOADERS),
        ("uploaders", DOWNLOADERS),
    ],
);

const DOWNLOADERS: GoType = GoType::List(
    "[]plugin.Downloaders",
    &GoType::Struct("plugin.Downloaders", &[("protocols", GoType::STRINGS), ("command", GoType::String)]),
);

pub(super) fn read(text: &[u8]) -> Result<Metadata> {
    let manifest = decode(text, &MANIFEST, false)?;
    let field = |name: &str| manifest.get(name).text();
    let (name, version, command) = (field("name"), field("version"), field("command"));
    let mut cli = Cli {
        short_help: field("usage"),
        long_help: field("description"),
        ignore_flags: manifest.get("ignoreFlags").bool(),
        ..Cli::default()
    };
    let mut subprocess = Subprocess {
        platform_command: platform_commands(manifest.get("platformCommand")),
        platform_hooks: platform_hooks(manifest.get("platformHooks")),
        protocol_commands: downloaders(manifest.get("downloaders")),
        upload_commands: downloaders(manifest.get("uploaders")),
        expand_hook_args: true,
    };
    let hooks = manifest.get("hooks");
    let hooks: Vec<(String, String)> =
        hooks.entries().map(|(event, text)| (event.to_owned(), text.text())).collect();
    let refuse = |text: String| Err(Error::Manifest(text));
    if !is_name(&name) {
        return refuse(format!(
            "invalid plugin name {}: must contain only a-z, A-Z, 0-9, _ and -",
            quote(name.as_bytes())
        ));
    }
    if !version.is_empty() && !is_version(&version) {
        return refuse(format!("invalid plugin version {}: must be valid semver", quote(version.as_bytes())));
    }
    cli.short_help = sanitized(&cli.short_help);
    if !subprocess.platform_command.is_empty() && !command.is_empty() {
        return refuse("both platformCommand and command are set".to_owned());
    }
    if !subprocess.platform_hooks.is_empty() && !hooks.is_empty() {
        return refuse("both platformHooks and hooks are set".to_owned());
    }
    check_downloaders("downloader", &subprocess.protocol_commands)?;
    check_downloaders("uploader", &subprocess.upload_commands)?;
    if subprocess.platform_command.is_empty() && !command.is_empty() {
        subprocess.platform_command = vec![PlatformCommand { command, ..PlatformCommand::default() }];
    }
    for (event, text) in hooks {
        let command = "sh".to_owned();
        let hook =
            PlatformCommand { command, args: vec!["-c".to_owned(), text], ..PlatformCommand::default() };
        subprocess.platform_hooks.insert(event, vec![hook]);
        subprocess.expand_hook_args = false;
    }
    let is_getter = !subprocess.protocol_commands.is_empty();
    let protocols = |commands: &[ProtocolCommand]| -> Vec<String> {
        commands.iter().flat_map(|command| command.protocols.clone()).collect()
    };
    check(Metadata {
        api_version: ApiVersion::Legacy,
        name,
        plugin_type: if is_getter { PluginType::Getter } else { PluginType::Cli },
        version,
        source_url: String::new(),
        cli: (!is_getter || !subprocess.platform_command.is_empty()).then_some(cli),
        protocols: protocols(&subprocess.protocol_commands),
        upload_protocols: protocols(&subprocess.upload_commands),
        runtime: Runtime::Subprocess(subprocess),
    })
}

fn downloaders(list: &Decoded) -> Vec<ProtocolCommand> {
    let downloader = |one: &Decoded| ProtocolCommand {
        protocols: one.get("protocols").texts(),
        platform_command: vec![PlatformCommand {
            command: one.get("command").text(),
            ..PlatformCommand::default()
        }],
    };
    list.items().iter().map(downloader).collect()
}

fn check_downloaders(what: &str, downloaders: &[ProtocolCommand]) -> Result<()> {
    for (at, downloader) in downloaders.iter().enumerate() {
        let problem = if downloader.platform_command.iter().all(|command| command.command.is_empty()) {
            "has empty command".to_owned()
        } else if downloader.protocols.is_empty() {
            "has no protocols".to_owned()
        } else if let Some(index) = downloader.protocols.iter().position(String::is_empty) {
            format!("has empty protocol at index {index}")
        } else {
            continue;
        };
        return Err(Error::Manifest(format!("{what} {at} {problem}")));
    }
    Ok(())
}

/// Replaces white space by blanks, and removes unprintable characters.
fn sanitized(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            character if character.is_whitespace() => Some(' '),
            character if is_print(character) => Some(character),
            _ => None,
        })
        .collect()
}
