//! `pull`: an archive into a folder, packed or unpacked.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use pintle_tree::quote::quote;
use tempfile::NamedTempFile;

use crate::atomic;
use crate::content::{ContentCache, Kind};
use crate::error::{Error, Result, refused};
use crate::resolve::{Resolved, Resolver};

/// Fetches an archive into a folder under its own name, and returns the file with its SHA-256. Also adds it to the content
/// cache.
///
/// # Errors
/// When it cannot be fetched or written; then there is no file.
pub fn pull(resolver: &Resolver<'_>, resolved: &Resolved, folder: &Path) -> Result<(PathBuf, String)> {
    let path = folder.join(&resolved.file_name);
    // Like Helm, fetch first: what is wrong with the chart is reported before what is wrong with the folder.
    let (mut file, no_folder) = match tempfile::NamedTempFile::new_in(folder_of(&path)) {
        Ok(file) => (file, None),
        Err(error) => {
            let scratch = tempfile::NamedTempFile::new().map_err(refused("open", &path))?;
            (scratch, Some(refused("open", &path)(error)))
        }
    };
    let cache = ContentCache::new(&resolver.folders.content_cache);
    let (digest, copy) = match resolver.cached(resolved)? {
        Some((cached, digest)) => {
            let mut from = fs::File::open(&cached).map_err(refused("open", &cached))?;
            io::copy(&mut from, file.as_file_mut()).map_err(refused("write", &path))?;
            (digest, None)
        }
        None => download(resolver, resolved, &mut file, cache.incoming().ok(), &path)?,
    };
    if let Some(error) = no_folder {
        return Err(error);
    }
    atomic::persist(file, &path, 0o644).map_err(refused("rename", &path))?;
    // Failing to cache it is not an error.
    if let Some(copy) = copy {
        let _ = cache.keep(copy, &digest, Kind::Chart);
    }
    Ok((path, digest))
}

/// The capacity of the channel to the writing thread, in pieces.
const WAITING: usize = 32;

/// Downloads into a file and, if the cache is writable, into another for the cache. A second thread writes, so that hashing
/// and writing overlap.
fn download(
    resolver: &Resolver<'_>,
    resolved: &Resolved,
    file: &mut NamedTempFile,
    mut copy: Option<NamedTempFile>,
    path: &Path,
) -> Result<(String, Option<NamedTempFile>)> {
    std::thread::scope(|scope| {
        let (full, receiver) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let (sender, empty) = mpsc::channel();
        let writing = scope.spawn(move || {
            for piece in receiver {
                file.write_all(&piece)?;
                copy = copy.take().filter(|copy| copy.as_file().write_all(&piece).is_ok());
                let _ = sender.send(piece);
            }
            Ok::<_, io::Error>(copy)
        });
        let mut pieces = Pieces { full, empty };
        let digest = resolver.download(resolved, &mut pieces);
        drop(pieces);
        let written = writing.join().unwrap_or_else(|_| Err(io::Error::other("writing was given up")));
        // A write error comes first, because it makes the download fail too.
        let copy = written.map_err(refused("write", path))?;
        Ok((digest?, copy))
    })
}

/// Sends pieces to the writing thread, in recycled buffers: allocating one for each would cost as much as hashing.
struct Pieces {
    full: mpsc::SyncSender<Vec<u8>>,
    empty: mpsc::Receiver<Vec<u8>>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut piece = self.empty.try_recv().unwrap_or_default();
        piece.clear();
        piece.extend_from_slice(bytes);
        self.full.send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name that an archive says the chart has, checked to be usable as the name of a folder.
fn chart_name(files: &[pintle_chart::File]) -> Result<String> {
    let wrong = Error::Archive;
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

/// Unpacks an archive into `folder/<name of the chart>`, which must not exist.
///
/// # Errors
/// Archives that are damaged, escape their folder or are too large; a folder that is there; those of writing.
pub fn expand(archive: &Path, folder: &Path) -> Result<PathBuf> {
    let bytes =
        pintle_chart::read_limited(archive, crate::fetch::MAX_ARCHIVE).map_err(refused("open", archive))?;
    let files = pintle_chart::read_archive(bytes).map_err(|error| Error::Archive(error.to_string()))?;
    let target = folder.join(chart_name(&files)?);
    if fs::symlink_metadata(&target).is_ok() {
        let shown = pintle_chart::path::clean(&target.to_string_lossy());
        let text = format!("failed to untar: a file or directory with the name {shown} already exists");
        return Err(Error::Input(text));
    }
    let mkdir =
        |folder: &Path| atomic::folder(folder).map_err(|error| error.within("failed to untar (mkdir)"));
    mkdir(folder)?;
    // Unpacked into a temporary folder and renamed, so that a full disk leaves no partial chart.
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
