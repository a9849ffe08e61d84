//! Sends a request: rate limit, timeouts, retries, and decoding of error responses.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method};
use http_body_util::BodyExt;
use kube::client::Body;

use crate::cluster::Cluster;
use crate::error::{ApiStatus, Error, Result};
use crate::transport;

/// How often a request is sent while the server throttles it (429); as many as client-go's.
const MAX_THROTTLED_ATTEMPTS: u32 = 10;
/// How often a request is sent when the server or the connection fails.
const MAX_ATTEMPTS: u32 = 4;
/// The upper limit for the delay between attempts, whatever `Retry-After` says.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// How long one request may wait for its attempts in all.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// The status of a server that has too much to do.
const TOO_MANY_REQUESTS: u16 = 429;
/// Pauses from this length are reported.
const REPORTED_WAIT: Duration = Duration::from_secs(2);
/// How long a response may take to begin. The API server itself gives up after 60 seconds, so beyond this nothing
/// will come.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(90);
/// The longest body of an error that is read.
const MAX_ERROR_BYTES: usize = 4 << 20;
/// The longest line of a stream. A watch event holds one object, and etcd accepts far smaller ones.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The requested content type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// Complete objects.
    #[default]
    Json,
    /// `PartialObjectMetadata` of one object.
    Metadata,
    /// `PartialObjectMetadata` of the items of a list.
    MetadataList,
    /// `PartialObjectMetadata` of watched objects.
    WatchedMetadata,
    /// A `Table`: the columns that kubectl prints.
    Table,
    /// Aggregated discovery: all kinds in one document.
    Discovery,
    /// Any content type, for logs.
    Any,
}

impl Accept {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Accept::Json => "application/json",
            Accept::Metadata => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            // Without the alternative: a server that cannot do it must not send complete objects.
            Accept::WatchedMetadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Accept::MetadataList => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            Accept::Table => {
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
            }
            Accept::Discovery => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
            }
            Accept::Any => "*/*",
        })
    }
}

/// A request to the API server.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and parameters.
    pub path: String,
    /// The requested content type.
    pub accept: Accept,
    /// The content type of the body; empty when there is none.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
    /// Whether the request may be repeated after the connection broke.
    pub idempotent: bool,
    /// Whether to request an uncompressed response.
    pub uncompressed: bool,
}

impl Request {
    /// A GET request.
    pub fn get(path: impl Into<String>) -> Self {
        Request {
            method: Method::GET,
            path: path.into(),
            accept: Accept::Json,
            content_type: "",
            body: Bytes::new(),
            idempotent: true,
            uncompressed: false,
        }
    }

    /// A request with a body. PUT and DELETE count as idempotent.
    pub fn with_body(
        method: Method,
        path: impl Into<String>,
        content_type: &'static str,
        body: Bytes,
    ) -> Self {
        let idempotent = method == Method::PUT || method == Method::DELETE;
        Request { method, content_type, body, idempotent, ..Request::get(path) }
    }

    /// Sets the requested content type.
    #[must_use]
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accept = accept;
        self
    }

    fn to_http(&self) -> Result<http::Request<Body>> {
        let mut builder = http::Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .header(ACCEPT, self.accept.header());
        if !self.content_type.is_empty() {
            builder = builder.header(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        if self.uncompressed {
            builder = builder.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        builder
            .body(Body::from(self.body.clone()))
            .map_err(|error| Error::InvalidRequest(format!("{}: {error}", self.path)))
    }
}

/// A successful response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub code: u16,
    /// The body.
    pub body: Bytes,
}

/// The attempts of one request so far.
#[derive(Default)]
struct Retries {
    sent: u32,
    waited: Duration,
}

/// How a failed request is retried.
struct RetryPolicy {
    delay: Duration,
    max_attempts: u32,
}

impl Cluster {
    /// Sends a request and reads the whole response. Retries where that is safe.
    ///
    /// # Errors
    /// The last error.
    pub async fn send(&self, request: &Request) -> Result<Response> {
        let mut retries = Retries::default();
        loop {
            match self.attempt(request).await {
                Ok(response) => return Ok(response),
                Err(error) => self.before_retry(request, error, &mut retries).await?,
            }
        }
    }

    /// Waits before a failed request is sent again, or returns the error if it is not.
    async fn before_retry(&self, request: &Request, error: Error, retries: &mut Retries) -> Result<()> {
        retries.sent += 1;
        let Some(policy) = retry_policy(request, &error, retries.sent) else { return Err(error) };
        retries.waited += policy.delay;
        if retries.sent >= policy.max_attempts || retries.waited > MAX_WAIT {
            return Err(error);
        }
        if policy.delay >= REPORTED_WAIT {
            self.notify_wait(policy.delay);
        }
        tokio::time::sleep(policy.delay).await;
        Ok(())
    }

    async fn attempt(&self, request: &Request) -> Result<Response> {
        let Some(limit) = self.in_flight() else { return self.attempt_now(request).await };
        let slot = limit.acquire().await;
        let answer = self.attempt_now(request).await;
        let is_throttled = matches!(&answer, Err(Error::Api(status)) if status.code == TOO_MANY_REQUESTS);
        slot.answered(is_throttled);
        answer
    }

    async fn attempt_now(&self, request: &Request) -> Result<Response> {
        let answer = match tokio::time::timeout(RESPONSE_TIMEOUT, self.open_reporting(request)).await {
            Ok(answer) => answer?,
            Err(_) => {
                let silence = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(self.transport_error(request, &silence));
            }
        };
        let code = answer.status().as_u16();
        let body = self.body(request, answer.into_body(), self.limits().response).await?;
        Ok(Response { code, body })
    }

    /// As [`Cluster::open`], reporting a server that is silent.
    async fn open_reporting(&self, request: &Request) -> Result<http::Response<Body>> {
        if !self.tells_silence() {
            return self.open(request).await;
        }
        let mut opening = std::pin::pin!(self.open(request));
        match tokio::time::timeout(REPORTED_WAIT, &mut opening).await {
            Ok(answer) => answer,
            Err(_) => {
                self.notify_silence();
                opening.await
            }
        }
    }

    /// Reads a body of at most `limit` bytes, each part of which must come in time.
    async fn body(&self, request: &Request, mut body: Body, limit: usize) -> Result<Bytes> {
        let mut whole = BytesMut::new();
        loop {
            let frame = match tokio::time::timeout(RESPONSE_TIMEOUT, body.frame()).await {
                Ok(None) => return Ok(whole.freeze()),
                Ok(Some(frame)) => frame.map_err(|error| self.transport_error(request, &error))?,
                Err(_) => {
                    let silence = std::io::Error::from(std::io::ErrorKind::TimedOut);
                    return Err(self.transport_error(request, &silence));
                }
            };
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > limit {
                let what = format!("{} {}", request.method, request.path);
                let reason = format!("the server sends more than {limit} bytes");
                return Err(Error::too_much(what, reason));
            }
            whole.extend_from_slice(&data);
        }
    }

    /// Sends a request once; the body of the response is still to be read.
    async fn open(&self, request: &Request) -> Result<http::Response<Body>> {
        self.check_usable()?;
        if let Some(limiter) = self.limiter() {
            limiter.acquire().await;
        }
        let mut outgoing = request.to_http()?;
        outgoing.headers_mut().extend(self.impersonation().clone());
        let sent = self.client().send(outgoing).await;
        let answer = sent.map_err(|error| self.transport_error(request, &error))?;
        self.warnings().record(answer.headers());
        let code = answer.status();
        if code.is_success() {
            return Ok(answer);
        }
        let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let body = self.body(request, answer.into_body(), MAX_ERROR_BYTES).await.unwrap_or_default();
        let mut status = match self.is_trusted() {
            true => ApiStatus::parse(code.as_u16(), &body),
            false => ApiStatus::parse_untrusted(code.as_u16(), &body),
        };
        status.retry_after = retry_after.or(status.retry_after);
        Err(Error::Api(Box::new(status)))
    }

    /// Opens a stream of lines, such as a watch or a log.
    ///
    /// # Errors
    /// When the stream cannot be opened.
    pub async fn lines(&self, request: &Request) -> Result<Lines> {
        let mut request = request.clone();
        // A compressed stream arrives in blocks rather than line by line.
        request.uncompressed = true;
        let mut retries = Retries::default();
        loop {
            match self.open(&request).await {
                Ok(answer) => {
                    let address = format!("{}{}", self.address(), request.path);
                    return Ok(Lines {
                        body: answer.into_body(),
                        buffer: BytesMut::new(),
                        searched: 0,
                        done: false,
                        address,
                    });
                }
                Err(error) => self.before_retry(&request, error, &mut retries).await?,
            }
        }
    }

    fn transport_error(&self, request: &Request, error: &(dyn std::error::Error + 'static)) -> Error {
        transport::failure(&request.method, &format!("{}{}", self.address(), request.path), error)
    }
}

/// Decides whether and when a failed request is retried; `None` to give up.
fn retry_policy(request: &Request, error: &Error, sent: u32) -> Option<RetryPolicy> {
    // From 100 ms, doubling up to 1.6 s.
    let backoff = Duration::from_millis(50 << sent.min(5));
    match error {
        Error::Transport { sent: reached, .. } => {
            // If a connection cannot be established, trying again at once does not help; one that broke is replaced.
            (*reached && request.idempotent)
                .then_some(RetryPolicy { delay: backoff, max_attempts: MAX_ATTEMPTS })
        }
        Error::Api(status) => match (status.code, status.retry_after) {
            // A throttled request was not processed, so even one that is not idempotent can be repeated.
            (429, after) => {
                let delay = after.unwrap_or(Duration::from_secs(1)).min(MAX_BACKOFF);
                Some(RetryPolicy { delay, max_attempts: MAX_THROTTLED_ATTEMPTS })
            }
            // As client-go, which honours `Retry-After` for server errors too.
            (500.., Some(after)) if request.idempotent => {
                Some(RetryPolicy { delay: after.min(MAX_BACKOFF), max_attempts: MAX_ATTEMPTS })
            }
            (500.., _) if was_dropped_by_etcd(status) => {
                Some(RetryPolicy { delay: backoff, max_attempts: MAX_ATTEMPTS })
            }
            // These may come from a load balancer in front of the API server.
            (502..=504, None) if request.idempotent => {
                Some(RetryPolicy { delay: backoff, max_attempts: MAX_ATTEMPTS })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether etcd dropped the request before doing anything, which makes any request safe to repeat.
fn was_dropped_by_etcd(status: &ApiStatus) -> bool {
    status.message.ends_with("etcdserver: leader changed")
        || status.message.ends_with("raft proposal dropped")
}

/// The lines of a streaming response.
pub struct Lines {
    body: Body,
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line break.
    searched: usize,
    done: bool,
    address: String,
}

impl Lines {
    /// The next line without its line break; `None` at the end of the stream. An unterminated last line is returned
    /// too.
    ///
    /// # Errors
    /// When the connection breaks or a line is too long.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + at).freeze();
                self.buffer.advance(1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > MAX_LINE_BYTES {
                return Err(self.transport_error("a line is too long"));
            }
            match if self.done { None } else { self.chunk().await? } {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None if self.buffer.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(self.buffer.split().freeze()));
                }
            }
        }
    }

    /// The next bytes as they arrive, for callers that do not need lines.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        if !self.buffer.is_empty() && self.searched == 0 {
            return Ok(Some(self.buffer.split().freeze()));
        }
        loop {
            match self.body.frame().await {
                None => {
                    self.done = true;
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    self.done = true;
                    return Err(transport::failure(&Method::GET, &self.address, &error));
                }
            }
        }
    }

    pub(crate) fn transport_error(&self, cause: &str) -> Error {
        Error::Transport { verb: "Get".into(), url: self.address.clone(), cause: cause.into(), sent: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_pauses_of_a_request_together_have_a_limit() {
        let cluster = Cluster::offline("default".to_owned());
        let busy = || {
            let mut status = ApiStatus::parse(429, b"");
            status.retry_after = Some(Duration::from_secs(3600));
            Error::Api(Box::new(status))
        };
        let mut retries = Retries { sent: 3, waited: Duration::from_secs(100) };
        let outcome = cluster.before_retry(&Request::get("/"), busy(), &mut retries).await;
        assert!(outcome.is_err(), "100 seconds and 30 more are too much");
    }
}
