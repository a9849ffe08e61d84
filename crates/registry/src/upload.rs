//! Streams a blob to a registry, resuming after failures on either side.
//!
//! Only the current chunk is held in memory. To be able to resume, the hasher is checkpointed every few mebibytes:
//! whatever the registry has received, the source is read again from the last checkpoint before that, and hashing
//! continues from there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::time::Instant;

use crate::auth::token::{Scope, encode};
use crate::blob::{BlobReader, Origin};
use crate::client::{self, Call, Client, retry_after};
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result, is_transient};
use crate::name::Repository;
use crate::progress::BlobProgress;
use crate::transport::{Answer, Body, BoxError, shown};

/// The distance between hasher checkpoints, in bytes.
const CHECKPOINT_INTERVAL: u64 = 4 << 20;

/// How often a stalled connection is checked for.
const STALL_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// An upload of one blob.
pub(crate) struct Upload<'u> {
    pub(crate) client: &'u Arc<Client>,
    pub(crate) repository: &'u Repository,
    pub(crate) origin: Origin,
    pub(crate) digest: &'u Digest,
    pub(crate) size: u64,
    pub(crate) progress: BlobProgress,
}

/// The state shared by the request body and the retry loop.
struct UploadState {
    /// Hasher checkpoints by offset.
    checkpoints: Vec<(u64, Hasher)>,
    hasher: Hasher,
    /// Whether the source was hashed just before, so that hashing again is redundant: the registry verifies the digest, too.
    is_hashed: bool,
    offset: u64,
    /// The error of the reading side.
    failure: Option<Error>,
    /// When data last moved, for stall detection.
    moved: Instant,
}

impl UploadState {
    /// Drops checkpoints after `offset`. Returns the offset of the last one left.
    fn rewind(&mut self, offset: u64) -> u64 {
        self.checkpoints.retain(|(mark, _)| *mark <= offset);
        if let Some((mark, hasher)) = self.checkpoints.last() {
            self.offset = *mark;
            self.hasher = hasher.clone();
        }
        self.moved = Instant::now();
        self.offset
    }

    fn take(&mut self, chunk: &Bytes) {
        if !self.is_hashed {
            self.hasher.update(chunk);
        }
        self.offset += chunk.len() as u64;
        self.moved = Instant::now();
        if self.checkpoints.last().is_none_or(|(mark, _)| self.offset >= mark + CHECKPOINT_INTERVAL) {
            self.checkpoints.push((self.offset, self.hasher.clone()));
        }
    }
}

type Shared = Arc<Mutex<UploadState>>;

impl Upload<'_> {
    /// Uploads the blob to `location`.
    pub(crate) async fn run(self, location: Uri) -> Result<()> {
        let hasher = self.digest.hasher();
        let state: Shared = Arc::new(Mutex::new(UploadState {
            checkpoints: vec![(0, hasher.clone())],
            hasher,
            is_hashed: matches!(self.origin, Origin::File(_)),
            offset: 0,
            failure: None,
            moved: Instant::now(),
        }));
        let mut location = location;
        let mut sent = 0;
        let mut tries = 0;
        let location = loop {
            match self.pass(&state, &location, sent).await {
                Ok(next) => break next,
                Err((error, wait)) => {
                    if !error.is_transient() || tries >= self.client.settings().retries {
                        return Err(error);
                    }
                    self.client.pause(tries, wait).await;
                    let before = sent;
                    (location, sent) = self.resume(&location).await?;
                    // An attempt that made progress resets the retry count.
                    tries = if sent >= before + CHECKPOINT_INTERVAL { 1 } else { tries + 1 };
                }
            }
        };
        self.finish(&state, location).await
    }

    /// Sends the rest in one request.
    async fn pass(
        &self,
        state: &Shared,
        location: &Uri,
        sent: u64,
    ) -> std::result::Result<Uri, (Error, Option<Duration>)> {
        let body = self.body(state, sent);
        let mut call = Call::new(Method::PATCH, location.clone(), Scope::Push(self.repository.clone()))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, &(self.size - sent).to_string());
        if sent > 0 {
            call = call.header(CONTENT_RANGE, &format!("{sent}-{}", self.size.saturating_sub(1)));
        }
        let answer = tokio::select! {
            answer = self.client.send_once(&call, body) => answer,
            error = self.stalled(state, location) => Err(error),
        };
        if let Some(failure) = state.lock().unwrap_or_else(PoisonError::into_inner).failure.take() {
            // The reader has used up its own retries, so this is final.
            return Err((permanent(failure), None));
        }
        let answer = answer.map_err(|error| (error, None))?;
        match answer.status {
            status if status.is_success() => {
                self.next_location(&answer, location).map_err(|error| (error, None))
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let reason = "the registry has got something else so far".into();
                Err((Error::Network { url: shown(location), reason }, None))
            }
            status if is_transient(status) => {
                let wait = retry_after(&answer);
                Err((answer.error().await, wait))
            }
            _ => Err((answer.error().await, None)),
        }
    }

    /// The blob from `sent` on, hashed as it is read.
    fn body(&self, state: &Shared, sent: u64) -> Body {
        let start = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.failure = None;
            state.rewind(sent)
        };
        let reader = BlobReader::new(self.origin.clone(), self.digest.clone(), self.size, start);
        let (state, progress) = (state.clone(), self.progress.clone());
        progress.blob_resumed(sent);
        let pieces = stream::unfold((reader, start, false), move |(mut reader, mut at, ended)| {
            let (state, progress) = (state.clone(), progress.clone());
            async move {
                if ended {
                    return None;
                }
                loop {
                    let chunk = match reader.next().await {
                        Ok(Some(chunk)) => chunk,
                        Ok(None) => return None,
                        Err(error) => {
                            let text: BoxError = error.to_string().into();
                            state.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(error);
                            return Some((Err(text), (reader, at, true)));
                        }
                    };
                    state.lock().unwrap_or_else(PoisonError::into_inner).take(&chunk);
                    let end = at + chunk.len() as u64;
                    let fresh = chunk.slice(clamp(sent, at, end)..);
                    at = end;
                    if !fresh.is_empty() {
                        progress.blob_progressed(fresh.len() as u64);
                        return Some((Ok(Frame::data(fresh)), (reader, at, false)));
                    }
                }
            }
        });
        BodyExt::boxed_unsync(StreamBody::new(pieces))
    }

    /// Completes when nothing has moved for too long.
    async fn stalled(&self, state: &Shared, location: &Uri) -> Error {
        // Reading may wait for its own retries, so writing gets twice the idle timeout.
        let idle_timeout = self.client.transport().idle_timeout() * 2;
        loop {
            tokio::time::sleep(STALL_CHECK_INTERVAL.min(idle_timeout)).await;
            let moved = state.lock().unwrap_or_else(PoisonError::into_inner).moved;
            if moved.elapsed() > idle_timeout {
                return Error::Network {
                    url: shown(location),
                    reason: format!("nothing moved for {idle_timeout:?}"),
                };
            }
        }
    }

    /// Where to continue; registries may change the URL with every response.
    fn next_location(&self, answer: &Answer, location: &Uri) -> Result<Uri> {
        if answer.header("location").is_some() {
            client::location(answer, location)
        } else {
            Ok(location.clone())
        }
    }

    /// Asks how much was received; starts a new upload if the registry has forgotten this one.
    async fn resume(&self, location: &Uri) -> Result<(Uri, u64)> {
        let call = Call::new(Method::GET, location.clone(), Scope::Push(self.repository.clone()));
        let answer = self.client.call(&call).await?;
        if answer.status.is_success()
            && let Some(received_bytes) = answer.header("range").and_then(received_bytes)
            && received_bytes <= self.size
        {
            return Ok((self.next_location(&answer, location)?, received_bytes));
        }
        Ok((self.client.begin_upload(self.repository).await?, 0))
    }

    /// Verifies the digest and commits the upload.
    async fn finish(&self, state: &Shared, location: Uri) -> Result<()> {
        let (hasher, is_hashed) = {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.hasher.clone(), state.is_hashed)
        };
        let what = BlobReader::new(self.origin.clone(), self.digest.clone(), self.size, 0).what();
        let scope = Scope::Push(self.repository.clone());
        if !is_hashed && let Err(mismatch) = hasher.check(self.digest, &what) {
            // Best effort: registries expire abandoned uploads.
            let _ = self.client.call(&Call::new(Method::DELETE, location, scope)).await;
            return Err(mismatch);
        }
        let sign = if location.query().is_some() { '&' } else { '?' };
        let uri = format!("{location}{sign}digest={}", encode(&self.digest.to_string()));
        let uri =
            uri.parse().map_err(|_| Error::Network { url: shown(&location), reason: "no address".into() })?;
        let call = Call::new(Method::PUT, uri, scope).header(CONTENT_LENGTH, "0");
        let answer = self.client.call(&call).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        // The response to an earlier attempt may have been lost after it took effect.
        if answer.status == StatusCode::NOT_FOUND
            && self.client.has_blob(self.repository, self.digest).await?
        {
            return Ok(());
        }
        Err(answer.error().await)
    }
}

/// How much of a chunk from `at` to `end` lies before `sent`.
fn clamp(sent: u64, at: u64, end: u64) -> usize {
    usize::try_from(sent.clamp(at, end) - at).unwrap_or(usize::MAX)
}

/// Makes an error permanent, so that it is not retried.
fn permanent(error: Error) -> Error {
    if error.is_transient() { Error::Shared(Arc::new(error)) } else { error }
}

/// The `9` of `Range: 0-8`. `0-0` counts as nothing: registries send it when they have nothing.
fn received_bytes(range: &str) -> Option<u64> {
    let (first, last) = range.trim().trim_start_matches("bytes=").split_once('-')?;
    match (first.trim().parse().ok()?, last.trim().parse::<u64>().ok()?) {
        (0, 0) => Some(0),
        (0, last) => last.checked_add(1),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_is_read() {
        assert_eq!(received_bytes("0-8"), Some(9));
        assert_eq!(received_bytes("bytes=0-8"), Some(9));
        assert_eq!(received_bytes("0-0"), Some(0));
        for text in ["", "5-8", "0-x", "0", "0-18446744073709551615"] {
            assert_eq!(received_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn going_back_keeps_the_digest_right() {
        let content = vec![7_u8; 20 << 20];
        let digest = Digest::of(&content);
        let hasher = digest.hasher();
        let mut state = UploadState {
            checkpoints: vec![(0, hasher.clone())],
            hasher,
            is_hashed: false,
            offset: 0,
            failure: None,
            moved: Instant::now(),
        };
        let feed = |state: &mut UploadState, until: usize| {
            while state.offset < until as u64 {
                let at = usize::try_from(state.offset).unwrap();
                state.take(&Bytes::copy_from_slice(&content[at..until.min(at + (1 << 20))]));
            }
        };
        feed(&mut state, 15 << 20);
        let start = state.rewind(9 << 20);
        assert_eq!(start, 8 << 20);
        feed(&mut state, content.len());
        assert!(state.hasher.check(&digest, "it").is_ok());
    }
}
