//! Packs a plugin into an archive, and the text about it that is signed.

use std::fs::{self, File};
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use pintle_tree::{Map, Node};
use tar::{EntryType, Header};

use crate::command::PlatformCommand;
use crate::error::{Error, Result, reason, refused};
use crate::manifest::{ExtismConfig, Metadata, PluginType, Runtime};

/// The name of the archive of a plugin.
pub fn archive_name(metadata: &Metadata) -> String {
    format!("{}-{}.tgz", metadata.name, metadata.version)
}

/// Packs the folder of a plugin, with everything below a folder of the plugin's name.
///
/// # Errors
/// Files that cannot be read, and links and devices, which are rejected when an archive is installed.
pub fn pack(dir: &Path, name: &str) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    add(&mut builder, dir, Path::new(name))?;
    let failed = |error: std::io::Error| Error::Archive(reason(&error));
    builder.into_inner().map_err(failed)?.finish().map_err(failed)
}

fn add(builder: &mut tar::Builder<GzEncoder<Vec<u8>>>, path: &Path, name: &Path) -> Result<()> {
    // The folder itself may be a link, as that of a plugin in development is.
    let found = if name.components().count() == 1 { fs::metadata(path) } else { fs::symlink_metadata(path) };
    let found = found.map_err(refused("lstat", path))?;
    let failed = |error: std::io::Error| Error::Archive(format!("{}: {}", path.display(), reason(&error)));
    let mut header = Header::new_gnu();
    header.set_mode(mode(&found));
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    header.set_mtime(modified.map_or(0, |time| time.as_secs()));
    if found.is_dir() {
        header.set_entry_type(EntryType::Directory);
        header.set_size(0);
        builder.append_data(&mut header, name, std::io::empty()).map_err(failed)?;
        let entries = fs::read_dir(path).map_err(refused("open", path))?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for entry in names {
            add(builder, &path.join(&entry), &name.join(&entry))?;
        }
        return Ok(());
    }
    if !found.is_file() {
        return Err(Error::Archive(format!(
            "{} is neither a file nor a folder, and no plugin with it could be installed",
            path.display()
        )));
    }
    header.set_entry_type(EntryType::Regular);
    header.set_size(found.len());
    let file = File::open(path).map_err(refused("open", path))?;
    builder.append_data(&mut header, name, file).map_err(failed)
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
fn mode(found: &fs::Metadata) -> u32 {
    if found.is_dir() { 0o755 } else { 0o644 }
}

/// What is signed about a plugin, besides the digest of its archive: the metadata under the names that its fields have in
/// Helm's source.
///
/// # Errors
/// Texts that cannot be written as YAML.
pub fn signed_metadata(metadata: &Metadata) -> Result<Vec<u8>> {
    let runtime_config = match &metadata.runtime {
        Runtime::Subprocess(subprocess) => object([
            ("PlatformCommand", commands(&subprocess.platform_command)),
            (
                "PlatformHooks",
                if subprocess.platform_hooks.is_empty() {
                    Node::Nil
                } else {
                    let hooks = subprocess.platform_hooks.iter();
                    let hooks = hooks.map(|(event, list)| (event.as_str().into(), commands(list)));
                    Node::Map(hooks.collect::<Vec<_>>().into_iter().collect())
                },
            ),
            (
                "ProtocolCommands",
                list(&subprocess.protocol_commands, |command| {
                    object([
                        ("PlatformCommand", commands(&command.platform_command)),
                        ("Protocols", strings(&command.protocols)),
                    ])
                }),
            ),
        ]),
        Runtime::Extism(extism) => extism_config(extism),
        Runtime::Lua(lua) => {
            object([("Permissions", strings(&lua.permissions)), ("Script", Node::from(lua.script.as_str()))])
        }
    };
    let config = match (&metadata.cli, metadata.plugin_type) {
        (Some(cli), PluginType::Cli) => object([
            ("IgnoreFlags", Node::Bool(cli.ignore_flags)),
            ("LongHelp", Node::from(cli.long_help.as_str())),
            ("ShortHelp", Node::from(cli.short_help.as_str())),
            ("Usage", Node::from(cli.usage.as_str())),
        ]),
        (_, PluginType::Getter) => object([("Protocols", strings(&metadata.protocols))]),
        _ => Node::Map(Map::new()),
    };
    let tree = object([
        ("APIVersion", Node::from(metadata.api_version.name())),
        ("Config", config),
        ("Name", Node::from(metadata.name.as_str())),
        ("Runtime", Node::from(metadata.runtime.name())),
        ("RuntimeConfig", runtime_config),
        ("SourceURL", Node::from(metadata.source_url.as_str())),
        ("Type", Node::from(metadata.plugin_type.name())),
        ("Version", Node::from(metadata.version.as_str())),
    ]);
    pintle_yaml::write(&tree).map_err(|error| Error::Manifest(error.to_string()))
}

fn extism_config(extism: &ExtismConfig) -> Node {
    let number = |number: u64| Node::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let config = extism.config.iter().map(|(name, value)| (name.as_str().into(), Node::from(value.as_str())));
    object([
        ("AllowedHosts", strings(&extism.allowed_hosts)),
        ("Config", if extism.config.is_empty() { Node::Nil } else { Node::Map(config.collect()) }),
        ("EntryFuncName", Node::from(extism.entry.as_str())),
        ("FileSystem", object([("CreateTempDir", Node::Bool(extism.create_temp_dir))])),
        ("HostFunctions", strings(&extism.host_functions)),
        (
            "Memory",
            object([
                ("MaxHTTPResponseBytes", number(extism.max_http_bytes)),
                ("MaxPages", number(extism.max_pages.into())),
                ("MaxVarBytes", number(extism.max_variable_bytes)),
            ]),
        ),
        ("Timeout", number(extism.timeout)),
    ])
}

fn object<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Map(Map::from_entries(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
}

fn list<T>(items: &[T], node: impl Fn(&T) -> Node) -> Node {
    if items.is_empty() { Node::Nil } else { Node::List(items.iter().map(node).collect()) }
}

fn strings(items: &[String]) -> Node {
    list(items, |item| Node::from(item.as_str()))
}

fn commands(items: &[PlatformCommand]) -> Node {
    list(items, |command| {
        object([
            ("Architecture", Node::from(command.arch.as_str())),
            ("Args", strings(&command.args)),
            ("Command", Node::from(command.command.as_str())),
            ("OperatingSystem", Node::from(command.os.as_str())),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{metadata_of_archive, unpack};

    #[test]
    fn what_is_packed_can_be_installed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        fs::write(dir.path().join("plugin.yaml"), "name: x\nversion: 1.0.0\n").unwrap();
        fs::write(dir.path().join("bin/run"), "#!/bin/sh\n").unwrap();
        let packed = pack(dir.path(), "x").unwrap();
        assert_eq!(archive_name(&metadata_of_archive(&packed).unwrap()), "x-1.0.0.tgz");
        let target = tempfile::tempdir().unwrap();
        unpack(&packed, target.path()).unwrap();
        assert_eq!(fs::read(target.path().join("x/bin/run")).unwrap(), b"#!/bin/sh\n");
    }

    #[test]
    fn the_signed_metadata_has_the_names_of_helms_fields() {
        let metadata = Metadata::parse(b"name: x\nversion: 1.0.0\nusage: u\ncommand: run\n").unwrap();
        let text = String::from_utf8(signed_metadata(&metadata).unwrap()).unwrap();
        assert_eq!(
            text,
            "APIVersion: legacy\nConfig:\n  IgnoreFlags: false\n  LongHelp: \"\"\n  ShortHelp: u\n  Usage: \"\"\nName: x\n\
             Runtime: subprocess\nRuntimeConfig:\n  PlatformCommand:\n  - Architecture: \"\"\n    Args: null\n    Command: run\n    \
             OperatingSystem: \"\"\n  PlatformHooks: null\n  ProtocolCommands: null\nSourceURL: \"\"\nType: cli/v1\nVersion: 1.0.0\n"
        );
    }
}
