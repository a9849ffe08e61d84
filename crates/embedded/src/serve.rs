//! The API on a port, so that `kubectl`, `helm` and any other client can look at it.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::header::HOST;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::api::{Api, Body};

/// How long a client may take to say what it wants.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The most connections at a time; others wait their turn.
const MOST_CONNECTIONS: usize = 2_000;

/// Answers on `listener` until `end` is there. Watches end then too.
///
/// # Errors
/// If the listener fails for good.
pub async fn serve(api: Api, listener: TcpListener, end: impl Future<Output = ()>) -> io::Result<()> {
    let mut connections = JoinSet::new();
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(connections.spawn(answer_all(api.clone(), stream))),
                // A client that is gone already, or too many open files: the next one may do better.
                Err(error) if is_passing(&error) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(error) => return Err(error),
            },
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    // Too many open files has no kind of its own.
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

async fn answer_all(api: Api, stream: TcpStream) {
    // Small answers should not wait for more.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(api.clone(), request));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    // A connection that breaks is the client's affair.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(api: Api, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    if !is_for_this_machine(request.headers()) {
        let mut refusal =
            Response::new(Body::whole("this cluster answers to names of its own machine only\n"));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        return Ok(refusal);
    }
    Ok(api.handle(request).await)
}

/// Whether the sender knows whom he asks. A page in a browser that was led here by a name of its own does not.
fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The text of a kubeconfig that leads to `address`.
pub fn kubeconfig(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: pintle\n  \
           cluster:\n    \
             server: http://{address}\n\
         users:\n\
         - name: pintle\n  \
           user: {{}}\n\
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
    fn only_names_of_this_machine_are_answered_to() {
        let asked = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            is_for_this_machine(&headers)
        };
        for host in ["127.0.0.1:6443", "127.0.0.1", "localhost:80", "LocalHost", "[::1]:80"] {
            assert!(asked(host), "{host}");
        }
        for host in ["example.com", "example.com:80", "localhost.example.com", "10.0.0.1:80", ""] {
            assert!(!asked(host), "{host}");
        }
        assert!(is_for_this_machine(&HeaderMap::new()));
    }

    #[test]
    fn a_kubeconfig_can_be_read() {
        let text = kubeconfig(([127, 0, 0, 1], 80).into());
        let config = pintle_yaml::read(text.as_bytes()).unwrap();
        let cluster = config.get("clusters").unwrap().as_list().unwrap()[0].get("cluster").unwrap();
        assert_eq!(cluster.get("server").unwrap().as_str(), Some("http://127.0.0.1:80"));
        assert_eq!(config.get("current-context").unwrap().as_str(), Some("pintle"));
    }
}
