//! The API on a TCP port, for `kubectl`, `helm` and other clients.
//!
//! There is no authorization: whoever is authenticated may do everything. With an [`Identity`] it uses TLS and bearer
//! tokens; with or without one it rejects requests of web pages (`guard`). Idle connections are closed for new ones
//! (`connections`), and clients that stop sending or reading are disconnected (`write_timeout`).

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

/// How the API is served. Without an identity: plain HTTP, unauthenticated.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The server's certificate and the clients' token.
    pub identity: Option<Identity>,
    /// The resource limits.
    pub limits: Limits,
}

/// The server's certificate and the clients' token.
#[derive(Clone)]
pub struct Identity {
    /// The certificate in PEM, which clients trust as their CA.
    pub certificate: String,
    /// The private key in PEM.
    pub key: String,
    /// The bearer token of all requests. Go clients send tokens over TLS only.
    pub token: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the key nor the token may get into logs.
        out.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// Resource limits. An idle watch is within all of them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The limit of open connections. Beyond it idle ones are closed; if there are none, new clients wait.
    pub max_connections: usize,
    /// The time to send the head of a request, from the connection or the last response on.
    pub header_timeout: Duration,
    /// The time to send a body.
    pub body_timeout: Duration,
    /// The time that a response may stay unread.
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

struct Shared {
    api: Api,
    token: Option<Token>,
    tls: Option<TlsAcceptor>,
    limits: Limits,
}

/// Serves the API until `end` completes; watches are ended then.
///
/// # Errors
///
/// If the listener fails permanently, or the identity is invalid.
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
                    // Either there are too many open files, and closing a connection helps; or the client is already
                    // gone.
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
    // EMFILE and ENFILE have no `ErrorKind`.
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

fn acceptor(identity: &Identity) -> io::Result<TlsAcceptor> {
    let unusable = |error: &dyn std::fmt::Display| io::Error::other(format!("unusable certificate: {error}"));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| unusable(&error))?;
    // Named and not the process-wide default, which another part of the program may not have installed.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| unusable(&error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept_connection(shared: Arc<Shared>, stream: TcpStream, activity: Activity) {
    // Small responses should not wait for more data (Nagle).
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, shared.limits.write_timeout);
    match &shared.tls {
        None => serve_connection(&shared, stream, &activity).await,
        Some(tls) => {
            // Failed or stalled handshakes are dropped without a response.
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
    // A broken connection is no error of the server.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    // Before the body is read: unauthenticated clients must not be able to send one.
    if let Err(status) = guard::check(&head, !body.is_end_stream(), shared.token.as_ref()) {
        return closing_error(&status);
    }
    match timeout(shared.limits.body_timeout, receive(body)).await {
        Ok(Ok(body)) => shared.api.call(Request::from_parts(head, body)).await,
        Ok(Err(IncompleteBody)) => closing_error(&Status::bad_request("the request body is incomplete")),
        Err(_) => closing_error(&Status::new(408, "Timeout", "timed out reading the request body")),
    }
}

/// An error response that closes the connection, so that the rest of the request need not be read.
fn closing_error(status: &Status) -> Response<Body> {
    let mut response = api::error_response(status);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The kubeconfig of the server at `address`.
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
    fn a_kubeconfig_can_be_parsed() {
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
