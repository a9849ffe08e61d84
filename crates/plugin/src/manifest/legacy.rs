//! The old generation of manifests, without `apiVersion`.

use pintle_tree::quote::{is_print, quote};
use pintle_yaml::outline::NodeRef;

use super::{
    ApiVersion, Cli, Metadata, PluginType, ProtocolCommand, Runtime, Subprocess, check, is_name, is_version,
    platform_commands, platform_hooks,
};
use crate::command::PlatformCommand;
use crate::decode::{Decoder, is_null};
use crate::error::{Error, Result};

const FIELDS: [&str; 10] = [
    "name",
    "version",
    "usage",
    "description",
    "platformCommand",
    "command",
    "ignoreFlags",
    "platformHooks",
    "hooks",
    "downloaders",
];

pub(super) fn read(root: NodeRef<'_>) -> Result<Metadata> {
    let mut decoder = Decoder::new();
    let fields = decoder.fields(root, "plugin.MetadataLegacy", &FIELDS, false);
    // In the order of the text, so that errors come in that order too.
    let mut order: Vec<&str> = fields.keys().map(String::as_str).collect();
    order.sort_by_key(|name| fields[*name].1);
    let mut name = String::new();
    let mut version = String::new();
    let mut cli = Cli::default();
    let mut command = String::new();
    let mut subprocess = Subprocess { expand_hook_args: true, ..Subprocess::default() };
    let mut hooks = std::collections::BTreeMap::new();
    for field in order {
        let value = fields.get(field);
        match field {
            "name" => name = decoder.string(value),
            "version" => version = decoder.string(value),
            "usage" => cli.short_help = decoder.string(value),
            "description" => cli.long_help = decoder.string(value),
            "platformCommand" => subprocess.platform_command = platform_commands(&mut decoder, value),
            "command" => command = decoder.string(value),
            "ignoreFlags" => cli.ignore_flags = decoder.boolean(value),
            "platformHooks" => subprocess.platform_hooks = platform_hooks(&mut decoder, value),
            "hooks" => {
                hooks =
                    decoder.map(value, "plugin.Hooks", |decoder, field| Some(decoder.string(Some(&field))));
            }
            _ => subprocess.protocol_commands = downloaders(&mut decoder, value),
        }
    }
    decoder.finish()?;
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
    check_downloaders(&subprocess.protocol_commands)?;
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
    let protocols = subprocess.protocol_commands.iter().flat_map(|command| command.protocols.clone());
    check(Metadata {
        api_version: ApiVersion::Legacy,
        name,
        plugin_type: if is_getter { PluginType::Getter } else { PluginType::Cli },
        version,
        source_url: String::new(),
        cli: (!is_getter || !subprocess.platform_command.is_empty()).then_some(cli),
        protocols: protocols.collect(),
        runtime: Runtime::Subprocess(subprocess),
    })
}

fn downloaders(decoder: &mut Decoder, field: Option<&(NodeRef<'_>, usize)>) -> Vec<ProtocolCommand> {
    decoder.list(field, "[]plugin.Downloaders", |decoder, node| {
        if is_null(node) {
            return None;
        }
        let fields = decoder.fields(node, "plugin.Downloaders", &["protocols", "command"], false);
        let command = decoder.string(fields.get("command"));
        Some(ProtocolCommand {
            protocols: decoder.strings(fields.get("protocols")),
            platform_command: vec![PlatformCommand { command, ..PlatformCommand::default() }],
        })
    })
}

fn check_downloaders(downloaders: &[ProtocolCommand]) -> Result<()> {
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
        return Err(Error::Manifest(format!("downloader {at} {problem}")));
    }
    Ok(())
}

/// The text with blanks for all kinds of space, and without what cannot be printed.
fn sanitized(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            character if character.is_whitespace() => Some(' '),
            character if is_print(character) => Some(character),
            _ => None,
        })
        .collect()
}
