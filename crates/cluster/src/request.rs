//! Sending one request: limits, retries, and the reading of refusals.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method};
use http_body_util::BodyExt;
use kube::client::Body;

use crate::cluster::Cluster;
use crate::error::{ApiStatus, Error, Result};
use crate::transport;

/// How often a request is sent when the server asks us to come back later.
const PATIENCE: u32 = 10;
/// How often a request is sent when the server or the connection fails.
const MAX_RETRIES: u32 = 4;
/// The longest that we wait before coming back.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long an answer may take to begin. The server gives up a request after a minute, so nobody is there any more.
const SILENCE: Duration = Duration::from_secs(90);
/// The longest line of a stream; an event holds one object, and etcd takes far smaller ones.
const LONGEST_LINE: usize = 64 << 20;

/// The form in which an answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// Whole objects.
    #[default]
    Json,
    /// The metadata of an object only.
    Metadata,
    /// The metadata of the objects of a list only.
    MetadataList,
    /// The columns that kubectl prints, with the objects beside.
    Table,
    /// What the server serves, in one document.
    Discovery,
    /// Anything, such as logs.
    Any,
}

impl Accept {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Accept::Json => "application/json",
            Accept::Metadata => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
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
    /// The form of the answer.
    pub accept: Accept,
    /// What the body is; empty when there is none.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
    /// Whether sending it twice does no harm.
    pub repeatable: bool,
    /// Whether the answer shall come uncompressed.
    pub plain: bool,
}

impl Request {
    /// A request to read something.
    pub fn read(path: impl Into<String>) -> Self {
        Request {
            method: Method::GET,
            path: path.into(),
            accept: Accept::Json,
            content_type: "",
            body: Bytes::new(),
            repeatable: true,
            plain: false,
        }
    }

    /// A request that carries a body.
    pub fn with_body(
        method: Method,
        path: impl Into<String>,
        content_type: &'static str,
        body: Bytes,
    ) -> Self {
        let repeatable = method == Method::PUT || method == Method::DELETE;
        Request { method, content_type, body, repeatable, ..Request::read(path) }
    }

    /// Asks for another form of the answer.
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
        if self.plain {
            builder = builder.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        builder
            .body(Body::from(self.body.clone()))
            .map_err(|error| Error::Name(format!("{}: {error}", self.path)))
    }
}

/// An answer that is no refusal.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status.
    pub code: u16,
    /// The body.
    pub body: Bytes,
}

/// Why a request may be sent again, and after how long.
struct Again {
    wait: Duration,
    limit: u32,
}

impl Cluster {
    /// Sends a request and reads the whole answer, sending it again where that is safe and may help.
    ///
    /// # Errors
    /// The last failure or refusal.
    pub async fn send(&self, request: &Request) -> Result<Response> {
        let mut sent = 0;
        loop {
            sent += 1;
            let error = match self.attempt(request).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match again(request, &error, sent) {
                Some(again) if sent < again.limit => tokio::time::sleep(again.wait).await,
                _ => return Err(error),
            }
        }
    }

    async fn attempt(&self, request: &Request) -> Result<Response> {
        let answer = match tokio::time::timeout(SILENCE, self.open(request)).await {
            Ok(answer) => answer?,
            Err(_) => {
                let silence = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(self.failed(request, &silence));
            }
        };
        let code = answer.status().as_u16();
        let collected = answer.into_body().collect().await;
        let body = collected.map_err(|error| self.failed(request, &error))?.to_bytes();
        Ok(Response { code, body })
    }

    /// Sends a request once and returns the answer with its body still to be read.
    async fn open(&self, request: &Request) -> Result<http::Response<Body>> {
        self.check_usable()?;
        if let Some(limiter) = self.limiter() {
            limiter.take().await;
        }
        let sent = self.client().send(request.to_http()?).await;
        let answer = sent.map_err(|error| self.failed(request, &error))?;
        self.warnings().note(answer.headers());
        let code = answer.status();
        if code.is_success() {
            return Ok(answer);
        }
        let header = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let body = answer.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let mut status = ApiStatus::read(code.as_u16(), &body.unwrap_or_default());
        status.retry_after = retry_after.or(status.retry_after);
        Err(Error::Api(Box::new(status)))
    }

    /// Sends a request whose answer is a stream of lines, such as a watch or a log.
    ///
    /// # Errors
    /// When the stream cannot be opened.
    pub async fn lines(&self, request: &Request) -> Result<Lines> {
        let mut request = request.clone();
        // A compressed stream arrives in blocks rather than in lines.
        request.plain = true;
        let mut sent = 0;
        loop {
            sent += 1;
            match self.open(&request).await {
                Ok(answer) => {
                    let address = format!("{}{}", self.address(), request.path);
                    return Ok(Lines {
                        body: answer.into_body(),
                        rest: BytesMut::new(),
                        searched: 0,
                        done: false,
                        address,
                    });
                }
                Err(error) => match again(&request, &error, sent) {
                    Some(again) if sent < again.limit => tokio::time::sleep(again.wait).await,
                    _ => return Err(error),
                },
            }
        }
    }

    fn failed(&self, request: &Request, error: &(dyn std::error::Error + 'static)) -> Error {
        transport::failure(&request.method, &format!("{}{}", self.address(), request.path), error)
    }
}

/// Decides whether a failed request may be sent again.
fn again(request: &Request, error: &Error, sent: u32) -> Option<Again> {
    let backoff = Duration::from_millis(50 << sent.min(5));
    match error {
        Error::Transport { sent: reached, .. } => {
            // A connection that could not be made stays so; one that broke is replaced by another.
            (*reached && request.repeatable).then_some(Again { wait: backoff, limit: MAX_RETRIES })
        }
        Error::Api(status) => match (status.code, status.retry_after) {
            (429, after) => {
                let wait = after.unwrap_or(Duration::from_secs(1)).min(LONGEST_WAIT);
                Some(Again { wait, limit: PATIENCE })
            }
            (500.., Some(after)) if request.repeatable => {
                Some(Again { wait: after.min(LONGEST_WAIT), limit: MAX_RETRIES })
            }
            (500.., _) if was_dropped(status) => Some(Again { wait: backoff, limit: MAX_RETRIES }),
            (502..=504, None) if request.repeatable => Some(Again { wait: backoff, limit: MAX_RETRIES }),
            _ => None,
        },
        _ => None,
    }
}

/// Whether etcd threw the request away before doing anything.
fn was_dropped(status: &ApiStatus) -> bool {
    status.message.ends_with("etcdserver: leader changed")
        || status.message.ends_with("raft proposal dropped")
}

/// The lines of an answer that goes on.
pub struct Lines {
    body: Body,
    rest: BytesMut,
    /// How much of `rest` is known to hold no end of line.
    searched: usize,
    done: bool,
    address: String,
}

impl Lines {
    /// The next line without its end; `None` when the stream is over. A last line without end counts.
    ///
    /// # Errors
    /// When the connection breaks or a line is too long.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(at) = self.rest[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(self.searched + at).freeze();
                self.rest.advance(1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.rest.len();
            if self.searched > LONGEST_LINE {
                return Err(self.broken("a line is too long"));
            }
            match if self.done { None } else { self.chunk().await? } {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(self.rest.split().freeze()));
                }
            }
        }
    }

    /// The next bytes as they arrive, for those to whom lines mean nothing.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        if !self.rest.is_empty() && self.searched == 0 {
            return Ok(Some(self.rest.split().freeze()));
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

    pub(crate) fn broken(&self, cause: &str) -> Error {
        Error::Transport { verb: "Get".into(), url: self.address.clone(), cause: cause.into(), sent: true }
    }
}
