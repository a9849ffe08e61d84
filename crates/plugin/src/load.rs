//! Finds the plugins of a folder.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::error::{Error, Result, refused};
use crate::manifest::{MAX_MANIFEST, Metadata, Runtime};

/// The name of the manifest.
pub(crate) const MANIFEST: &str = "plugin.yaml";

/// The module of a plugin of the runtime `extism/v1`.
pub const WASM: &str = "plugin.wasm";

/// A plugin on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Its folder.
    pub dir: PathBuf,
    /// What its manifest says.
    pub metadata: Metadata,
}

/// Loads the plugin of a folder.
///
/// # Errors
/// A manifest that cannot be read, and one that is not valid.
pub fn load_dir(dir: &Path) -> Result<Plugin> {
    let file = dir.join(MANIFEST);
    let quoted = |path: &Path| quote(path.to_string_lossy().as_bytes());
    let text =
        read(&file).map_err(|error| error.within(&format!("failed to read plugin at {}", quoted(&file))))?;
    let metadata = Metadata::parse(&text)
        .map_err(|error| error.within(&format!("failed to load plugin {}", quoted(dir))))?;
    let (file, missing) = match &metadata.runtime {
        Runtime::Extism(_) => (dir.join(WASM), "wasm binary missing for extism/v1 plugin"),
        Runtime::Lua(lua) => (dir.join(&lua.script), "script missing for lua plugin"),
        Runtime::Subprocess(_) => return Ok(Plugin { dir: dir.to_owned(), metadata }),
    };
    if !file.exists() {
        return Err(Error::Manifest(format!("{missing}: {}", quoted(&file))));
    }
    Ok(Plugin { dir: dir.to_owned(), metadata })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let opened = File::open(file).map_err(refused("open", file))?;
    opened.take(MAX_MANIFEST + 1).read_to_end(&mut text).map_err(refused("read", file))?;
    if text.len() as u64 > MAX_MANIFEST {
        return Err(Error::Manifest(format!("the manifest is larger than {} MiB", MAX_MANIFEST >> 20)));
    }
    Ok(text)
}

/// Loads the plugins in the folders below `base`, sorted by folder name. What cannot be loaded is left out, with a warning in
/// `log`.
pub fn load_all(base: &Path, log: &mut Vec<LogLine>) -> Vec<Plugin> {
    let mut plugins = Vec::new();
    for dir in folders(base) {
        match load_dir(&dir) {
            Ok(plugin) => plugins.push(plugin),
            Err(error) => log.push(LogLine::warn(
                "failed to load plugin (ignoring)",
                vec![("plugin_yaml", dir.join(MANIFEST).display().to_string()), ("error", error.to_string())],
            )),
        }
    }
    plugins
}

/// Checks that no two plugins of a folder have the same name.
///
/// # Errors
/// Two plugins with the same name.
pub fn check_duplicates(plugins: &[Plugin]) -> Result<()> {
    match find_duplicate(plugins) {
        Some((first, second)) => Err(Error::Input(format!(
            "two plugins claim the name {} at {} and {}",
            quote(second.metadata.name.as_bytes()),
            quote(first.dir.to_string_lossy().as_bytes()),
            quote(second.dir.to_string_lossy().as_bytes())
        ))),
        None => Ok(()),
    }
}

/// The first two plugins that have the same name.
fn find_duplicate(plugins: &[Plugin]) -> Option<(&Plugin, &Plugin)> {
    plugins.iter().enumerate().find_map(|(at, plugin)| {
        let first = plugins[..at].iter().find(|other| other.metadata.name == plugin.metadata.name)?;
        Some((first, plugin))
    })
}

/// The folders below `base` that have a manifest, sorted by name; none if `base` cannot be listed.
fn folders(base: &Path) -> Vec<PathBuf> {
    let listed = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let Ok(entries) = std::fs::read_dir(listed) else { return Vec::new() };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
        .into_iter()
        .map(|name| base.join(name))
        .filter(|dir| std::fs::symlink_metadata(dir.join(MANIFEST)).is_ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        std::fs::create_dir_all(dir.join(name)).unwrap();
        std::fs::write(dir.join(name).join(MANIFEST), text).unwrap();
    }

    #[test]
    fn a_broken_plugin_is_left_out_with_a_warning_and_the_others_load() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "b", "name: two\n");
        write(dir.path(), "a", "name: one\n");
        write(dir.path(), "c", "name: [\n");
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("e"), "a file").unwrap();
        let mut log = Vec::new();
        let plugins = load_all(dir.path(), &mut log);
        let names: Vec<&str> = plugins.iter().map(|plugin| plugin.metadata.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(log.len(), 1);
        assert!(
            log[0]
                .to_string()
                .starts_with("level=WARN msg=\"failed to load plugin (ignoring)\" plugin_yaml=")
        );
    }

    #[test]
    fn two_plugins_of_one_name_are_an_error_that_names_both() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a", "name: one\n");
        write(dir.path(), "b", "name: one\n");
        let error = check_duplicates(&load_all(dir.path(), &mut Vec::new())).unwrap_err().to_string();
        let path = |name: &str| format!("{:?}", dir.path().join(name));
        assert_eq!(error, format!("two plugins claim the name \"one\" at {} and {}", path("a"), path("b")));
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_plugins() {
        assert_eq!(load_all(Path::new("/nonexistent/plugins"), &mut Vec::new()), Vec::new());
    }
}
