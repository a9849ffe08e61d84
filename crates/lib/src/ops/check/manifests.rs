//! Objects that are rendered already: files, folders, or standard input.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_check::{RenderedText, Rendering, Subject};

use crate::input;
use crate::{Error, Result};

/// Reads all objects of a file or below a folder.
pub(super) fn subject(path: &str) -> Result<Subject> {
    let mut paths = Vec::new();
    if path == "-" || Path::new(path).is_file() {
        paths.push(PathBuf::from(path));
    } else if Path::new(path).is_dir() {
        collect(Path::new(path), &mut paths)?;
    } else {
        return Err(Error::Input(format!("{path} is neither a chart nor a file or folder of objects")));
    }
    let mut files = Vec::new();
    for path in paths {
        let path = path.to_string_lossy().into_owned();
        let text = input::read_values(&path).map_err(Error::Input)?;
        files.push(RenderedText { path, text, origins: Vec::new() });
    }
    Ok(Subject { renderings: vec![Rendering { files, ..Rendering::default() }], ..Subject::default() })
}

/// The CRDs in files and below folders among the locations of schemas. Other locations are catalogues of JSON schemas.
pub(super) fn located_crds(locations: &[String]) -> Result<Vec<RenderedText>> {
    let mut paths = Vec::new();
    for location in locations {
        let path = Path::new(location);
        if path.is_dir() {
            collect(path, &mut paths)?;
        } else if path.is_file() {
            paths.push(path.to_owned());
        }
    }
    let mut crds = Vec::new();
    for path in
        paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "yaml" || it == "yml"))
    {
        let path = path.to_string_lossy().into_owned();
        let text = input::read_values(&path).map_err(Error::Input)?;
        if memchr::memmem::find(&text, b"CustomResourceDefinition").is_some() {
            crds.push(RenderedText { path, text, origins: Vec::new() });
        }
    }
    Ok(crds)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |source| Error::File { action: "read", path: folder.to_owned(), source };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() {
            collect(&path, into)?;
        } else if extension == "yaml" || extension == "yml" || extension == "json" {
            into.push(path);
        }
    }
    Ok(())
}
