//! Writes blobs into a layout folder, resuming partial files of an earlier copy.

use std::path::Path;

use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _, SeekFrom};

use crate::blob::{BlobReader, Origin};
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::progress::BlobProgress;

/// The chunk size for hashing a partial file.
const CHUNK_SIZE: usize = 256 << 10;

/// Writes a blob into a layout. Returns the number of bytes transferred.
pub(crate) async fn ingest(
    layout: &Layout,
    origin: &Origin,
    digest: &Digest,
    size: u64,
    progress: &BlobProgress,
) -> Result<u64> {
    let path = layout.ingest_path(digest);
    let outcome = match fetch(&path, origin, digest, size, progress).await {
        // The partial file may be corrupt, so the second attempt starts from scratch.
        Err((Error::Mismatch { .. }, true)) => fetch(&path, origin, digest, size, progress).await,
        outcome => outcome,
    };
    let moved = outcome.map_err(|(error, _)| error)?;
    layout.commit_blob(digest)?;
    Ok(moved)
}

/// Fetches the missing rest of a file. Errors carry whether there was a partial file.
async fn fetch(
    path: &Path,
    origin: &Origin,
    digest: &Digest,
    size: u64,
    progress: &BlobProgress,
) -> std::result::Result<u64, (Error, bool)> {
    let before = begin(path, digest, size).await.map_err(|error| (error, false))?;
    let (mut file, mut hasher, offset) = before;
    let resumed = offset > 0;
    progress.blob_resumed(offset);
    let mut reader = BlobReader::new(origin.clone(), digest.clone(), size, offset);
    let mut moved = 0;
    let failed = |error: Error| (error, resumed);
    loop {
        let chunk = match reader.next().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                // Keep the partial file for the next copy; if syncing fails, that copy merely starts earlier.
                let _ = file.flush().await;
                return Err(failed(error));
            }
        };
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(|source| failed(write_error(path, source)))?;
        moved += chunk.len() as u64;
        progress.blob_progressed(chunk.len() as u64);
    }
    if let Err(mismatch) = hasher.check(digest, &reader.what()) {
        drop(file);
        tokio::fs::remove_file(path).await.map_err(|source| failed(write_error(path, source)))?;
        return Err(failed(mismatch));
    }
    file.sync_all().await.map_err(|source| failed(write_error(path, source)))?;
    Ok(moved)
}

fn write_error(path: &Path, source: std::io::Error) -> Error {
    Error::File { action: "write", path: path.to_owned(), source }
}

/// Opens the file and hashes its current content.
async fn begin(path: &Path, digest: &Digest, size: u64) -> Result<(File, Hasher, u64)> {
    let write = |source| write_error(path, source);
    let mut options = OpenOptions::new();
    let mut file =
        options.create(true).truncate(false).read(true).write(true).open(path).await.map_err(write)?;
    let mut hasher = digest.hasher();
    let mut offset = 0;
    if file.metadata().await.map_err(write)?.len() > size {
        file.set_len(0).await.map_err(write)?;
    }
    let mut chunk = vec![0; CHUNK_SIZE];
    loop {
        let count = file.read(&mut chunk).await.map_err(write)?;
        if count == 0 {
            break;
        }
        hasher.update(&chunk[..count]);
        offset += count as u64;
    }
    file.seek(SeekFrom::Start(offset)).await.map_err(write)?;
    Ok((file, hasher, offset))
}
