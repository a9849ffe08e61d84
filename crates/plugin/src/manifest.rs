//! `plugin.yaml` of both generations, read as Helm reads it.

mod legacy;
mod v1;

use std::collections::BTreeMap;

use pintle_tree::quote::quote;

use crate::command::PlatformCommand;
use crate::decode::{Decoded, GoType, decode};
use crate::error::{Error, Result};

/// The largest manifest that is read.
pub(crate) const MAX_MANIFEST: u64 = 1 << 20;

/// The generation of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    /// Without `apiVersion`.
    Legacy,
    /// `apiVersion: v1`.
    V1,
}

impl ApiVersion {
    /// The name in lists of plugins.
    pub fn name(self) -> &'static str {
        match self {
            ApiVersion::Legacy => "legacy",
            ApiVersion::V1 => "v1",
        }
    }
}

/// What a plugin is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginType {
    /// `cli/v1`: a command.
    Cli,
    /// `getter/v1`: downloads what URLs of certain schemes name.
    Getter,
    /// `postrenderer/v1`: changes rendered objects.
    PostRenderer,
    /// `uploader/v1`: uploads charts to URLs of certain schemes.
    Uploader,
    /// `test/v1`: for the tests of Helm.
    Test,
}

impl PluginType {
    /// The name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            PluginType::Cli => "cli/v1",
            PluginType::Getter => "getter/v1",
            PluginType::PostRenderer => "postrenderer/v1",
            PluginType::Uploader => "uploader/v1",
            PluginType::Test => "test/v1",
        }
    }

    fn parse(text: &str) -> Result<PluginType> {
        use PluginType::{Cli, Getter, PostRenderer, Test, Uploader};
        [Cli, Getter, PostRenderer, Uploader, Test]
            .into_iter()
            .find(|known| known.name() == text)
            .ok_or_else(|| Error::Manifest(format!("unknown plugin type {}", quote(text.as_bytes()))))
    }
}

/// The settings of a plugin that is a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cli {
    /// The usage line; its first word is the name of the command. Empty for the name of the plugin.
    pub usage: String,
    /// The summary.
    pub short_help: String,
    /// The description.
    pub long_help: String,
    /// Whether the plugin gets no arguments at all.
    pub ignore_flags: bool,
}

/// The command of a getter for some protocols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolCommand {
    /// The schemes of URLs.
    pub protocols: Vec<String>,
    /// What to run, by platform.
    pub platform_command: Vec<PlatformCommand>,
}

/// What a plugin of the runtime `subprocess` runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subprocess {
    /// The command, by platform.
    pub platform_command: Vec<PlatformCommand>,
    /// What to run after an install, an update and a removal, by platform.
    pub platform_hooks: BTreeMap<String, Vec<PlatformCommand>>,
    /// The commands of getters.
    pub protocol_commands: Vec<ProtocolCommand>,
    /// The commands of uploaders.
    pub upload_commands: Vec<ProtocolCommand>,
    /// Whether variables in the arguments of hooks are expanded. In those that are one text, the shell does it.
    pub expand_hook_args: bool,
}

/// The settings of a plugin of the runtime `lua`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LuaConfig {
    /// The script, relative to the folder of the plugin.
    pub script: String,
    /// The permissions that it asks for.
    pub permissions: Vec<String>,
}

impl Default for LuaConfig {
    fn default() -> Self {
        LuaConfig { script: "plugin.lua".to_owned(), permissions: Vec::new() }
    }
}

/// The settings of a plugin of the runtime `extism/v1`. Zero and nothing stand for defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtismConfig {
    /// The most pages of 64 KiB of the module's memory.
    pub max_pages: u32,
    /// The largest response to an HTTP request, in bytes.
    pub max_http_bytes: u64,
    /// The most bytes of all variables.
    pub max_variable_bytes: u64,
    /// Configuration values that the module can read by name.
    pub config: BTreeMap<String, String>,
    /// The hosts that the module may send HTTP requests to.
    pub allowed_hosts: Vec<String>,
    /// Whether the module has a folder `/tmp`.
    pub create_temp_dir: bool,
    /// How long the module may run, in milliseconds.
    pub timeout: u64,
    /// Functions of Helm that the module asks for.
    pub host_functions: Vec<String>,
    /// The function that is called.
    pub entry: String,
}

/// How a plugin runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// As a program.
    Subprocess(Subprocess),
    /// As a WebAssembly module of Extism.
    Extism(ExtismConfig),
    /// As a script in the sandbox.
    Lua(LuaConfig),
}

impl Runtime {
    /// The name in manifests.
    pub fn name(&self) -> &'static str {
        match self {
            Runtime::Subprocess(_) => "subprocess",
            Runtime::Extism(_) => "extism/v1",
            Runtime::Lua(_) => "lua",
        }
    }
}

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The generation of the manifest.
    pub api_version: ApiVersion,
    /// The name.
    pub name: String,
    /// The type.
    pub plugin_type: PluginType,
    /// The version; empty if a manifest of the old generation has none.
    pub version: String,
    /// The URL of the plugin's source, as the manifest states it.
    pub source_url: String,
    /// The settings of the command. A plugin of the old generation that has a command and downloaders is both, as it
    /// was in Helm 3.
    pub cli: Option<Cli>,
    /// The schemes of a getter.
    pub protocols: Vec<String>,
    /// The schemes of an uploader.
    pub upload_protocols: Vec<String>,
    /// How it runs.
    pub runtime: Runtime,
}

impl Metadata {
    /// Whether it is a plugin of a kind that Helm does not know.
    pub fn is_own(&self) -> bool {
        matches!(self.runtime, Runtime::Lua(_)) || self.plugin_type == PluginType::Uploader
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// What is wrong with it, in Helm's words.
    pub fn parse(text: &[u8]) -> Result<Metadata> {
        static PEEKED: GoType = GoType::Struct("plugin.apiVersion", &[("apiVersion", GoType::String)]);
        let peeked = decode(text, &PEEKED, false)
            .map_err(|error| error.within("failed to peek plugin.yaml API version"))?;
        match peeked.get("apiVersion").text().as_str() {
            "" => legacy::read(text),
            "v1" => v1::read(text),
            other => Err(Error::Manifest(format!("invalid plugin apiVersion: {}", quote(other.as_bytes())))),
        }
    }

    /// The programs of the runtime `subprocess`.
    pub fn subprocess(&self) -> Option<&Subprocess> {
        match &self.runtime {
            Runtime::Subprocess(subprocess) => Some(subprocess),
            _ => None,
        }
    }

    /// The name of the command: the first word of the usage line, or the name of the plugin.
    pub fn command_name(&self) -> &str {
        let usage = self.cli.as_ref().map_or("", |cli| cli.usage.as_str());
        if usage.is_empty() { &self.name } else { usage.split(' ').next().unwrap_or_default() }
    }

    /// The summary of the command.
    pub fn short_help(&self) -> String {
        match &self.cli {
            Some(cli) if !cli.short_help.is_empty() => cli.short_help.clone(),
            _ => format!("the {} plugin", quote(self.name.as_bytes())),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_version(version: &str) -> bool {
    pintle_semver::Version::parse_strict(version).is_ok()
}

const PLATFORM_COMMANDS: GoType = GoType::List(
    "[]plugin.PlatformCommand",
    &GoType::Struct(
        "plugin.PlatformCommand",
        &[
            ("os", GoType::String),
            ("arch", GoType::String),
            ("command", GoType::String),
            ("args", GoType::STRINGS),
        ],
    ),
);

const PLATFORM_HOOKS: GoType = GoType::Map("plugin.PlatformHooks", &PLATFORM_COMMANDS);

fn platform_commands(list: &Decoded) -> Vec<PlatformCommand> {
    let command = |one: &Decoded| PlatformCommand {
        os: one.get("os").text(),
        arch: one.get("arch").text(),
        command: one.get("command").text(),
        args: one.get("args").texts(),
    };
    list.items().iter().map(command).collect()
}

fn platform_hooks(map: &Decoded) -> BTreeMap<String, Vec<PlatformCommand>> {
    map.entries().map(|(event, commands)| (event.to_owned(), platform_commands(commands))).collect()
}

/// The checks that Helm makes of manifests of both generations, after those of each.
fn check(metadata: Metadata) -> Result<Metadata> {
    let (what, protocols) = match metadata.plugin_type {
        PluginType::Getter => ("getter", &metadata.protocols),
        PluginType::Uploader => ("uploader", &metadata.upload_protocols),
        _ => return Ok(metadata),
    };
    let problem = match protocols.iter().position(String::is_empty) {
        _ if protocols.is_empty() => format!("{what} has no protocols"),
        Some(at) => format!("{what} has empty protocol at index {at}"),
        None => return Ok(metadata),
    };
    Err(Error::Manifest(format!("config validation failed: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Metadata::parse(text.as_bytes()).expect_err("it is refused").to_string()
    }

    const V1: &str = "apiVersion: v1\nname: x\ntype: cli/v1\nruntime: subprocess\nversion: 0.1.0\n";

    #[test]
    fn the_old_generation_is_lenient_and_its_type_is_derived() {
        let text = b"name: s3\nversion: 0.1.0\nusage: \"a\\tb\\u0001\"\nuseTunnel: true\ncommand: bin/s3  go\nignoreFlags: yes\n";
        let plugin = Metadata::parse(text).expect("a plugin");
        let cli = plugin.cli.clone().expect("a command");
        assert_eq!((cli.short_help.as_str(), cli.ignore_flags, plugin.command_name()), ("a b", true, "s3"));
        assert_eq!(plugin.plugin_type, PluginType::Cli);
        let both = b"name: s3\ncommand: s3\ndownloaders:\n- command: get\n  protocols: [s3, s4]\n";
        let both = Metadata::parse(both).expect("a plugin");
        assert_eq!((both.plugin_type, both.protocols.len()), (PluginType::Getter, 2));
        assert!(both.cli.is_some());
    }

    #[test]
    fn uploaders_have_protocols_and_commands_in_both_generations() {
        let old = b"name: s3\ncommand: s3\nuploaders:\n- command: put\n  protocols: [s3, s4]\n";
        let old = Metadata::parse(old).expect("a plugin");
        assert_eq!((old.plugin_type, old.upload_protocols.len(), old.is_own()), (PluginType::Cli, 2, false));
        assert_eq!(old.subprocess().expect("programs").upload_commands.len(), 1);
        assert_eq!(error("name: x\nuploaders:\n- command: put\n"), "uploader 0 has no protocols");
        let new = V1.replace("cli/v1", "uploader/v1");
        assert_eq!(error(&new), "config validation failed: uploader has no protocols");
        let text = format!(
            "{new}config:\n  protocols: [s3]\nruntimeConfig:\n  protocolCommands:\n  - protocols: [s3]\n    platformCommand:\n    - command: put\n"
        );
        let new = Metadata::parse(text.as_bytes()).expect("a plugin");
        assert_eq!((new.upload_protocols.as_slice(), new.protocols.len()), (&["s3".to_owned()][..], 0));
        let subprocess = new.subprocess().expect("programs");
        assert_eq!((subprocess.upload_commands.len(), subprocess.protocol_commands.len()), (1, 0));
        assert!(new.is_own(), "Helm does not know this type");
    }

    #[test]
    fn hooks_that_are_one_text_run_in_the_shell() {
        let plugin =
            Metadata::parse(b"name: x\nhooks:\n  install: \"cd $HELM_PLUGIN_DIR; ls\"\n").expect("a plugin");
        let subprocess = plugin.subprocess().expect("programs");
        assert!(!subprocess.expand_hook_args);
        let hook = &subprocess.platform_hooks["install"][0];
        assert_eq!(
            (hook.command.as_str(), hook.args.as_slice()),
            ("sh", &["-c".to_owned(), "cd $HELM_PLUGIN_DIR; ls".to_owned()][..])
        );
    }

    #[test]
    fn the_old_generation_is_refused_in_helms_words() {
        for (text, expected) in [
            ("", "failed to peek plugin.yaml API version: EOF"),
            ("# nothing\n", "failed to peek plugin.yaml API version: EOF"),
            ("apiVersion: v2\nname: x\n", "invalid plugin apiVersion: \"v2\""),
            ("name: a b\n", "invalid plugin name \"a b\": must contain only a-z, A-Z, 0-9, _ and -"),
            ("name: x\nversion: 1.0\n", "invalid plugin version \"1.0\": must be valid semver"),
            (
                "name: x\ncommand: a\nplatformCommand: [{command: b}]\n",
                "both platformCommand and command are set",
            ),
            (
                "name: x\nhooks: {install: a}\nplatformHooks: {install: [{command: b}]}\n",
                "both platformHooks and hooks are set",
            ),
            ("name: x\ndownloaders: [{protocols: [a]}]\n", "downloader 0 has empty command"),
            ("name: x\ndownloaders: [{command: a}]\n", "downloader 0 has no protocols"),
            (
                "name: x\ndownloaders: [{command: a, protocols: [b, '']}]\n",
                "downloader 0 has empty protocol at index 1",
            ),
            (
                "name: x\nname: y\n",
                "failed to peek plugin.yaml API version: yaml: unmarshal errors:\n  line 2: mapping key \"name\" already defined at line 1",
            ),
            (
                "- a\n",
                "failed to peek plugin.yaml API version: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into plugin.apiVersion",
            ),
            (
                "name: [a]\nignoreFlags: perhaps\n",
                "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string\n  line 2: cannot unmarshal !!str `perhaps` into bool",
            ),
            (
                "name: x\nplatformCommand: some-long-text\n",
                "yaml: unmarshal errors:\n  line 2: cannot unmarshal !!str `some-lo...` into []plugin.PlatformCommand",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn the_new_generation_is_strict() {
        for (text, expected) in [
            (
                format!("{V1}more: 1\n"),
                "yaml: unmarshal errors:\n  line 6: field more not found in type plugin.MetadataV1",
            ),
            (V1.replace("0.1.0", "1"), "invalid plugin `version` \"1\": must be valid semver"),
            (V1.replace("version: 0.1.0\n", ""), "plugin `version` is required"),
            (V1.replace("name: x", "name: x/y"), "invalid plugin `name`"),
            (V1.replace("type: cli/v1\n", ""), "`type` missing"),
            (V1.replace("runtime: subprocess\n", ""), "`runtime` missing"),
            (
                V1.replace("cli/v1", "cli/v2"),
                "failed to convert MetadataV1 to Metadata: unknown plugin type \"cli/v2\"",
            ),
            (
                V1.replace("subprocess", "wasm"),
                "failed to convert MetadataV1 to Metadata: unsupported plugin runtime type: \"wasm\"",
            ),
            (V1.replace("cli/v1", "getter/v1"), "config validation failed: getter has no protocols"),
            (
                format!("{V1}config:\n  usage: x\n  other: 1\n"),
                "failed to convert MetadataV1 to Metadata: yaml: unmarshal errors:\n  line 1: field other not found in type schema.ConfigCLIV1",
            ),
            (
                format!("{V1}runtimeConfig:\n  platformCommand: x\n"),
                "failed to convert MetadataV1 to Metadata: failed to unmarshal runtimeConfig for subprocess runtime: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `x` into []plugin.PlatformCommand",
            ),
        ] {
            assert_eq!(error(&text), expected, "{text}");
        }
        let text = format!(
            "{V1}config:\n  usage: run FILE\n  shortHelp: runs\nruntimeConfig:\n  platformCommand:\n  - command: a\n  unknown: 1\n"
        );
        let plugin = Metadata::parse(text.as_bytes()).expect("a plugin");
        assert_eq!((plugin.command_name(), plugin.short_help().as_str()), ("run", "runs"));
    }
}
