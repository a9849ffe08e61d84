//! Connections: dialling, proxies, TLS, and single requests with their responses, each with limits.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use pintle_time::{GoTime, Zone};
use pintle_tree::Node;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Service;

use crate::address::{AddressCheck, Refused, Resolver};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::tls;

/// The layout of dates in headers.
const HTTP_DATE: &str = "Mon, 02 Jan 2006 15:04:05 GMT";

/// The error type that hyper expects.
pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// A request body: bytes or a stream.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body of bytes in memory.
pub(crate) fn full(content: Bytes) -> Body {
    Full::new(content).map_err(|never| match never {}).boxed_unsync()
}

/// A part of a request body.
#[derive(Clone, Debug)]
pub enum BodyPart {
    /// Bytes in memory.
    Bytes(Bytes),
    /// The content of a file, which is read while it is sent.
    File(PathBuf),
}

/// The chunk size for reading files.
const CHUNK_SIZE: usize = 256 << 10;

/// A body that is read part by part.
fn streamed(parts: Vec<BodyPart>) -> Body {
    let state = (VecDeque::from(parts), None::<File>);
    let chunks = stream::unfold(state, |(mut parts, mut open)| async move {
        loop {
            let failed = |error: std::io::Error| Some((Err(BoxError::from(error)), (VecDeque::new(), None)));
            if let Some(file) = &mut open {
                let mut chunk = BytesMut::with_capacity(CHUNK_SIZE);
                match file.read_buf(&mut chunk).await {
                    Ok(0) => open = None,
                    Ok(_) => return Some((Ok(Frame::data(chunk.freeze())), (parts, open))),
                    Err(error) => return failed(error),
                }
                continue;
            }
            match parts.pop_front()? {
                BodyPart::Bytes(bytes) => return Some((Ok(Frame::data(bytes)), (parts, None))),
                BodyPart::File(path) => match File::open(path).await {
                    Ok(file) => open = Some(file),
                    Err(error) => return failed(error),
                },
            }
        }
    });
    StreamBody::new(chunks).boxed_unsync()
}

/// The maximum number of bytes read of an error response.
const ERROR_BODY_LIMIT: usize = 16 << 10;

/// The connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The timeout for receiving a lost TLS alert (see `lost_alert`).
const ALERT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests.
pub struct Transport {
    client: Client<HttpsConnector<Dialer>, Body>,
    connector: HttpsConnector<Dialer>,
    idle_timeout: Duration,
    /// Whether a client certificate is configured, for the error message.
    has_certificate: bool,
}

impl Transport {
    /// A transport as the settings want it; reads the files that they name.
    ///
    /// # Errors
    /// When a file cannot be read or used.
    pub fn new(settings: &Settings) -> Result<Transport> {
        let proxies = &settings.proxies;
        let matcher = Matcher::builder()
            .http(proxies.http.clone())
            .https(proxies.https.clone())
            .no(proxies.none.clone())
            .build();
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls::config(settings)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Dialer {
                http: connector(settings.addresses.clone()),
                // The user chose the proxies, so their addresses are not checked.
                to_proxy: connector(None),
                matcher: std::sync::Arc::new(matcher),
                addresses: settings.addresses.clone(),
            });
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(256 << 10)
            .build(connector.clone());
        let has_certificate = settings.certificate.is_some();
        Ok(Transport { client, connector, idle_timeout: settings.idle_timeout, has_certificate })
    }

    /// The idle timeout.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Sends a request with a body in memory.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Answer> {
        let url = shown(request.uri());
        match timeout(self.idle_timeout, self.send_without_timeout(request)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(Error::Network { url, reason: format!("no answer within {:?}", self.idle_timeout) })
            }
        }
    }

    /// Sends a request without a timeout; the caller must detect stalls.
    pub(crate) async fn send_without_timeout(&self, request: Request<Body>) -> Result<Answer> {
        let method = request.method().clone();
        let uri = request.uri().clone();
        let response = match self.client.request(request).await {
            Ok(response) => response,
            Err(error) => return Err(self.failure(&uri, &error).await),
        };
        let (head, body) = response.into_parts();
        Ok(Answer {
            method,
            uri,
            status: head.status,
            reason: None,
            headers: head.headers,
            body,
            idle_timeout: self.idle_timeout,
        })
    }

    /// Whether the peer of an `https` request speaks TLS, even if the handshake fails.
    pub(crate) async fn reaches_tls(&self, request: Request<Body>) -> bool {
        match timeout(self.idle_timeout, self.client.request(request)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => !error.is_connect() || tls::is_tls_error(&error),
            Err(_) => false,
        }
    }

    /// Sends a GET request to an absolute URL and waits for the response head. There are no redirects and no retries.
    ///
    /// # Errors
    /// Why there is no answer, in the words of Go's HTTP client.
    pub async fn get(&self, uri: &Uri, headers: HeaderMap) -> std::result::Result<Answer, String> {
        self.exchange(Method::GET, uri, headers, full(Bytes::new())).await
    }

    /// Sends a POST request, as [`Transport::get`] sends a GET request. `headers` must have the length of the body.
    ///
    /// # Errors
    /// As [`Transport::get`].
    pub async fn post(
        &self,
        uri: &Uri,
        headers: HeaderMap,
        body: Vec<BodyPart>,
    ) -> std::result::Result<Answer, String> {
        self.exchange(Method::POST, uri, headers, streamed(body)).await
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Body,
    ) -> std::result::Result<Answer, String> {
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        match self.client.request(request).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                let reason = head.extensions.get::<hyper::ext::ReasonPhrase>();
                let reason = reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
                Ok(Answer {
                    method,
                    uri: uri.clone(),
                    status: head.status,
                    reason,
                    headers: head.headers,
                    body,
                    idle_timeout: self.idle_timeout,
                })
            }
            Err(error) => Err(self.go_error(uri, &error).await),
        }
    }

    async fn go_error(&self, uri: &Uri, error: &hyper_util::client::legacy::Error) -> String {
        if let Some(refused) = Refused::find(error) {
            return refused.to_string();
        }
        match self.lost_alert(uri, error).await {
            Some(alert) => crate::go_words::of_alert(&alert),
            None => crate::go_words::of(error, uri).await,
        }
    }

    async fn failure(&self, uri: &Uri, error: &hyper_util::client::legacy::Error) -> Error {
        if let Some(refused) = Refused::find(error) {
            // Not a network error, which would be retried.
            return Error::Settings { what: shown(uri), reason: refused.to_string() };
        }
        let mut reason = tls::certificate_problem(error)
            .map(|problem| crate::go_words::of_certificate(&problem, uri.host().unwrap_or_default()))
            .unwrap_or_else(|| innermost(error));
        if let Some(alert) = self.lost_alert(uri, error).await {
            reason = alert.to_string();
        } else if self.may_want_certificate(uri, error) {
            reason.push_str(" (does the server want a certificate of its clients?)");
        }
        Error::Network { url: shown(uri), reason }
    }

    fn may_want_certificate(&self, uri: &Uri, error: &hyper_util::client::legacy::Error) -> bool {
        let is_secure = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
        is_secure && !error.is_connect() && !self.has_certificate && !tls::is_tls_error(error)
    }

    /// The lost alert of a server that requires a client certificate. With TLS 1.3 the server verifies that certificate after
    /// our side has finished the handshake and begun to send. If the server closes the connection with unread bytes, its
    /// alert may never arrive. So a second connection is opened, on which nothing is sent and the alert does arrive.
    async fn lost_alert(
        &self,
        uri: &Uri,
        error: &hyper_util::client::legacy::Error,
    ) -> Option<rustls::Error> {
        if !self.may_want_certificate(uri, error) || !is_closed_early(error) {
            return None;
        }
        let listen = async {
            let connection = self.connector.clone().call(uri.clone()).await;
            match connection {
                Ok(stream) => TokioIo::new(stream).read(&mut [0]).await.err().and_then(tls::alert_in),
                Err(error) => tls::alert_in(std::io::Error::other(error)),
            }
        };
        timeout(ALERT_TIMEOUT, listen).await.ok().flatten()
    }
}

/// Whether the connection ended before the answer began.
fn is_closed_early(error: &(dyn StdError + 'static)) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    let mut next = Some(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let is_cut = matches!(
            kind,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
        );
        // A connection that ends before it gets the request cancels it, and hyper does not report why the connection ended.
        let is_lost =
            |error: &hyper::Error| error.is_incomplete_message() || error.is_closed() || error.is_canceled();
        if is_cut || error.downcast_ref::<hyper::Error>().is_some_and(is_lost) {
            return true;
        }
        next = error.source();
    }
    false
}

/// A URL for display, without its query, which may carry signatures.
pub(crate) fn shown(uri: &Uri) -> String {
    let text = uri.to_string();
    text.split_once('?').map_or(text.as_str(), |(front, _)| front).to_owned()
}

/// The message of the innermost source.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// A response whose body has not been read yet.
pub struct Answer {
    pub(crate) method: Method,
    /// Where it came from, after redirections.
    pub uri: Uri,
    /// The status.
    pub status: StatusCode,
    /// The reason phrase, if it is not the canonical one.
    reason: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    idle_timeout: Duration,
}

impl Answer {
    /// The status as the server put it, such as `404 Not Found`.
    pub fn status_line(&self) -> String {
        let usual = self.status.canonical_reason();
        match self.reason.as_deref().or(usual) {
            Some(reason) => format!("{} {reason}", self.status.as_u16()),
            None => self.status.as_u16().to_string(),
        }
    }

    /// A header, if it is there and readable.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether what came may still change without a change of its `Last-Modified`, which has whole seconds: then it is no
    /// validator, and neither is an `ETag` that servers make from it (RFC 9110, 8.8.2.2).
    pub fn may_change_unnoticed(&self) -> bool {
        let time = |name: &str| {
            let text = self.header(name)?;
            GoTime::parse(HTTP_DATE, text, &Zone::utc()).ok().map(|time| time.unix())
        };
        match (time("last-modified"), time("date")) {
            (Some(modified), Some(now)) => now - modified < 2,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// The next piece of the body.
    ///
    /// # Errors
    /// When the connection breaks off, or nothing comes for too long.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let cut = |reason: String| Error::Network { url: shown(&self.uri), reason };
        loop {
            let frame = timeout(self.idle_timeout, self.body.frame()).await;
            let frame = frame.map_err(|_| cut(format!("nothing came for {:?}", self.idle_timeout)))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(cut(format!("the connection broke off: {}", innermost(&error))));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }

    /// Reads the whole body, up to `limit` bytes.
    pub(crate) async fn content(mut self, limit: usize) -> Result<Bytes> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if whole.len() + chunk.len() > limit {
                let reason = format!("it is larger than {limit} bytes, which is the most that is taken");
                return Err(Error::Size { what: shown(&self.uri), reason });
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.into())
    }

    /// Converts an error response into an error.
    pub(crate) async fn error(self) -> Error {
        let (method, uri, status) = (self.method.clone(), self.uri.clone(), self.status);
        let url = shown(&uri);
        let error_body = error_body(self).await;
        let answer = as_go_error(&method, &url, status, &error_body.answer);
        Error::Status { method, url, status, detail: error_body.detail, answer }
    }
}

/// The error messages of a response in one line: for users, and as Go's library formats them.
#[derive(Default)]
pub(crate) struct ErrorBody {
    pub(crate) detail: String,
    pub(crate) answer: String,
}

/// The error text of Go's library for an error response.
pub(crate) fn as_go_error(method: &Method, url: &str, status: StatusCode, message: &str) -> String {
    let message = if message.is_empty() { status.canonical_reason().unwrap_or_default() } else { message };
    format!("{method} \"{url}\": response status code {}: {message}", status.as_u16())
}

/// One error of a registry as Go's library formats it: `name unknown: message: detail`.
fn go_error_entry(error: &Node) -> String {
    let text = |key: &str| error.get(key).and_then(Node::as_str).unwrap_or_default();
    let mut parts = vec![text("code").to_ascii_lowercase().replace('_', " "), text("message").to_owned()];
    parts.extend(error.get("detail").filter(|detail| !detail.is_nil()).map(printed));
    parts.retain(|part| !part.is_empty());
    parts.join(": ")
}

/// A value as Go prints it.
fn printed(node: &Node) -> String {
    match node {
        Node::Map(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{}:{}", key.to_str_lossy(), printed(value))).collect();
            format!("map[{}]", pairs.join(" "))
        }
        Node::List(list) => format!("[{}]", list.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Node::Str(text) => text.to_str_lossy().into_owned(),
        Node::Int(number) => number.to_string(),
        Node::Float(number) => number.to_string(),
        Node::Bool(truth) => truth.to_string(),
        _ => "<nil>".to_owned(),
    }
}

/// Reads what a registry says about an error.
pub(crate) async fn error_body(mut answer: Answer) -> ErrorBody {
    let mut text = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        text.extend_from_slice(&piece);
        if text.len() > ERROR_BODY_LIMIT {
            return ErrorBody::default();
        }
    }
    let Ok(tree) = pintle_tree::json::read(&text) else { return ErrorBody::default() };
    let errors = tree.get("errors").and_then(|errors| errors.as_list()).unwrap_or_default();
    let mut messages: Vec<&str> = errors
        .iter()
        .filter_map(|error| {
            let message = error.get("message").and_then(|message| message.as_str());
            message.filter(|text| !text.is_empty()).or_else(|| error.get("code")?.as_str())
        })
        .collect();
    messages.dedup();
    let short = |text: String| text.chars().filter(|c| !c.is_control()).take(500).collect();
    ErrorBody {
        detail: short(messages.join("; ")),
        answer: short(errors.iter().map(go_error_entry).collect::<Vec<_>>().join("; ")),
    }
}

/// Opens TCP connections to addresses that are allowed.
fn connector(addresses: Option<AddressCheck>) -> HttpConnector<Resolver> {
    let mut http = HttpConnector::new_with_resolver(Resolver::new(addresses));
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.set_nodelay(true);
    http.set_keepalive(Some(Duration::from_secs(60)));
    http
}

/// Opens connections, through a proxy if one applies.
#[derive(Clone)]
struct Dialer {
    http: HttpConnector<Resolver>,
    to_proxy: HttpConnector<Resolver>,
    matcher: std::sync::Arc<Matcher>,
    addresses: Option<AddressCheck>,
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let checked = self.addresses.as_ref().map_or(Ok(()), |addresses| addresses.check_literal(&target));
        if let Err(refused) = checked {
            return Box::pin(std::future::ready(Err(refused.into())));
        }
        let host = target.authority().map_or("", |authority| authority.as_str());
        let proxy = if crate::settings::is_loopback(host) { None } else { self.matcher.intercept(&target) };
        match proxy {
            None => {
                let dial = self.http.call(target);
                Box::pin(async move { dial.await.map_err(Into::into) })
            }
            Some(proxy) => Box::pin(through(proxy, self.to_proxy.clone(), target)),
        }
    }
}

async fn through(
    proxy: Intercept,
    http: HttpConnector<Resolver>,
    target: Uri,
) -> std::result::Result<TokioIo<TcpStream>, BoxError> {
    match proxy.uri().scheme_str() {
        Some("http") => {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
            if let Some(login) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(login.clone());
            }
            Ok(tunnel.call(target).await?)
        }
        Some("socks5" | "socks5h") => {
            let mut socks = SocksV5::new(proxy.uri().clone(), http);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            Ok(socks.call(target).await?)
        }
        other => {
            let kind = other.unwrap_or("no scheme");
            Err(format!("the proxy is of a kind that cannot be used ({kind}); use http or socks5").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_whose_connection_is_gone_counts_as_closed_early() {
        let (ours, _theirs) = tokio::io::duplex(64);
        let made = hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(ours)).await;
        let (mut sender, connection) = made.expect("nothing is sent for it");
        drop(connection);
        let error = sender.send_request(Request::new(full(Bytes::new()))).await.expect_err("nobody sends it");
        assert!(error.is_canceled(), "{error:?}");
        assert!(is_closed_early(&error));
        assert!(!is_closed_early(&std::io::Error::from(std::io::ErrorKind::PermissionDenied)));
    }
}
