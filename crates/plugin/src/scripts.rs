//! The scripts of a plugin of the runtime `lua`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, refused};

/// The largest script.
const MAX_SCRIPT: u64 = 1 << 20;

/// The most scripts of a plugin.
const MAX_SCRIPTS: usize = 500;

/// How deep folders of scripts may be nested.
const MAX_DEPTH: usize = 8;

/// Reads all `.lua` files below the folder of a plugin, by their paths relative to it, with slashes. Hidden files and
/// links are left out.
///
/// # Errors
/// Files that cannot be read, and more than a plugin may have.
pub fn read_scripts(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut scripts = BTreeMap::new();
    let mut open = vec![(dir.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(refused("open", &folder))? {
            let entry = entry.map_err(refused("read", &folder))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type().map_err(refused("lstat", &entry.path()))?;
            let relative = format!("{prefix}{name}");
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                open.push((entry.path(), format!("{relative}/"), depth + 1));
            } else if kind.is_file() && name.ends_with(".lua") {
                scripts.insert(relative, read(&entry.path())?);
            }
            if scripts.len() > MAX_SCRIPTS {
                return Err(Error::Input(format!("a plugin can have at most {MAX_SCRIPTS} scripts")));
            }
        }
    }
    Ok(scripts)
}

fn read(file: &PathBuf) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let opened = fs::File::open(file).map_err(refused("open", file))?;
    opened.take(MAX_SCRIPT + 1).read_to_end(&mut text).map_err(refused("read", file))?;
    if text.len() as u64 > MAX_SCRIPT {
        let text = format!("{}: a script can have at most {MAX_SCRIPT} bytes", file.display());
        return Err(Error::Input(text));
    }
    Ok(text)
}

/// Whether a path leads to a script below the folder of a plugin.
pub(crate) fn is_script_path(path: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':', '\0']);
    path.ends_with(".lua") && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_by_their_paths_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("lib/.git")).unwrap();
        for name in ["plugin.lua", "lib/text.lua", "lib/.git/x.lua", ".hidden.lua", "plugin.yaml"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let scripts = read_scripts(dir.path()).unwrap();
        assert_eq!(scripts.into_keys().collect::<Vec<_>>(), ["lib/text.lua", "plugin.lua"]);
        fs::write(dir.path().join("long.lua"), vec![b' '; 1 + MAX_SCRIPT as usize]).unwrap();
        let error = read_scripts(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("long.lua: a script can have at most 1048576 bytes"), "{error}");
    }

    #[test]
    fn paths_of_scripts_stay_in_the_folder() {
        assert!(is_script_path("plugin.lua") && is_script_path("a/b.lua"));
        for path in ["", "a", "../a.lua", "/a.lua", "a//b.lua", "c:a.lua", ".a.lua", "a\\b.lua"] {
            assert!(!is_script_path(path), "{path}");
        }
    }
}
