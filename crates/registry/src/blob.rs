//! Reads blobs from a registry or a layout, resuming after connection failures.

use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, SeekFrom};

use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::name::Repository;
use crate::transport::Answer;

/// The chunk size for reading files.
const CHUNK_SIZE: usize = 256 << 10;

/// How many bytes a stream must deliver before its retry count is reset.
const RETRY_RESET_BYTES: u64 = 1 << 20;

/// Where a blob is read from.
#[derive(Clone)]
pub(crate) enum Origin {
    Registry(Arc<Client>, Repository),
    Layout(Arc<Layout>),
    /// A file by its path.
    File(Arc<Path>),
    /// Content in memory.
    Memory(Bytes),
}

/// A stream of a blob with a known total size.
pub(crate) struct BlobReader {
    origin: Origin,
    digest: Digest,
    size: u64,
    offset: u64,
    stream: Option<Stream>,
    tries: u32,
    /// The offset at the last failure.
    trouble: u64,
}

enum Stream {
    Answer {
        answer: Box<Answer>,
        /// Bytes to discard, from registries that ignore `Range`.
        skip: u64,
    },
    File(File),
    Memory(Option<Bytes>),
}

impl BlobReader {
    /// A stream that starts at `offset`.
    pub(crate) fn new(origin: Origin, digest: Digest, size: u64, offset: u64) -> BlobReader {
        BlobReader { origin, digest, size, offset, stream: None, tries: 0, trouble: offset }
    }

    /// A description for errors.
    pub(crate) fn what(&self) -> String {
        match &self.origin {
            Origin::Registry(_, repository) => repository.at(self.digest.clone()).to_string(),
            Origin::Layout(layout) => layout.blob_path(&self.digest).display().to_string(),
            Origin::File(path) => path.display().to_string(),
            Origin::Memory(_) => self.digest.to_string(),
        }
    }

    /// Returns the next chunk. A connection that breaks is reopened at the current offset.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.chunk().await {
                Ok(Some(chunk)) => {
                    self.offset += chunk.len() as u64;
                    if self.offset > self.size {
                        let reason = format!("there is more of it than the {} bytes promised", self.size);
                        return Err(Error::Size { what: self.what(), reason });
                    }
                    return Ok(Some(chunk));
                }
                Ok(None) if self.offset == self.size => return Ok(None),
                Ok(None) => self.recover(self.short()).await?,
                Err(error) => self.recover(error).await?,
            }
        }
    }

    fn short(&self) -> Error {
        let reason = format!("it ended after {} of {} bytes", self.offset, self.size);
        match self.origin {
            Origin::Registry(..) => Error::Network { url: self.what(), reason },
            _ => Error::Size { what: self.what(), reason },
        }
    }

    /// Prepares a retry, or returns the error if the retries are used up.
    async fn recover(&mut self, error: Error) -> Result<()> {
        self.stream = None;
        let Origin::Registry(client, _) = &self.origin else { return Err(error) };
        if self.offset >= self.trouble + RETRY_RESET_BYTES {
            self.tries = 0;
            self.trouble = self.offset;
        }
        if !error.is_transient() || self.tries >= client.settings().retries {
            return Err(error);
        }
        client.pause(self.tries, None).await;
        self.tries += 1;
        Ok(())
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        if self.offset == self.size && self.stream.is_none() {
            return Ok(None);
        }
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.open().await?,
        };
        match self.stream.insert(stream) {
            Stream::File(file) => {
                let mut chunk = BytesMut::with_capacity(CHUNK_SIZE);
                match file.read_buf(&mut chunk).await {
                    Ok(0) => Ok(None),
                    Ok(_) => Ok(Some(chunk.freeze())),
                    Err(source) => Err(Error::File { action: "read", path: self.what().into(), source }),
                }
            }
            Stream::Memory(rest) => Ok(rest.take().filter(|rest| !rest.is_empty())),
            Stream::Answer { answer, skip } => loop {
                let Some(mut chunk) = answer.chunk().await? else { return Ok(None) };
                let passed = usize::try_from(*skip).unwrap_or(usize::MAX).min(chunk.len());
                *skip -= passed as u64;
                let rest = chunk.split_off(passed);
                if !rest.is_empty() {
                    return Ok(Some(rest));
                }
            },
        }
    }

    async fn open_file(&self, path: &Path) -> Result<Stream> {
        let mut file = File::open(path).await.map_err(Error::file("read", path))?;
        file.seek(SeekFrom::Start(self.offset)).await.map_err(Error::file("read", path))?;
        Ok(Stream::File(file))
    }

    async fn open(&self) -> Result<Stream> {
        match &self.origin {
            Origin::Layout(layout) => self.open_file(&layout.blob_path(&self.digest)).await,
            Origin::File(path) => self.open_file(path).await,
            Origin::Memory(bytes) => {
                let start = usize::try_from(self.offset).unwrap_or(usize::MAX).min(bytes.len());
                Ok(Stream::Memory(Some(bytes.slice(start..))))
            }
            Origin::Registry(client, repository) => {
                let answer = client.open_blob(repository, &self.digest, self.offset).await?;
                let start = match answer.status {
                    http::StatusCode::PARTIAL_CONTENT => first_byte(&answer).unwrap_or(self.offset),
                    _ => 0,
                };
                let skip = self.offset.checked_sub(start).ok_or_else(|| Error::Network {
                    url: self.what(),
                    reason: format!("byte {} was asked for, and byte {start} comes", self.offset),
                })?;
                Ok(Stream::Answer { answer: Box::new(answer), skip })
            }
        }
    }
}

/// The `5` of `Content-Range: bytes 5-9/10`.
fn first_byte(answer: &Answer) -> Option<u64> {
    let range = answer.header("content-range")?.trim().strip_prefix("bytes")?;
    range.split('-').next()?.trim().parse().ok()
}
