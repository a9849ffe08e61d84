//! Objects that are rendered already: files, folders, or texts that were read elsewhere.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pintle_check::{RenderedText, Rendering, Subject};

use crate::input::{self, go_error_text};
use crate::{Error, Result};

/// All objects of a file or below a folder. The files of a folder are read when they are checked: they may be many.
pub(super) fn subject(path: &Path) -> Result<Subject> {
    let mut files = Vec::new();
    if path.is_file() {
        let text = input::read_values(path).map_err(Error::Input)?;
        return Ok(of_text(&path.to_string_lossy(), text));
    }
    if path.is_dir() {
        let mut paths = Vec::new();
        collect(path, &mut paths)?;
        for path in paths {
            // A file that cannot be opened is an error, not a finding.
            File::open(&path).map_err(|error| Error::Input(go_error_text(&path, &error)))?;
            let path = path.to_string_lossy().into_owned();
            files.push(RenderedText { path, text: None, origins: Vec::new() });
        }
    } else {
        let path = path.display();
        return Err(Error::Input(format!("{path} is neither a chart nor a file or folder of objects")));
    }
    Ok(of_files(files))
}

/// The objects of a text.
pub(super) fn of_text(name: &str, text: Vec<u8>) -> Subject {
    of_files(vec![RenderedText { path: name.to_owned(), text: Some(text), origins: Vec::new() }])
}

fn of_files(files: Vec<RenderedText>) -> Subject {
    Subject { renderings: vec![Rendering { files, ..Rendering::default() }], ..Subject::default() }
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
        let text = input::read_values(&path).map_err(Error::Input)?;
        let path = path.to_string_lossy().into_owned();
        if memchr::memmem::find(&text, b"CustomResourceDefinition").is_some() {
            crds.push(RenderedText { path, text: Some(text), origins: Vec::new() });
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
