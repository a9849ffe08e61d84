//! The port: connections, the guard, and which handler answers.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{CONNECTION, HeaderName, HeaderValue, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::answer::{Answered, Body, Request, failed};
use crate::app::{App, Authentication, Settings, Tls};
use crate::error::{Failure, Result};
use crate::query::Query;
use crate::{assets, guard, routes, sign_in};

/// The largest head of a request.
const MAX_HEAD: usize = 64 << 10;

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    tls: Option<TlsAcceptor>,
    link: Option<String>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The link is a secret.
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens at an address; port 0 is any free one.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] for an address that others can reach, unless they have to authenticate themselves
    /// and the connection is encrypted; an address that cannot be listened at; a certificate that cannot be used.
    pub async fn bind(address: SocketAddr, mut settings: Settings) -> io::Result<Server> {
        check_exposure(address, &settings)?;
        let tls = settings.tls.as_ref().map(acceptor).transpose()?;
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        if !address.ip().is_unspecified() {
            settings.hosts.push(address.to_string());
        }
        let link = match settings.authentication {
            Authentication::Link => Some(sign_in::random_text()?),
            _ => None,
        };
        let app = Arc::new(App::new(settings, address.port(), link.as_deref()));
        Ok(Server { listener, address, app, tls, link })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser. It may have the token of the first sign-in.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let token = self.link.as_ref().map(|link| format!("?t={link}")).unwrap_or_default();
        format!("{scheme}://{}/{token}", self.address)
    }

    /// Serves until `end` completes; then waits until running operations have been cancelled and recorded.
    ///
    /// # Errors
    /// When the port cannot be served any more.
    pub async fn serve(self, end: impl Future<Output = ()>) -> io::Result<()> {
        let slots = Arc::new(Semaphore::new(self.app.settings.limits.connections));
        // Dropped at the end, which closes them.
        let mut connections = JoinSet::new();
        let mut end = std::pin::pin!(end);
        let outcome = loop {
            let slot = tokio::select! {
                () = &mut end => break Ok(()),
                slot = Arc::clone(&slots).acquire_owned() => slot,
            };
            let Ok(slot) = slot else { break Ok(()) };
            while connections.try_join_next().is_some() {}
            tokio::select! {
                () = &mut end => break Ok(()),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (app, tls) = (Arc::clone(&self.app), self.tls.clone());
                        connections.spawn(async move {
                            let _slot = slot;
                            accept(app, tls, stream).await;
                        });
                    }
                    Err(error) if is_transient(&error) => {
                        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    }
                    Err(error) => break Err(error),
                },
            }
        };
        drop(connections);
        self.app.operations.end().await;
        outcome
    }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    // Too many open files have no `ErrorKind`.
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

/// Refuses to be reached by others without a password and encryption.
fn check_exposure(address: SocketAddr, settings: &Settings) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let refused = |text: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, text.to_owned()));
    match &settings.authentication {
        Authentication::Link => {
            refused("others can reach this address: they have to authenticate themselves, by `--auth FILE`")
        }
        Authentication::Header(_) => refused(
            "whoever reaches this address could pretend to be any user in the header: let the proxy run beside the server and \
             reach it at a loopback address",
        ),
        Authentication::Tokens(_) if settings.tls.is_none() => {
            refused("others can reach this address: it needs `--tls-cert` and `--tls-key`")
        }
        Authentication::Tokens(_) => Ok(()),
    }
}

fn acceptor(tls: &Tls) -> io::Result<TlsAcceptor> {
    let unusable = |error: &dyn std::fmt::Display| io::Error::other(format!("unusable certificate: {error}"));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&tls.certificate).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(&tls.key).map_err(|error| unusable(&error))?;
    // Named and not the process-wide default, which another part of the program may not have installed.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| unusable(&error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(app: Arc<App>, tls: Option<TlsAcceptor>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve_connection(app, stream).await,
        Some(tls) => {
            // Failed or stalled handshakes are dropped without an answer.
            if let Ok(Ok(stream)) = timeout(app.settings.limits.patience, tls.accept(stream)).await {
                serve_connection(app, stream).await;
            }
        }
    }
}

async fn serve_connection(app: Arc<App>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let patience = app.settings.limits.patience;
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(answer(app, request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(MAX_HEAD);
    // A broken connection is no error of the server.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(app: Arc<App>, request: http::Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut response = match checked(&app, &head, body).await {
        Ok(response) => response,
        Err(failure) => {
            let mut response = failed(&failure);
            // The rest of the request need not be read then.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
    };
    for (name, value) in guard::HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

async fn checked(app: &Arc<App>, head: &Parts, body: Incoming) -> Result<Response<Body>> {
    guard::check_origin(app, head)?;
    let path = head.uri.path();
    if !path.starts_with("/api/") && path != "/api" {
        return page(app, head);
    }
    let method = if head.method == Method::HEAD { Method::GET } else { head.method.clone() };
    let found = routes::find(&method, path)?;
    let viewer = match found.route.is_public {
        true => None,
        false => guard::authenticate(app, &head.headers)?,
    };
    if found.route.writes && !app.settings.write {
        let text = "this server changes nothing";
        let hint = format!("start it with `{} ui --write`", app.settings.program);
        return Err(Failure::new(403, "read-only", text).hint(hint));
    }
    // Only now: nobody who is not signed in can make the server wait for a body.
    let body = read(app, body).await?;
    let request = Request {
        path: found.parts,
        query: Query::read(head.uri.query().unwrap_or_default())?,
        body,
        viewer,
        cookie: guard::cookie(app, &head.headers).map(str::to_owned),
        last_event: last_event(&head.headers),
    };
    let answered = (found.route.handler)(Arc::clone(app), request).await?;
    let is_stream = matches!(answered, Answered::Events(_));
    let mut response = answered.response();
    if head.method == Method::HEAD && is_stream {
        response = response.map(|_| http_body_util::Full::default().boxed_unsync());
    }
    Ok(response)
}

fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

async fn read(app: &App, body: Incoming) -> Result<Bytes> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let limit = app.settings.limits.body;
    let too_large = || Failure::new(413, "too-large", format!("the request is larger than {limit} bytes"));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    match timeout(app.settings.limits.patience, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Failure::input("the request is incomplete")),
        Err(_) => Err(Failure::new(408, "invalid-input", "the request was sent too slowly")),
    }
}

/// A view, a file of the page, or the link.
fn page(app: &App, head: &Parts) -> Result<Response<Body>> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(Failure::new(405, "method", "pages can only be read"));
    }
    let query = head.uri.query().unwrap_or_default();
    if let ("/", Some(token)) = (head.uri.path(), query.strip_prefix("t=")) {
        return sign_in_by_link(app, head, token);
    }
    assets::file(head.uri.path(), &head.headers).ok_or_else(|| Failure::not_found("there is no such file"))
}

fn sign_in_by_link(app: &App, head: &Parts, token: &str) -> Result<Response<Body>> {
    let is_signed_in = || guard::authenticate(app, &head.headers).is_ok();
    // A browser that loads ahead what is being typed would use the link up.
    if head.method == Method::HEAD || head.headers.contains_key("sec-purpose") {
        return Err(Failure::new(503, "other", "the link is for a person"));
    }
    if !app.sign_ins.use_link(token) {
        return Ok(if is_signed_in() { assets::signed_in() } else { assets::link_is_used() });
    }
    let cookie = app.sign_ins.sign_in(None);
    let cookie = cookie.map_err(|error| Failure::new(500, "other", error.to_string()))?;
    let mut response = assets::signed_in();
    if let Ok(value) = HeaderValue::from_str(&guard::set_cookie(app, &cookie)) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    Ok(response)
}
