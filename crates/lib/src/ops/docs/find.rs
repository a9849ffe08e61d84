//! Finds charts below a folder, without those that an ignore file names.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_chart::IgnoreRules as Rules;

use crate::input::go_error_text;
use crate::{Error, Result};

/// The rules of an ignore file, and the folder that they are relative to.
pub(super) struct IgnoreRules {
    rules: Rules,
    folder: PathBuf,
}

impl IgnoreRules {
    /// Reads the file at the root of the git repository that the folder is in, or in the folder itself.
    pub(super) fn read(current_folder: &Path, name: &str) -> Result<Self> {
        let folder = absolute(current_folder);
        let root = folder.ancestors().find(|folder| folder.join(".git").exists());
        let folder = root.unwrap_or(&folder).to_owned();
        let path = folder.join(name);
        let rules = match pintle_chart::read_limited(&path, pintle_chart::MAX_TEXT) {
            Ok(text) => Rules::parse_plain(&text)
                .map_err(|error| Error::Input(format!("{}: {error}", path.display())))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Rules::default(),
            Err(error) => return Err(Error::Input(go_error_text(&path, &error))),
        };
        Ok(IgnoreRules { rules, folder })
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.folder) else { return false };
        let below = below.to_string_lossy();
        !below.is_empty() && (below == ".git" || self.rules.ignores(&below, is_folder))
    }
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The folders with a Chart.yaml, relative to the root, in the order of a walk.
pub(super) fn chart_folders(root: &Path, ignored: &IgnoreRules) -> Result<Vec<String>> {
    if !root.is_dir() {
        return Err(Error::Input(format!("{}: no such directory", root.display())));
    }
    let mut found = Vec::new();
    visit(root, "", &absolute(root), &mut |path, below, is_folder| {
        if ignored.ignores(path, is_folder) {
            return false;
        }
        if let Some(folder) = below.strip_suffix("Chart.yaml")
            && !is_folder
            && (folder.is_empty() || folder.ends_with('/'))
        {
            let folder = folder.trim_end_matches('/');
            found.push(if folder.is_empty() { ".".to_owned() } else { folder.to_owned() });
        }
        true
    });
    Ok(found)
}

/// All files below a folder, by their paths relative to it.
pub(super) fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    visit(root, "", root, &mut |_, below, is_folder| {
        if !is_folder {
            found.push(below.to_owned());
        }
        true
    });
    found
}

/// Walks a folder in the order of names, as Go's `filepath.Walk` does; symbolic links are not followed.
fn visit(folder: &Path, below: &str, absolute: &Path, enter: &mut dyn FnMut(&Path, &str, bool) -> bool) {
    let mut names: Vec<String> = match fs::read_dir(folder) {
        Ok(entries) => {
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        }
        Err(_) => return,
    };
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir());
        let below = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let absolute = absolute.join(&name);
        if enter(&absolute, &below, is_folder) && is_folder {
            visit(&path, &below, &absolute, enter);
        }
    }
}
