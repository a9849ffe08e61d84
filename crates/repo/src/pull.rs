//! `pull`: an archive into a folder, packed or unpacked.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_tree::quote::quote;

use crate::atomic;
use crate::content::{ContentCache, Kind};
use crate::error::{Error, Result, refused};
use crate::resolve::{Resolved, Resolver};

/// Fetches an archive into a folder under its own name, and gives the file with its SHA-256. The content cache is filled
/// too.
///
/// # Errors
/// When it cannot be fetched or written; then there is no file.
pub fn pull(resolver: &Resolver<'_>, resolved: &Resolved, folder: &Path) -> Result<(PathBuf, String)> {
    let path = folder.join(&resolved.file_name);
    let mut file = tempfile::NamedTempFile::new_in(folder_of(&path)).map_err(|error| {
        // Helm fetches first and then finds out that there is no folder.
        refused("open", &path)(error)
    })?;
    let digest = resolver.copy_to(resolved, file.as_file_mut())?;
    atomic::place(file, &path, 0o644).map_err(refused("rename", &path))?;
    ContentCache::new(&resolver.folders.content_cache).keep_copy(&path, &digest, Kind::Chart);
    Ok((path, digest))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name that an archive says the chart has, checked to be usable as the name of a folder.
fn chart_name(files: &[pintle_chart::File]) -> Result<String> {
    let wrong = |text: String| Error::Input(text);
    let mut name = String::new();
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        let mut draft = pintle_chart::metadata::Draft::default();
        draft.read_chart_file(&file.data).map_err(|error| wrong(error.to_string()))?;
        name = draft.metadata.name;
    }
    let shown = quote(name.as_bytes());
    match name.as_str() {
        "" => Err(wrong("chart name not specified".to_owned())),
        "." | ".." => Err(wrong(format!("chart name {shown} is not allowed"))),
        name if name != pintle_chart::path::base(name) => {
            Err(wrong(format!("chart name {shown} must not contain path separators")))
        }
        _ => Ok(name),
    }
}

/// Unpacks an archive into `folder/<name of the chart>`, which must not be there.
///
/// # Errors
/// Archives that are damaged, escape their folder or are too large; a folder that is there; those of writing.
pub fn expand(archive: &Path, folder: &Path) -> Result<PathBuf> {
    let bytes = fs::read(archive).map_err(refused("open", archive))?;
    let files = pintle_chart::read_archive(bytes).map_err(|error| Error::Input(error.to_string()))?;
    let target = folder.join(chart_name(&files)?);
    if fs::symlink_metadata(&target).is_ok() {
        let shown = pintle_chart::path::clean(&target.to_string_lossy());
        let text = format!("failed to untar: a file or directory with the name {shown} already exists");
        return Err(Error::Input(text));
    }
    let mkdir = |folder: &Path| {
        atomic::folder(folder)
            .map_err(|error| refused("mkdir", folder)(error).within("failed to untar (mkdir)"))
    };
    mkdir(folder)?;
    // Everything is unpacked beside the place and moved there at once, so that a disk that is full leaves nothing.
    let beside = tempfile::Builder::new()
        .prefix(".pintle-")
        .tempdir_in(folder)
        .map_err(|error| refused("mkdir", folder)(error).within("failed to untar (mkdir)"))?;
    let inside = beside.path().join("chart");
    mkdir(&inside)?;
    for file in &files {
        let path = inside.join(&file.name);
        if let Some(parent) = path.parent() {
            mkdir(parent)?;
        }
        fs::write(&path, &file.data).map_err(refused("open", &path))?;
    }
    fs::rename(&inside, &target).map_err(refused("rename", &target))?;
    Ok(target)
}
