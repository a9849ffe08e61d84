//! Manifests with `apiVersion: v1`.

use std::collections::BTreeMap;

use pintle_tree::quote::quote;
use pintle_yaml::outline::NodeRef;

use super::{
    ApiVersion, Cli, ExtismConfig, LuaConfig, Metadata, PluginType, ProtocolCommand, Runtime, Subprocess,
    check, is_name, is_version, platform_commands, platform_hooks,
};
use crate::decode::{Decoder, is_null};
use crate::error::{Error, Result};
use crate::scripts::is_script_path;

const FIELDS: [&str; 8] =
    ["apiVersion", "name", "type", "runtime", "version", "sourceURL", "config", "runtimeConfig"];

type Field<'o> = Option<(NodeRef<'o>, usize)>;

pub(super) fn read(root: NodeRef<'_>) -> Result<Metadata> {
    let mut decoder = Decoder::new();
    let fields = decoder.fields(root, "plugin.MetadataV1", &FIELDS, true);
    let mut order: Vec<&str> = fields.keys().map(String::as_str).collect();
    order.sort_by_key(|name| fields[*name].1);
    let (mut name, mut plugin_type, mut runtime) = (String::new(), String::new(), String::new());
    let (mut version, mut source_url) = (String::new(), String::new());
    let (mut config, mut runtime_config) = (None, None);
    for field in order {
        let value = fields.get(field);
        match field {
            "name" => name = decoder.string(value),
            "type" => plugin_type = decoder.string(value),
            "runtime" => runtime = decoder.string(value),
            "version" => version = decoder.string(value),
            "sourceURL" => source_url = decoder.string(value),
            "config" => config = part(&mut decoder, value),
            "runtimeConfig" => runtime_config = part(&mut decoder, value),
            _ => {}
        }
    }
    decoder.finish()?;
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
    let (cli, protocols) = read_config(plugin_type, config).map_err(convert)?;
    let runtime = read_runtime(&runtime, runtime_config).map_err(convert)?;
    check(Metadata {
        api_version: ApiVersion::V1,
        name,
        plugin_type,
        version,
        source_url,
        cli,
        protocols,
        runtime,
    })
}

/// A part that is any map at first.
fn part<'o>(decoder: &mut Decoder, field: Option<&(NodeRef<'o>, usize)>) -> Field<'o> {
    // The entries are decoded later; here only the kind of the node and repeated keys count.
    let _ = decoder.map(field, "map[string]interface {}", |_, _| None::<()>);
    field.copied().filter(|(node, _)| !is_null(*node))
}

fn read_config(plugin_type: PluginType, config: Field<'_>) -> Result<(Option<Cli>, Vec<String>)> {
    let mut decoder = Decoder::rewritten();
    let mut read = |into: &str, known: &[&str]| match config {
        Some((node, _)) => decoder.fields(node, into, known, true),
        None => BTreeMap::new(),
    };
    let result = match plugin_type {
        PluginType::Cli => {
            let known = ["usage", "shortHelp", "longHelp", "ignoreFlags"];
            let fields = read("schema.ConfigCLIV1", &known);
            let ignore_flags = decoder.boolean(fields.get("ignoreFlags"));
            let long_help = decoder.string(fields.get("longHelp"));
            let short_help = decoder.string(fields.get("shortHelp"));
            let usage = decoder.string(fields.get("usage"));
            (Some(Cli { usage, short_help, long_help, ignore_flags }), Vec::new())
        }
        PluginType::Getter => {
            let fields = read("schema.ConfigGetterV1", &["protocols"]);
            (None, decoder.strings(fields.get("protocols")))
        }
        PluginType::PostRenderer => {
            read("schema.ConfigPostRendererV1", &[]);
            (None, Vec::new())
        }
        PluginType::Test => {
            read("schema.ConfigTestV1", &[]);
            (None, Vec::new())
        }
    };
    decoder.finish()?;
    Ok(result)
}

fn read_runtime(name: &str, config: Field<'_>) -> Result<Runtime> {
    let mut decoder = Decoder::rewritten();
    let mut read = |into: &str, known: &[&str]| match config {
        Some((node, _)) => decoder.fields(node, into, known, false),
        None => BTreeMap::new(),
    };
    let runtime = match name {
        "subprocess" => {
            let known = ["platformCommand", "platformHooks", "protocolCommands"];
            let fields = read("plugin.RuntimeConfigSubprocess", &known);
            Runtime::Subprocess(Subprocess {
                platform_command: platform_commands(&mut decoder, fields.get("platformCommand")),
                platform_hooks: platform_hooks(&mut decoder, fields.get("platformHooks")),
                protocol_commands: protocol_commands(&mut decoder, fields.get("protocolCommands")),
                // Helm sets this for manifests of the old generation only.
                expand_hook_args: false,
            })
        }
        "extism/v1" => {
            let fields = read("plugin.RuntimeConfigExtismV1", &EXTISM);
            Runtime::Extism(extism(&mut decoder, &fields))
        }
        "lua" => {
            let fields = read("plugin.RuntimeConfigLua", &["script", "permissions"]);
            let mut lua =
                LuaConfig { permissions: decoder.strings(fields.get("permissions")), ..LuaConfig::default() };
            let script = decoder.string(fields.get("script"));
            if !script.is_empty() {
                lua.script = script;
            }
            if !is_script_path(&lua.script) {
                return Err(Error::Manifest(format!(
                    "runtimeConfig.script is {}: it must be the relative path of a .lua file in the plugin",
                    quote(lua.script.as_bytes())
                )));
            }
            Runtime::Lua(lua)
        }
        other => {
            return Err(Error::Manifest(format!(
                "unsupported plugin runtime type: {}",
                quote(other.as_bytes())
            )));
        }
    };
    decoder
        .finish()
        .map_err(|error| error.within(&format!("failed to unmarshal runtimeConfig for {name} runtime")))?;
    Ok(runtime)
}

/// The fields of a Wasm module's settings.
const EXTISM: [&str; 7] =
    ["memory", "config", "allowedHosts", "fileSystem", "timeout", "hostFunctions", "entryFuncName"];

fn extism(decoder: &mut Decoder, fields: &BTreeMap<String, (NodeRef<'_>, usize)>) -> ExtismConfig {
    // In the order of the names, which is that of errors.
    let allowed_hosts = decoder.strings(fields.get("allowedHosts"));
    let config = decoder.string_map(fields.get("config"));
    let entry = decoder.string(fields.get("entryFuncName"));
    let into = "plugin.RuntimeConfigExtismV1FileSystem";
    let files = decoder.nested(fields.get("fileSystem"), into, &["createTempDir"]);
    let create_temp_dir = decoder.boolean(files.get("createTempDir"));
    let host_functions = decoder.strings(fields.get("hostFunctions"));
    let known = ["maxPages", "maxHttpResponseBytes", "maxVarBytes"];
    let memory = decoder.nested(fields.get("memory"), "plugin.RuntimeConfigExtismV1Memory", &known);
    let max_http_bytes = decoder.unsigned(memory.get("maxHttpResponseBytes"), 63, "int64");
    let max_pages = decoder.unsigned(memory.get("maxPages"), 32, "uint32");
    let max_variable_bytes = decoder.unsigned(memory.get("maxVarBytes"), 63, "int64");
    ExtismConfig {
        max_pages: u32::try_from(max_pages).unwrap_or(u32::MAX),
        max_http_bytes,
        max_variable_bytes,
        config,
        allowed_hosts,
        create_temp_dir,
        timeout: decoder.unsigned(fields.get("timeout"), 64, "uint64"),
        host_functions,
        entry,
    }
}

fn protocol_commands(decoder: &mut Decoder, field: Option<&(NodeRef<'_>, usize)>) -> Vec<ProtocolCommand> {
    decoder.list(field, "[]plugin.SubprocessProtocolCommand", |decoder, node| {
        if is_null(node) {
            return None;
        }
        let known = ["protocols", "platformCommand"];
        let fields = decoder.fields(node, "plugin.SubprocessProtocolCommand", &known, false);
        let platform_command = platform_commands(decoder, fields.get("platformCommand"));
        Some(ProtocolCommand { protocols: decoder.strings(fields.get("protocols")), platform_command })
    })
}
