//! The files of a chart: read from a folder, or from an archive in memory. Nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use pintle::chart::{IgnoreRules, MAX_CHART_SIZE, MAX_TEXT, read_archive, read_limited};

use crate::uri;

/// A file and its content.
pub struct DiskFile {
    /// Its name in the chart.
    pub name: String,
    /// Its address.
    pub uri: String,
    /// Its path; `None` in archives.
    pub path: Option<PathBuf>,
    /// Whether `.helmignore` keeps it out of the chart.
    pub ignored: bool,
    /// The content. Empty if it is too large to be read.
    pub data: Vec<u8>,
}

/// The maximum number of files of a chart.
const MAX_FILES: usize = 20_000;
/// The maximum depth of folders.
const MAX_DEPTH: usize = 32;

struct Walk<'a> {
    root: &'a Path,
    allowed: &'a [PathBuf],
    rules: IgnoreRules,
    files: Vec<DiskFile>,
    left: u64,
}

/// Reads the files of the chart in a folder. Links that lead out of the allowed folders are not followed.
pub fn read_chart_folder(root: &Path, allowed: &[PathBuf]) -> Vec<DiskFile> {
    let rules = read_limited(root.join(".helmignore"), MAX_TEXT).unwrap_or_default();
    let rules = IgnoreRules::parse_plain(&rules).unwrap_or_default();
    let mut walk = Walk { root, allowed, rules, files: Vec::new(), left: MAX_CHART_SIZE };
    walk.folder(root, "", false, 0);
    walk.files
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, ignored: bool, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if self.files.len() >= MAX_FILES
                || prefix.is_empty() && name == ".git"
                || name.ends_with("node_modules")
            {
                continue;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let is_folder = if kind.is_symlink() {
                if !self.may_follow(&path) {
                    continue;
                }
                path.is_dir()
            } else {
                kind.is_dir()
            };
            let ignored = ignored || self.rules.ignores(&name, is_folder);
            if is_folder {
                if depth < MAX_DEPTH {
                    self.folder(&path, &format!("{name}/"), ignored, depth + 1);
                }
            } else if path.is_file() {
                self.file(path, name, ignored);
            }
        }
    }

    /// Whether a link stays inside of the allowed folders and does not lead back.
    fn may_follow(&self, link: &Path) -> bool {
        let Ok(target) = fs::canonicalize(link) else { return false };
        let inside =
            target.starts_with(self.root) || self.allowed.iter().any(|root| target.starts_with(root));
        inside && !link.starts_with(&target)
    }

    fn file(&mut self, path: PathBuf, name: String, ignored: bool) {
        // What is ignored matters only as values and tests for the editor.
        if ignored && !(name.ends_with(".yaml") || name.ends_with(".yml")) {
            return;
        }
        let limit = if name.starts_with("charts/") && name.ends_with(".tgz") {
            self.left
        } else {
            MAX_TEXT.min(self.left)
        };
        let data = read_limited(&path, limit).unwrap_or_default();
        self.left = self.left.saturating_sub(data.len() as u64);
        self.files.push(DiskFile { name, uri: uri::from_path(&path), path: Some(path), ignored, data });
    }
}

/// The files of the chart in an archive. Their addresses say where they are; there are no such files.
pub(super) fn in_archive(archive: &DiskFile) -> Vec<DiskFile> {
    let Ok(files) = read_archive(archive.data.clone()) else { return Vec::new() };
    let uri_of = |name: &str| match &archive.path {
        Some(path) => uri::in_archive(path, name),
        None => format!("{}!/{name}", archive.uri),
    };
    let file = |file: pintle::chart::File| DiskFile {
        uri: uri_of(&file.name),
        path: None,
        ignored: false,
        data: file.data.to_vec(),
        name: file.name,
    };
    files.into_iter().map(file).collect()
}
