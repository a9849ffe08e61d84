//! Connections to servers that somebody else chose: only to allowed addresses, and with limits for what they send.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use tokio::net::TcpStream;
use tower::util::{BoxCloneService, option_layer};
use tower::{BoxError, Layer as _, Service, ServiceExt as _};

/// Decides by host and address which servers may be connected to.
pub type AllowedAddress = Arc<dyn Fn(&str, IpAddr) -> bool + Send + Sync>;

/// How the reason ends if an address is refused; callers recognise the case by it.
pub(crate) const NOT_PUBLIC: &str = "which is not a public address";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// An address that may not be connected to.
#[derive(Debug)]
struct Refused {
    host: String,
    address: IpAddr,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is at {}, {NOT_PUBLIC}", self.host, self.address)
    }
}

impl std::error::Error for Refused {}

#[derive(Clone)]
struct Check(AllowedAddress);

impl Check {
    fn check(&self, host: &str, address: IpAddr) -> io::Result<()> {
        match (self.0)(host, address) {
            true => Ok(()),
            false => {
                let refused = Refused { host: host.to_owned(), address };
                Err(io::Error::new(io::ErrorKind::PermissionDenied, refused))
            }
        }
    }

    /// Checks a host that is an address, which no resolver sees.
    fn check_literal(&self, uri: &Uri) -> io::Result<()> {
        let host = uri.host().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => self.check(host, address),
            Err(_) => Ok(()),
        }
    }
}

/// A DNS resolver that fails unless all addresses of a name are allowed.
#[derive(Clone)]
struct Resolver(Check);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let check = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                check.check(name.as_str(), address.ip())?;
            }
            Ok(found.into_iter())
        })
    }
}

/// Opens connections to allowed addresses, through the proxy of the kubeconfig if it has one. The proxy was chosen by the
/// same author as the server, so its address is checked, too.
#[derive(Clone)]
struct Dialer {
    http: HttpConnector<Resolver>,
    check: Check,
    proxy: Option<Uri>,
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let checked = self.check.check_literal(&target);
        let checked =
            checked.and_then(|()| self.proxy.as_ref().map_or(Ok(()), |uri| self.check.check_literal(uri)));
        if let Err(refused) = checked {
            return Box::pin(std::future::ready(Err(refused.into())));
        }
        let mut http = self.http.clone();
        let proxy = self.proxy.clone();
        Box::pin(async move {
            let scheme = proxy.as_ref().and_then(Uri::scheme_str).unwrap_or_default().to_owned();
            match (proxy, scheme.as_str()) {
                (None, _) => Ok(http.call(target).await?),
                (Some(proxy), "http") => Ok(Tunnel::new(proxy, http).call(target).await?),
                (Some(proxy), "socks5") => Ok(SocksV5::new(proxy, http).call(target).await?),
                _ => {
                    Err(format!("a proxy with the scheme `{scheme}` cannot be used; use http or socks5")
                        .into())
                }
            }
        })
    }
}

type Answer = http::Response<hyper::body::Incoming>;

/// Builds a client as `ClientBuilder::try_from` does, on connections that are checked. Answers are not compressed.
pub(crate) fn client(config: kube::Config, allowed: AllowedAddress) -> kube::Result<kube::Client> {
    let check = Check(allowed);
    let mut http = HttpConnector::new_with_resolver(Resolver(check.clone()));
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let dialer = Dialer { http, check, proxy: config.proxy_url.clone() };
    let connector = config.rustls_https_connector_with_connector(dialer)?;
    let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    let service: BoxCloneService<http::Request<Body>, Answer, BoxError> =
        client.map_err(BoxError::from).boxed_clone();
    let service = config.extra_headers_layer()?.layer(service);
    let service = option_layer(config.auth_layer()?).layer(service);
    let service = config.base_uri_layer().layer(service);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}

/// What a server may send at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one answer.
    pub(crate) response: usize,
    /// Bytes of all pages of a list.
    pub(crate) list: usize,
}

impl Limits {
    /// For a server that the user chose: a limit that only a broken one reaches.
    pub(crate) const OWN: Limits = Limits { response: 1 << 30, list: usize::MAX };
    /// For a server that somebody else chose.
    pub(crate) const UNTRUSTED: Limits = Limits { response: 64 << 20, list: 256 << 20 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Request};

    fn kubeconfig(server: &str, more: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: '{server}'{more}}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        )
    }

    async fn refused(server: &str, more: &str) -> String {
        let allowed = |host: &str, address: IpAddr| host == "allowed.test" || !address.is_loopback();
        let cluster = Cluster::from_kubeconfig(&kubeconfig(server, more), "test", Arc::new(allowed)).await;
        let cluster = cluster.expect("a good kubeconfig");
        cluster.send(&Request::get("/version")).await.expect_err(server).to_string()
    }

    #[tokio::test]
    async fn servers_and_proxies_at_addresses_that_are_not_allowed_are_not_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("it can be asked");
        let port = listener.local_addr().expect("it has an address").port();
        for server in ["http://127.0.0.1", "https://localhost", "http://127.1", "https://[::1]"] {
            let error = refused(&format!("{server}:{port}"), "").await;
            assert!(error.contains(NOT_PUBLIC), "{server}: {error}");
        }
        let proxy = format!(", proxy-url: 'http://localhost:{port}'");
        let error = refused("https://192.0.2.1", &proxy).await;
        assert!(error.contains(NOT_PUBLIC), "{error}");
        assert!(listener.accept().is_err(), "nobody came");
    }

    #[tokio::test]
    async fn a_server_that_is_allowed_is_reached_as_by_any_client() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = format!("http://{}/base", listener.local_addr().expect("it has an address"));
        let text = kubeconfig(&server, "").replace("user: {}", "user: {token: secret}");
        let cluster = Cluster::from_kubeconfig(&text, "agent/1", Arc::new(|_, _| true)).await;
        let cluster = cluster.expect("a good kubeconfig");
        let request = Request::get("/version");
        let served = async {
            let (mut stream, _) = listener.accept().await.expect("somebody comes");
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.expect("a request");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.write_all(answer).await.expect("it listens");
            String::from_utf8_lossy(&head[..read]).into_owned()
        };
        let (answer, head) = futures::join!(cluster.send(&request), served);
        assert_eq!(answer.expect("an answer").body, "{}");
        assert!(head.starts_with("GET /base/version HTTP/1.1\r\n"), "{head}");
        let lower = head.to_ascii_lowercase();
        assert!(
            lower.contains("authorization: bearer secret") && lower.contains("user-agent: agent/1"),
            "{head}"
        );
    }

    /// A cluster whose server answers everything in this way.
    fn answering(body: &'static str, limits: Limits) -> Cluster {
        let answer = move |_| std::future::ready(http::Response::new(Body::from(body.as_bytes().to_vec())));
        Cluster::from_service_fn(answer, "default").with_limits(limits)
    }

    #[tokio::test]
    async fn an_answer_and_a_list_have_an_end() {
        let limits = Limits { response: 10, list: 1000 };
        let error =
            answering("0123456789a", limits).send(&Request::get("/")).await.expect_err("it is too long");
        assert!(error.to_string().contains("more than 10 bytes"), "{error}");
        let list = r#"{"kind":"List","metadata":{"continue":"again"},"items":[]}"#;
        let resource = crate::Resource::new("", "v1", "ConfigMap", "configmaps");
        let params = crate::ListParams::default();
        let repeated = answering(list, Limits::OWN).list(&resource, "default", &params).await;
        let error = repeated.expect_err("the same page again and again").to_string();
        assert!(error.contains("continue token"), "{error}");
        use futures::TryStreamExt as _;
        let cluster = answering(list, Limits::OWN);
        let pages: Result<Vec<_>, _> = cluster.pages(&resource, "default", &params).try_collect().await;
        assert!(pages.expect_err("the same page again and again").to_string().contains("continue token"));
    }
}
