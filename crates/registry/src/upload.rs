//! Sending content to a registry as it comes in, and going on where it broke off on either side.
//!
//! Nothing is kept in memory but the piece under way. To be able to go back, the state of the digest is kept every few
//! mebibytes: whatever the registry has got, the source is read again from the last such place, and the digest goes on
//! from there.

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
use crate::client::{Call, Client, location, wanted_pause};
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result, is_transient};
use crate::name::Repository;
use crate::progress::Watch;
use crate::transport::{Answer, Body, BoxError, shown};

/// How often the state of the digest is kept.
const STRIDE: u64 = 4 << 20;

/// How often a stalled connection is looked for.
const GLANCE: Duration = Duration::from_millis(500);

/// Content on its way from one place to a registry.
pub(crate) struct Upload<'u> {
    pub(crate) client: &'u Arc<Client>,
    pub(crate) repository: &'u Repository,
    pub(crate) origin: Origin,
    pub(crate) digest: &'u Digest,
    pub(crate) size: u64,
    pub(crate) watch: Watch,
}

/// What has passed so far.
struct Tally {
    /// States of the digest, with how much had passed.
    marks: Vec<(u64, Hasher)>,
    hasher: Hasher,
    offset: u64,
    /// What went wrong on the reading side.
    failure: Option<Error>,
    /// When something last moved.
    moved: Instant,
}

impl Tally {
    /// Goes back to the last mark before `offset`, and says where that is.
    fn rewind(&mut self, offset: u64) -> u64 {
        self.marks.retain(|(mark, _)| *mark <= offset);
        if let Some((mark, hasher)) = self.marks.last() {
            self.offset = *mark;
            self.hasher = hasher.clone();
        }
        self.moved = Instant::now();
        self.offset
    }

    fn take(&mut self, piece: &Bytes) {
        self.hasher.update(piece);
        self.offset += piece.len() as u64;
        self.moved = Instant::now();
        if self.marks.last().is_none_or(|(mark, _)| self.offset >= mark + STRIDE) {
            self.marks.push((self.offset, self.hasher.clone()));
        }
    }
}

type Shared = Arc<Mutex<Tally>>;

impl Upload<'_> {
    /// Sends everything to where the registry wants it.
    pub(crate) async fn run(self, begun: Uri) -> Result<()> {
        let hasher = self.digest.hasher();
        let tally: Shared = Arc::new(Mutex::new(Tally {
            marks: vec![(0, hasher.clone())],
            hasher,
            offset: 0,
            failure: None,
            moved: Instant::now(),
        }));
        let mut place = begun;
        let mut sent = 0;
        let mut tries = 0;
        let place = loop {
            match self.pass(&tally, &place, sent).await {
                Ok(next) => break next,
                Err((error, wait)) => {
                    if !error.is_transient() || tries >= self.client.settings().retries {
                        return Err(error);
                    }
                    self.client.pause(tries, wait).await;
                    let before = sent;
                    (place, sent) = self.resume(&place).await?;
                    // Whoever gets on may stumble again.
                    tries = if sent >= before + STRIDE { 1 } else { tries + 1 };
                }
            }
        };
        self.finish(&tally, place).await
    }

    /// Sends what is left, in one request.
    async fn pass(
        &self,
        tally: &Shared,
        place: &Uri,
        sent: u64,
    ) -> std::result::Result<Uri, (Error, Option<Duration>)> {
        let body = self.body(tally, sent);
        let mut call = Call::new(Method::PATCH, place.clone(), Scope::Push(self.repository.clone()))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, &(self.size - sent).to_string());
        if sent > 0 {
            call = call.header(CONTENT_RANGE, &format!("{sent}-{}", self.size.saturating_sub(1)));
        }
        let answer = tokio::select! {
            answer = self.client.send_once(&call, body) => answer,
            error = self.stalled(tally, place) => Err(error),
        };
        if let Some(failure) = tally.lock().unwrap_or_else(PoisonError::into_inner).failure.take() {
            // The reading side has tried again by itself, and given up.
            return Err((settled(failure), None));
        }
        let answer = answer.map_err(|error| (error, None))?;
        match answer.status {
            status if status.is_success() => self.next_place(&answer, place).map_err(|error| (error, None)),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let reason = "the registry has got something else so far".into();
                Err((Error::Network { url: shown(place), reason }, None))
            }
            status if is_transient(status) => {
                let wait = wanted_pause(&answer);
                Err((answer.error().await, wait))
            }
            _ => Err((answer.error().await, None)),
        }
    }

    /// The content from `sent` on, checked as it passes.
    fn body(&self, tally: &Shared, sent: u64) -> Body {
        let start = {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.failure = None;
            tally.rewind(sent)
        };
        let reader = BlobReader::new(self.origin.clone(), self.digest.clone(), self.size, start);
        let (tally, watch) = (tally.clone(), self.watch.clone());
        watch.at(sent);
        let pieces = stream::unfold((reader, start, false), move |(mut reader, mut at, ended)| {
            let (tally, watch) = (tally.clone(), watch.clone());
            async move {
                if ended {
                    return None;
                }
                loop {
                    let piece = match reader.next().await {
                        Ok(Some(piece)) => piece,
                        Ok(None) => return None,
                        Err(error) => {
                            let text: BoxError = error.to_string().into();
                            tally.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(error);
                            return Some((Err(text), (reader, at, true)));
                        }
                    };
                    tally.lock().unwrap_or_else(PoisonError::into_inner).take(&piece);
                    let end = at + piece.len() as u64;
                    let fresh = piece.slice(clamp(sent, at, end)..);
                    at = end;
                    if !fresh.is_empty() {
                        watch.moved(fresh.len() as u64);
                        return Some((Ok(Frame::data(fresh)), (reader, at, false)));
                    }
                }
            }
        });
        BodyExt::boxed_unsync(StreamBody::new(pieces))
    }

    /// Ends when nothing has moved for too long.
    async fn stalled(&self, tally: &Shared, place: &Uri) -> Error {
        // Reading may pause for its own reasons, so that writing is given twice the time.
        let patience = self.client.transport().patience() * 2;
        loop {
            tokio::time::sleep(GLANCE.min(patience)).await;
            let moved = tally.lock().unwrap_or_else(PoisonError::into_inner).moved;
            if moved.elapsed() > patience {
                return Error::Network {
                    url: shown(place),
                    reason: format!("nothing moved for {patience:?}"),
                };
            }
        }
    }

    /// Where to go on; registries may move it with every answer.
    fn next_place(&self, answer: &Answer, place: &Uri) -> Result<Uri> {
        if answer.header("location").is_some() { location(answer, place) } else { Ok(place.clone()) }
    }

    /// Asks how much has arrived; begins anew if nobody knows.
    async fn resume(&self, place: &Uri) -> Result<(Uri, u64)> {
        let call = Call::new(Method::GET, place.clone(), Scope::Push(self.repository.clone()));
        let answer = self.client.call(&call).await?;
        if answer.status.is_success()
            && let Some(arrived) = answer.header("range").and_then(arrived)
            && arrived <= self.size
        {
            return Ok((self.next_place(&answer, place)?, arrived));
        }
        Ok((self.client.begin_upload(self.repository).await?, 0))
    }

    /// Names what was sent, if it is what was promised.
    async fn finish(&self, tally: &Shared, place: Uri) -> Result<()> {
        let hasher = tally.lock().unwrap_or_else(PoisonError::into_inner).hasher.clone();
        let what = BlobReader::new(self.origin.clone(), self.digest.clone(), self.size, 0).what();
        let scope = Scope::Push(self.repository.clone());
        if let Err(mismatch) = hasher.check(self.digest, &what) {
            // The registry would throw it away some day by itself.
            let _ = self.client.call(&Call::new(Method::DELETE, place, scope)).await;
            return Err(mismatch);
        }
        let sign = if place.query().is_some() { '&' } else { '?' };
        let uri = format!("{place}{sign}digest={}", encode(&self.digest.to_string()));
        let uri =
            uri.parse().map_err(|_| Error::Network { url: shown(&place), reason: "no address".into() })?;
        let call = Call::new(Method::PUT, uri, scope).header(CONTENT_LENGTH, "0");
        let answer = self.client.call(&call).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        // A try whose answer got lost may have done it.
        if answer.status == StatusCode::NOT_FOUND
            && self.client.has_blob(self.repository, self.digest).await?
        {
            return Ok(());
        }
        Err(answer.error().await)
    }
}

/// How much of a piece that goes from `at` to `end` lies before `sent`.
fn clamp(sent: u64, at: u64, end: u64) -> usize {
    usize::try_from(sent.clamp(at, end) - at).unwrap_or(usize::MAX)
}

/// A failure that is not to be tried again.
fn settled(error: Error) -> Error {
    if error.is_transient() { Error::Shared(Arc::new(error)) } else { error }
}

/// The `9` of `Range: 0-8`, and nothing for `0-0`, which registries also say when they have nothing.
fn arrived(range: &str) -> Option<u64> {
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
        assert_eq!(arrived("0-8"), Some(9));
        assert_eq!(arrived("bytes=0-8"), Some(9));
        assert_eq!(arrived("0-0"), Some(0));
        for text in ["", "5-8", "0-x", "0", "0-18446744073709551615"] {
            assert_eq!(arrived(text), None, "{text}");
        }
    }

    #[test]
    fn going_back_keeps_the_digest_right() {
        let content = vec![7_u8; 20 << 20];
        let digest = Digest::of(&content);
        let hasher = digest.hasher();
        let mut tally = Tally {
            marks: vec![(0, hasher.clone())],
            hasher,
            offset: 0,
            failure: None,
            moved: Instant::now(),
        };
        let feed = |tally: &mut Tally, until: usize| {
            while tally.offset < until as u64 {
                let at = usize::try_from(tally.offset).unwrap();
                tally.take(&Bytes::copy_from_slice(&content[at..until.min(at + (1 << 20))]));
            }
        };
        feed(&mut tally, 15 << 20);
        let start = tally.rewind(9 << 20);
        assert_eq!(start, 8 << 20);
        feed(&mut tally, content.len());
        assert!(tally.hasher.check(&digest, "it").is_ok());
    }
}
