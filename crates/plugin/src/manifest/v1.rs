//! Manifests with `apiVersion: v1`.

use pintle_tree::quote::quote;

use super::{
    ApiVersion, Cli, ExtismConfig, LuaConfig, Metadata, PLATFORM_COMMANDS, PLATFORM_HOOKS, PluginType,
    ProtocolCommand, Runtime, Subprocess, check, is_name, is_version, platform_commands, platform_hooks,
};
use crate::decode::{Decoded, GoType, decode, decode_again};
use crate::error::{Error, Result};
use crate::scripts::is_script_path;

static MANIFEST: GoType = GoType::Struct(
    "plugin.MetadataV1",
    &[
        ("apiVersion", GoType::String),
        ("name", GoType::String),
        ("type", GoType::String),
        ("runtime", GoType::String),
        ("version", GoType::String),
        ("sourceURL", GoType::String),
        ("config", PART),
        ("runtimeConfig", PART),
    ],
);

/// A part that is first decoded as a map, and into its type later.
const PART: GoType = GoType::Map("map[string]interface {}", &GoType::Any);

pub(super) fn read(text: &[u8]) -> Result<Metadata> {
    let manifest = decode(text, &MANIFEST, true)?;
    let field = |name: &str| manifest.get(name).text();
    let (name, plugin_type, runtime) = (field("name"), field("type"), field("runtime"));
    let (version, source_url) = (field("version"), field("sourceURL"));
    let refuse = |text: String| Err(Error::Manifest(text));
    if !is_name(&name) {
        return refuse("invalid plugin `name`".to_owned());
    }
    if version.is_empty() {
        return refuse("plugin `version` is required".to_owned());
    }
    if !is_version(&version) {
        return refuse(format!(
            "invalid plugin `version` {}: must be valid semver",
            quote(version.as_bytes())
        ));
    }
    if plugin_type.is_empty() {
        return refuse("`type` missing".to_owned());
    }
    if runtime.is_empty() {
        return refuse("`runtime` missing".to_owned());
    }
    let convert = |error: Error| error.within("failed to convert MetadataV1 to Metadata");
    let plugin_type = PluginType::parse(&plugin_type).map_err(convert)?;
    let (cli, protocols) = read_config(plugin_type, manifest.get("config")).map_err(convert)?;
    let mut runtime = read_runtime(&runtime, manifest.get("runtimeConfig")).map_err(convert)?;
    let (mut protocols, mut upload_protocols) = (protocols, Vec::new());
    if plugin_type == PluginType::Uploader {
        std::mem::swap(&mut protocols, &mut upload_protocols);
        if let Runtime::Subprocess(subprocess) = &mut runtime {
            subprocess.upload_commands = std::mem::take(&mut subprocess.protocol_commands);
        }
    }
    check(Metadata {
        api_version: ApiVersion::V1,
        name,
        plugin_type,
        version,
        source_url,
        cli,
        protocols,
        upload_protocols,
        runtime,
    })
}

static CLI: GoType = GoType::Struct(
    "schema.ConfigCLIV1",
    &[
        ("usage", GoType::String),
        ("shortHelp", GoType::String),
        ("longHelp", GoType::String),
        ("ignoreFlags", GoType::Bool),
    ],
);
static GETTER: GoType = GoType::Struct("schema.ConfigGetterV1", &[("protocols", GoType::STRINGS)]);
static UPLOADER: GoType = GoType::Struct("schema.ConfigUploaderV1", &[("protocols", GoType::STRINGS)]);
static POST_RENDERER: GoType = GoType::Struct("schema.ConfigPostRendererV1", &[]);
static TEST: GoType = GoType::Struct("schema.ConfigTestV1", &[]);

fn read_config(plugin_type: PluginType, config: &Decoded) -> Result<(Option<Cli>, Vec<String>)> {
    let into = match plugin_type {
        PluginType::Cli => &CLI,
        PluginType::Getter => &GETTER,
        PluginType::PostRenderer => &POST_RENDERER,
        PluginType::Uploader => &UPLOADER,
        PluginType::Test => &TEST,
    };
    let config = decode_again(config, into, true)?;
    let cli = (plugin_type == PluginType::Cli).then(|| Cli {
        usage: config.get("usage").text(),
        short_help: config.get("shortHelp").text(),
        long_help: config.get("longHelp").text(),
        ignore_flags: config.get("ignoreFlags").bool(),
    });
    Ok((cli, config.get("protocols").texts()))
}

static SUBPROCESS: GoType = GoType::Struct(
    "plugin.RuntimeConfigSubprocess",
    &[
        ("platformCommand", PLATFORM_COMMANDS),
        ("platformHooks", PLATFORM_HOOKS),
        ("protocolCommands", PROTOCOL_COMMANDS),
    ],
);

const PROTOCOL_COMMANDS: GoType = GoType::List(
    "[]plugin.SubprocessProtocolCommand",
    &GoType::Struct(
        "plugin.SubprocessProtocolCommand",
        &[("protocols", GoType::STRINGS), ("platformCommand", PLATFORM_COMMANDS)],
    ),
);

static EXTISM: GoType = GoType::Struct(
    "plugin.RuntimeConfigExtismV1",
    &[
        ("memory", EXTISM_MEMORY),
        ("config", GoType::Map("map[string]string", &GoType::String)),
        ("allowedHosts", GoType::STRINGS),
        (
            "fileSystem",
            GoType::Struct("plugin.RuntimeConfigExtismV1FileSystem", &[("createTempDir", GoType::Bool)]),
        ),
        ("timeout", GoType::Uint(64)),
        ("hostFunctions", GoType::STRINGS),
        ("entryFuncName", GoType::String),
    ],
);

const EXTISM_MEMORY: GoType = GoType::Struct(
    "plugin.RuntimeConfigExtismV1Memory",
    &[
        ("maxPages", GoType::Uint(32)),
        ("maxHttpResponseBytes", GoType::Int64),
        ("maxVarBytes", GoType::Int64),
    ],
);

static LUA: GoType = GoType::Struct(
    "plugin.RuntimeConfigLua",
    &[("script", GoType::String), ("permissions", GoType::STRINGS)],
);

fn read_runtime(name: &str, config: &Decoded) -> Result<Runtime> {
    let decoded = |into: &GoType| {
        let failed =
            |error: Error| error.within(&format!("failed to unmarshal runtimeConfig for {name} runtime"));
        decode_again(config, into, false).map_err(failed)
    };
    match name {
        "subprocess" => {
            let config = decoded(&SUBPROCESS)?;
            Ok(Runtime::Subprocess(Subprocess {
                platform_command: platform_commands(config.get("platformCommand")),
                platform_hooks: platform_hooks(config.get("platformHooks")),
                protocol_commands: protocol_commands(config.get("protocolCommands")),
                upload_commands: Vec::new(),
                // Helm sets this for manifests of the old generation only.
                expand_hook_args: false,
            }))
        }
        "extism/v1" => Ok(Runtime::Extism(extism(&decoded(&EXTISM)?))),
        "lua" => lua(&decoded(&LUA)?).map(Runtime::Lua),
        other => {
            Err(Error::Manifest(format!("unsupported plugin runtime type: {}", quote(other.as_bytes()))))
        }
    }
}

fn lua(config: &Decoded) -> Result<LuaConfig> {
    let mut lua = LuaConfig { permissions: config.get("permissions").texts(), ..LuaConfig::default() };
    let script = config.get("script").text();
    if !script.is_empty() {
        lua.script = script;
    }
    if !is_script_path(&lua.script) {
        return Err(Error::Manifest(format!(
            "runtimeConfig.script is {}: it must be the relative path of a .lua file in the plugin",
            quote(lua.script.as_bytes())
        )));
    }
    Ok(lua)
}

fn extism(config: &Decoded) -> ExtismConfig {
    let memory = config.get("memory");
    let entries = config.get("config").entries();
    // A negative limit means the default, as 0 does.
    let limit = |name: &str| memory.get(name).number().cast_signed().max(0).cast_unsigned();
    ExtismConfig {
        max_pages: u32::try_from(memory.get("maxPages").number()).unwrap_or(u32::MAX),
        max_http_bytes: limit("maxHttpResponseBytes"),
        max_variable_bytes: limit("maxVarBytes"),
        config: entries.map(|(name, value)| (name.to_owned(), value.text())).collect(),
        allowed_hosts: config.get("allowedHosts").texts(),
        create_temp_dir: config.get("fileSystem").get("createTempDir").bool(),
        timeout: config.get("timeout").number(),
        host_functions: config.get("hostFunctions").texts(),
        entry: config.get("entryFuncName").text(),
    }
}

fn protocol_commands(list: &Decoded) -> Vec<ProtocolCommand> {
    let command = |one: &Decoded| ProtocolCommand {
        protocols: one.get("protocols").texts(),
        platform_command: platform_commands(one.get("platformCommand")),
    };
    list.items().iter().map(command).collect()
}
