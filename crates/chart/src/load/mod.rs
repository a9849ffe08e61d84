//! Loads charts from folders and archives.

mod archive;
mod assemble;
mod directory;
mod gunzip;
mod ignore;
mod pattern;
mod regular;
mod sniff;
mod tar;

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::decode::{Decoder, read_tree};
use crate::error::{ArchiveError, Error, FileError, Result, file_error};
use crate::metadata::{OBJECT_V3, V1, V2, V3};
use crate::{Chart, File};
use pintle_tree::{LogLine, Str};

use archive::{Budget, read_archive_within};
pub use archive::{MAX_CHART_SIZE, read_archive};
use assemble::Assembler;
pub use directory::read_folder;
pub use ignore::IgnoreRules;
pub use pattern::{BadPattern, matches};
pub use regular::{MAX_TEXT, limited, read_limited, read_regular};

/// Loads the chart at `path`, a folder or an archive. Warnings go to `log`.
///
/// # Errors
/// With Helm's text for whatever is wrong with the path, the archive or the chart.
pub fn load(path: &Path, log: &mut Vec<LogLine>) -> Result<Chart> {
    if stat(path)?.is_dir() { load_dir(path, log) } else { load_file(path, log) }
}

/// Loads the chart in the folder `path`.
///
/// # Errors
/// Like [`load`].
pub fn load_dir(path: &Path, log: &mut Vec<LogLine>) -> Result<Chart> {
    let chart_file = directory::absolute(path)?.join("Chart.yaml");
    let text = read_regular(&chart_file).map_err(|source| Error::UndetectableFolder {
        source: FileError::new("open", &chart_file, source),
        path: chart_file,
    })?;
    // Before the rest is read, as in Helm, so that an unknown version is reported first.
    check_api_version(&text)?;
    assemble(read_folder(path, log)?, log)
}

/// Loads the chart archive `path`.
///
/// # Errors
/// Like [`load`].
pub fn load_file(path: &Path, log: &mut Vec<LogLine>) -> Result<Chart> {
    let files = read_archive(open_archive(path)?).map_err(|error| file_archive_error(path, error))?;
    check_chart_file(&files)?;
    assemble(files, log).map_err(|error| with_file_name(path, error))
}

/// As [`load_file`], for an archive that takes at most `limit` bytes when it and the archives inside are decompressed; `None`
/// when that is not enough.
///
/// # Errors
/// Like [`load`].
pub fn load_file_within(path: &Path, limit: u64, log: &mut Vec<LogLine>) -> Result<Option<Chart>> {
    load_within(open_archive(path)?.into(), limit, |error| file_archive_error(path, error), log)
}

fn file_archive_error(path: &Path, error: ArchiveError) -> Error {
    match error {
        ArchiveError::GzipHeader => with_file_name(path, error.into()),
        _ => Error::UnreadableArchive(error),
    }
}

/// Loads a chart archive from a stream.
///
/// # Errors
/// Like [`load`].
pub fn load_archive(stream: impl Read, log: &mut Vec<LogLine>) -> Result<Chart> {
    let mut data = Vec::new();
    stream
        .take(MAX_CHART_SIZE)
        .read_to_end(&mut data)
        .map_err(|error| Error::message(format!("unable to load chart archive: {error}")))?;
    let files = read_archive(data).map_err(stream_error)?;
    check_chart_file(&files)?;
    assemble(files, log)
}

/// As [`load_archive`], for an archive that takes at most `limit` bytes when it and the archives inside are decompressed;
/// `None` when that is not enough.
///
/// # Errors
/// Like [`load`].
pub fn load_archive_within(
    data: impl Into<Str>,
    limit: u64,
    log: &mut Vec<LogLine>,
) -> Result<Option<Chart>> {
    load_within(data.into(), limit, stream_error, log)
}

fn load_within(
    data: Str,
    limit: u64,
    archive_error: impl FnOnce(ArchiveError) -> Error,
    log: &mut Vec<LogLine>,
) -> Result<Option<Chart>> {
    let mut budget = Budget::within(limit);
    let files = match read_archive_within(&data, &mut budget) {
        Err(_) if budget.is_exceeded() => return Ok(None),
        files => files.map_err(archive_error)?,
    };
    check_chart_file(&files)?;
    let mut assembler = Assembler::within(budget, log);
    match assembler.chart(files) {
        Err(_) if assembler.is_exceeded() => Ok(None),
        chart => chart.map(Some),
    }
}

fn stream_error(error: ArchiveError) -> Error {
    match error {
        ArchiveError::GzipHeader => {
            Error::message(format!("stream does not appear to be a valid chart file (details: {error})"))
        }
        _ => Error::message(format!("unable to load chart archive: {error}")),
    }
}

fn check_chart_file(files: &[File]) -> Result<()> {
    let chart_file = files.iter().find(|file| file.name == "Chart.yaml").ok_or(Error::UndetectableArchive)?;
    check_api_version(&chart_file.data)
}

/// Loads the chart at `path` whatever its `apiVersion`, as Helm's dependency and lint commands do.
///
/// # Errors
/// Like [`load`], without the check of the `apiVersion`.
pub fn load_any_version(path: &Path, log: &mut Vec<LogLine>) -> Result<Chart> {
    if stat(path)?.is_dir() {
        return assemble(read_folder(path, log)?, log);
    }
    let data = open_archive(path)?;
    let files = read_archive(data).map_err(Error::from);
    files.and_then(|files| assemble(files, log)).map_err(|error| with_file_name(path, error))
}

/// Loads the chart in the folder `path` whatever its `apiVersion`. A path that is no folder is a chart without files, as in
/// Helm, whose error is that Chart.yaml is missing.
///
/// # Errors
/// Like [`load_any_version`].
pub(crate) fn load_folder_any_version(path: &Path, log: &mut Vec<LogLine>) -> Result<Chart> {
    let files = if path.is_dir() { read_folder(path, log)? } else { Vec::new() };
    assemble(files, log)
}

/// Assembles a chart from its files. Warnings are dropped; [`load_files_logged`] keeps them.
///
/// # Errors
/// With Helm's text for whatever is wrong with the chart.
pub fn load_files(files: Vec<File>) -> Result<Chart> {
    assemble(files, &mut Vec::new())
}

/// Assembles a chart from its files. Warnings go to `log`.
///
/// # Errors
/// With Helm's text for whatever is wrong with the chart.
pub fn load_files_logged(files: Vec<File>, log: &mut Vec<LogLine>) -> Result<Chart> {
    assemble(files, log)
}

fn assemble(files: Vec<File>, log: &mut Vec<LogLine>) -> Result<Chart> {
    Assembler::new(log).chart(files)
}

fn stat(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(file_error("stat", path))
}

/// Reads a file that should be an archive; otherwise the error says what it seems to be.
fn open_archive(path: &Path) -> Result<Vec<u8>> {
    if stat(path)?.is_dir() {
        return Err(Error::message("cannot load a directory"));
    }
    let data = read_regular(path).map_err(file_error("open", path))?;
    // The magic number of gzip, and its only compression method.
    if !data.starts_with(&[0x1f, 0x8b, 0x08]) {
        let name = path.display();
        let yaml = path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml");
        return Err(Error::NotAnArchive(if yaml {
            format!("file '{name}' seems to be a YAML file, but expected a gzipped archive")
        } else {
            let guess = sniff::content_type(&data);
            format!("file '{name}' does not appear to be a gzipped archive; got '{guess}'")
        }));
    }
    Ok(data)
}

/// Adds the file name if something in it should be gzip and is not: the file itself, or a nested archive.
fn with_file_name(path: &Path, error: Error) -> Error {
    let mut inner = &error;
    while let Error::Subchart { source, .. } = inner {
        inner = source;
    }
    if !matches!(inner, Error::Archive(ArchiveError::GzipHeader)) {
        return error;
    }
    let path = path.display();
    Error::NotAnArchive(format!("file '{path}' does not appear to be a valid chart file (details: {error})"))
}

/// Rejects an unknown `apiVersion`.
fn check_api_version(chart_file: &[u8]) -> Result<()> {
    let tree = read_tree(chart_file, "Chart.yaml", false)?;
    let mut version = String::new();
    let mut decoder = Decoder::new(false);
    decoder.document(&tree, "loader.chartBase", &["apiVersion"], |decoder, _, value| {
        decoder.string(value, &mut version);
    });
    decoder.finish(&tree).map_err(|reason| Error::File { file: "Chart.yaml", reason, line: None })?;
    match version.as_str() {
        // Helm takes a missing version for `v1`.
        "" | V1 | V2 | V3 | OBJECT_V3 => Ok(()),
        _ => Err(Error::UnsupportedVersion),
    }
}
