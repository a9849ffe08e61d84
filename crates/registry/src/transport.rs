//! Connections: dialling, proxies, TLS, one request and its answer, each within bounds.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Service;

use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::tls;

/// Any error, in the shape that the client below wants it.
pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// What is sent: bytes at hand or a stream.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body of bytes at hand.
pub(crate) fn full(content: Bytes) -> Body {
    Full::new(content).map_err(|never| match never {}).boxed_unsync()
}

/// The most that is read of an answer that says no.
const ERROR_BODY_LIMIT: usize = 16 << 10;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends requests.
pub(crate) struct Transport {
    client: Client<HttpsConnector<Dialer>, Body>,
    idle_timeout: Duration,
    /// Whether servers that want to know who we are can be told.
    has_certificate: bool,
}

impl Transport {
    /// A transport as the settings want it.
    pub(crate) fn new(settings: &Settings) -> Result<Transport> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(60)));
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
            .wrap_connector(Dialer { http, matcher: std::sync::Arc::new(matcher) });
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(256 << 10)
            .build(connector);
        let has_certificate = settings.certificate.is_some();
        Ok(Transport { client, idle_timeout: settings.idle_timeout, has_certificate })
    }

    /// How long nothing may happen.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Sends a request whose body is at hand.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Answer> {
        let url = shown(request.uri());
        match timeout(self.idle_timeout, self.send_without_timeout(request)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                Err(Error::Network { url, reason: format!("no answer within {:?}", self.idle_timeout) })
            }
        }
    }

    /// Sends a request and waits for as long as it takes; the caller sees to it that it does not take forever.
    pub(crate) async fn send_without_timeout(&self, request: Request<Body>) -> Result<Answer> {
        let method = request.method().clone();
        let uri = request.uri().clone();
        let response = self.client.request(request).await.map_err(|error| self.failure(&uri, &error))?;
        let (head, body) = response.into_parts();
        Ok(Answer {
            method,
            uri,
            status: head.status,
            headers: head.headers,
            body,
            idle_timeout: self.idle_timeout,
        })
    }

    /// Whether the other side of a request to `https` speaks TLS, whatever it thinks of us or we of it.
    pub(crate) async fn reaches_tls(&self, request: Request<Body>) -> bool {
        match timeout(self.idle_timeout, self.client.request(request)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => !error.is_connect() || tls::is_tls_error(&error),
            Err(_) => false,
        }
    }

    fn failure(&self, uri: &Uri, error: &hyper_util::client::legacy::Error) -> Error {
        let mut reason = innermost(error);
        // With TLS 1.3 a server looks at our certificate while we already speak, and what it says about it
        // is lost when it hangs up on us first.
        let is_cut = uri.scheme() == Some(&http::uri::Scheme::HTTPS) && !error.is_connect();
        if is_cut && !self.has_certificate && !tls::is_tls_error(error) {
            reason.push_str(" (does the server want a certificate of its clients?)");
        }
        Error::Network { url: shown(uri), reason }
    }
}

/// An address as it may be shown: queries may carry signatures.
pub(crate) fn shown(uri: &Uri) -> String {
    let text = uri.to_string();
    text.split_once('?').map_or(text.as_str(), |(front, _)| front).to_owned()
}

/// The text of the error that the others stand around.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// An answer, of which the body is still to come.
pub(crate) struct Answer {
    method: Method,
    /// Where it came from, after redirections.
    pub(crate) uri: Uri,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    idle_timeout: Duration,
}

impl Answer {
    /// A header, if it is there and readable.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next piece of the body.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>> {
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

    /// The whole body, if it is not larger than `limit`.
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

    /// The error that an answer stands for.
    pub(crate) async fn error(self) -> Error {
        let (method, uri, status) = (self.method.clone(), self.uri.clone(), self.status);
        let detail = error_detail(self).await;
        Error::Status { method, url: shown(&uri), status, detail }
    }
}

/// What a registry says about an error, in one line.
pub(crate) async fn error_detail(mut answer: Answer) -> String {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        text.extend_from_slice(&chunk);
        if text.len() > ERROR_BODY_LIMIT {
            return String::new();
        }
    }
    let Ok(tree) = pintle_tree::json::read(&text) else { return String::new() };
    let errors = tree.get("errors").and_then(|errors| errors.as_list()).unwrap_or_default();
    let mut said: Vec<&str> = errors
        .iter()
        .filter_map(|error| {
            let message = error.get("message").and_then(|message| message.as_str());
            message.filter(|text| !text.is_empty()).or_else(|| error.get("code")?.as_str())
        })
        .collect();
    said.dedup();
    said.join("; ").chars().filter(|c| !c.is_control()).take(500).collect()
}

/// Opens connections, through a proxy where there is one.
#[derive(Clone)]
struct Dialer {
    http: HttpConnector,
    matcher: std::sync::Arc<Matcher>,
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let host = target.authority().map_or("", |authority| authority.as_str());
        let proxy = if crate::settings::is_loopback(host) { None } else { self.matcher.intercept(&target) };
        let mut http = self.http.clone();
        match proxy {
            None => {
                let dial = http.call(target);
                Box::pin(async move { dial.await.map_err(Into::into) })
            }
            Some(proxy) => Box::pin(through(proxy, http, target)),
        }
    }
}

async fn through(
    proxy: Intercept,
    http: HttpConnector,
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
