//! The API on a port, so that `kubectl`, `helm` and any other client can look at it.
//!
//! Whoever may speak to it may do everything. So it listens with TLS and asks for a token where there is an [`Identity`],
//! and it never answers a web page of somebody else, with or without one (`guard`). Connections on which nothing is asked
//! give way to new ones (`connections`), and a client that stops speaking or reading is not waited for (`stalled`).

mod connections;
mod guard;
mod write_timeout;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::api::{self, Api, Body, IncompleteBody, receive};
use crate::status::Status;
use connections::{Activity, Connections};
use guard::Token;
use write_timeout::WriteTimeout;

/// How the API is served. Without an identity it is plain HTTP that asks for no token.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// By what clients know the server, and the server its clients.
    pub identity: Option<Identity>,
    /// What one client may take.
    pub limits: Limits,
}

/// By what clients know the server, and the server its clients.
#[derive(Clone)]
pub struct Identity {
    /// The certificate as PEM, which is also what clients trust.
    pub certificate: String,
    /// Its private key as PEM.
    pub key: String,
    /// The bearer token that requests must carry. Go's clients send one over TLS only.
    pub token: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key and the token are nobody's to read in a log.
        out.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// What clients may take. A watch on which nothing happens is within all of these.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time. Above that, those on which nothing is asked are closed; if there are none, new
    /// clients wait.
    pub max_connections: usize,
    /// How long a client may take to send the head of a request, or the next one.
    pub header_timeout: Duration,
    /// How long it may take to send a whole body.
    pub body_timeout: Duration,
    /// How long it may leave an answer unread.
    pub write_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_connections: 2_000,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
        }
    }
}

/// What all connections share.
struct Shared {
    api: Api,
    token: Option<Token>,
    tls: Option<TlsAcceptor>,
    limits: Limits,
}

/// Answers on `listener` until `end` is there. Watches end then too.
///
/// # Errors
/// If the listener fails for good, or the identity cannot be used.
pub async fn serve(
    api: Api,
    listener: TcpListener,
    settings: &Settings,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let identity = settings.identity.as_ref();
    let tls = identity.map(acceptor).transpose()?;
    let token = identity.map(|identity| Token::new(&identity.token));
    let limits = settings.limits;
    let shared = Arc::new(Shared { api, token, tls, limits });
    let mut connections = Connections::default();
    tokio::pin!(end);
    loop {
        if connections.len() >= limits.max_connections && !connections.has_idle() {
            tokio::select! {
                () = &mut end => return Ok(()),
                () = connections.changed() => continue,
            }
        }
        tokio::select! {
            () = &mut end => return Ok(()),
            () = connections.ended() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if connections.len() >= limits.max_connections {
                        connections.close_idle();
                    }
                    let shared = Arc::clone(&shared);
                    connections.spawn(|activity| accept_connection(shared, stream, activity));
                }
                Err(error) if is_transient(&error) => {
                    // Too many open files are too many connections. Otherwise a client that is gone already: the next
                    // one may do better.
                    connections.close_idle();
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(error) => return Err(error),
            },
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    // Too many open files has no kind of its own.
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

fn acceptor(identity: &Identity) -> io::Result<TlsAcceptor> {
    let unusable = |error: &dyn std::fmt::Display| io::Error::other(format!("unusable certificate: {error}"));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| unusable(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| unusable(&error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept_connection(shared: Arc<Shared>, stream: TcpStream, activity: Activity) {
    // Small answers should not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, shared.limits.write_timeout);
    match &shared.tls {
        None => serve_connection(&shared, stream, &activity).await,
        Some(tls) => {
            // Whoever does not finish, or speaks no TLS, gets no answer.
            if let Ok(Ok(stream)) = timeout(shared.limits.header_timeout, tls.accept(stream)).await {
                serve_connection(&shared, stream, &activity).await;
            }
        }
    }
}

async fn serve_connection(
    shared: &Arc<Shared>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    activity: &Activity,
) {
    let service = service_fn(|request| {
        let (shared, busy) = (Arc::clone(shared), activity.begin());
        async move { Ok::<_, Infallible>(busy.until_sent(answer(&shared, request).await)) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(shared.limits.header_timeout);
    // A connection that breaks is the client's affair.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    // Before the body: a client that may not speak is not listened to.
    if let Err(status) = guard::check(&head, !body.is_end_stream(), shared.token.as_ref()) {
        return closing_error(&status);
    }
    match timeout(shared.limits.body_timeout, receive(body)).await {
        Ok(Ok(body)) => shared.api.call(Request::from_parts(head, body)).await,
        Ok(Err(IncompleteBody)) => {
            closing_error(&Status::bad_request("the body of the request is incomplete"))
        }
        Err(_) => {
            closing_error(&Status::new(408, "Timeout", "the body of the request did not arrive in time"))
        }
    }
}

/// A refusal after which the connection is closed, so that the rest of the request need not be read.
fn closing_error(status: &Status) -> Response<Body> {
    let mut response = api::error_response(status);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The text of a kubeconfig that leads to `address`.
pub fn kubeconfig(address: SocketAddr, identity: Option<&Identity>) -> String {
    let (scheme, authority, user) = match identity {
        None => ("http", String::new(), " {}".to_owned()),
        Some(identity) => (
            "https",
            format!("\n    certificate-authority-data: {}", STANDARD.encode(&identity.certificate)),
            format!("\n    token: {}", identity.token),
        ),
    };
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: pintle\n  \
           cluster:\n    \
             server: {scheme}://{address}{authority}\n\
         users:\n\
         - name: pintle\n  \
           user:{user}\n\
         contexts:\n\
         - name: pintle\n  \
           context:\n    \
             cluster: pintle\n    \
             user: pintle\n\
         current-context: pintle\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_can_be_read() {
        let first = |config: &pintle_tree::Node, list: &str, part: &str| {
            config.get(list).unwrap().as_list().unwrap()[0].get(part).unwrap().clone()
        };
        let text = kubeconfig(([127, 0, 0, 1], 80).into(), None);
        let config = pintle_yaml::read(text.as_bytes()).unwrap();
        let cluster = first(&config, "clusters", "cluster");
        assert_eq!(cluster.get("server").unwrap().as_str(), Some("http://127.0.0.1:80"));
        assert_eq!(config.get("current-context").unwrap().as_str(), Some("pintle"));

        let identity =
            Identity { certificate: "cert".to_owned(), key: "key".to_owned(), token: "sesame".to_owned() };
        assert!(!format!("{identity:?}").contains("sesame"));
        let text = kubeconfig(([127, 0, 0, 1], 80).into(), Some(&identity));
        let config = pintle_yaml::read(text.as_bytes()).unwrap();
        let cluster = first(&config, "clusters", "cluster");
        assert_eq!(cluster.get("server").unwrap().as_str(), Some("https://127.0.0.1:80"));
        assert_eq!(cluster.get("certificate-authority-data").unwrap().as_str(), Some("Y2VydA=="));
        assert_eq!(first(&config, "users", "user").get("token").unwrap().as_str(), Some("sesame"));
    }
}
