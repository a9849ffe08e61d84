//! Plain HTTP requests to URLs chosen by others, such as chart scripts: restricted to allowed addresses, with a
//! timeout and a size limit.
//!
//! A host name is resolved once, by the connection itself, and all of its addresses must be allowed, so DNS rebinding
//! gains nothing. Redirects follow the same rule.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;

pub use crate::address::NOT_PUBLIC;
use crate::address::{AddressCheck, Resolver};
use crate::settings::Settings;
use crate::tls;
use crate::transport::innermost;

/// The maximum number of redirects followed.
const MAX_REDIRECTS: usize = 5;

/// Headers that belong to the connection or affect routing; callers must not set them.
const CONNECTION_HEADERS: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

/// Headers that are dropped on a redirect to another host.
const CREDENTIAL_HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Decides which addresses may be connected to.
pub type Allowed = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// A request.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The URL, with scheme `http` or `https`.
    pub url: String,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// The timeout of the whole exchange, redirects included.
    pub timeout: Duration,
    /// The maximum response size in bytes.
    pub max_bytes: usize,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Headers, with lower-case names. Of repeated headers, the last value.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends plain requests. Proxies are not used, because a proxy would choose the address.
#[derive(Clone)]
pub struct Fetcher {
    check: AddressCheck,
    tls: Arc<OnceLock<ClientConfig>>,
}

type Sender = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

impl Fetcher {
    /// A fetcher that connects only to addresses accepted by `allowed`.
    pub fn new(allowed: Allowed) -> Fetcher {
        Fetcher { check: AddressCheck::new(move |_, address| allowed(address)), tls: Arc::default() }
    }

    /// Sends a request and waits for the response. Blocks; must not be called on an async worker thread.
    ///
    /// # Errors
    /// Returns the reason as text.
    pub fn fetch(&self, request: &HttpRequest) -> Result<HttpResponse, String> {
        self.fetch_cancellable(request, &|| false)
    }

    /// Like [`Fetcher::fetch`], but returns early once `cancelled` returns true.
    ///
    /// # Errors
    /// Like [`Fetcher::fetch`].
    pub fn fetch_cancellable(
        &self,
        request: &HttpRequest,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<HttpResponse, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let exchange = async { tokio::time::timeout(request.timeout, self.exchange(request)).await };
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = exchange => outcome,
                () = until(cancelled) => Ok(Err("the operation was cancelled".to_owned())),
            }
        });
        // A DNS lookup in progress cannot be cancelled, so do not wait for it.
        runtime.shutdown_background();
        outcome.unwrap_or_else(|_| Err(format!("no answer within {:?}", request.timeout)))
    }

    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let client = self.client()?;
        let mut uri: Uri = request.url.parse().map_err(|error| format!("the address is wrong: {error}"))?;
        let mut headers = request.headers.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&client, request, &uri, &headers).await?;
            let Some(next) = redirect(&request.method, &uri, response.status(), response.headers())? else {
                return received(response, request.max_bytes).await;
            };
            if next.authority() != uri.authority() {
                headers.retain(|name, _| !CREDENTIAL_HEADERS.contains(&name.as_str()));
            }
            uri = next;
        }
        Err(format!("more than {MAX_REDIRECTS} redirects"))
    }

    async fn send(
        &self,
        client: &Sender,
        request: &HttpRequest,
        uri: &Uri,
        headers: &BTreeMap<String, String>,
    ) -> Result<http::Response<Incoming>, String> {
        // Literal addresses bypass the resolver.
        self.check.check_literal(uri).map_err(|refused| refused.to_string())?;
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| error.to_string())?;
        let mut builder = http::Request::builder().method(method).uri(uri.clone());
        for (name, value) in headers {
            if CONNECTION_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(format!("the header `{name}` cannot be chosen"));
            }
            builder = builder.header(name, value);
        }
        if !headers.keys().any(|name| name.eq_ignore_ascii_case("user-agent")) {
            builder = builder.header("user-agent", concat!("pintle/", env!("CARGO_PKG_VERSION")));
        }
        let body = Full::new(Bytes::from(request.body.clone()));
        let built = builder.body(body).map_err(|error| error.to_string())?;
        client.request(built).await.map_err(|error| innermost(&error))
    }

    fn client(&self) -> Result<Sender, String> {
        let tls = match self.tls.get() {
            Some(tls) => tls,
            None => {
                let made = tls::config(&Settings::default()).map_err(|error| error.to_string())?;
                self.tls.get_or_init(|| made)
            }
        };
        let mut http = HttpConnector::new_with_resolver(Resolver::new(Some(self.check.clone())));
        http.enforce_http(false);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http().enable_http1();
        Ok(Client::builder(TokioExecutor::new()).build(connector.wrap_connector(http)))
    }
}

/// How often `cancelled` is polled.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

async fn until(cancelled: &dyn Fn() -> bool) {
    while !cancelled() {
        tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
    }
}

/// The target of a redirect, if any. Only safe methods are repeated after 307 and 308.
fn redirect(
    method: &str,
    from: &Uri,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Uri>, String> {
    let moved = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = headers.get(LOCATION).filter(|_| moved && matches!(method, "GET" | "HEAD")) else {
        return Ok(None);
    };
    let wrong = || "the answer redirects to an address that is wrong".to_owned();
    let text = location.to_str().map_err(|_| wrong())?;
    let to: Uri = text.parse().map_err(|_| wrong())?;
    let mut parts = to.into_parts();
    match (&parts.scheme, &parts.authority) {
        (Some(_), Some(_)) => {}
        (None, None) if text.starts_with('/') => {
            parts.scheme = from.scheme().cloned();
            parts.authority = from.authority().cloned();
        }
        _ => return Err(wrong()),
    }
    let to = Uri::from_parts(parts).map_err(|_| wrong())?;
    match (from.scheme_str(), to.scheme_str()) {
        (Some("https"), Some("http")) => Err("the answer redirects from https to http".to_owned()),
        (_, Some("http" | "https")) => Ok(Some(to)),
        _ => Err(wrong()),
    }
}

async fn received(response: http::Response<Incoming>, most: usize) -> Result<HttpResponse, String> {
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| innermost(&error))?;
        if let Ok(data) = frame.into_data() {
            if body.len() + data.len() > most {
                return Err(format!("the answer is longer than {most} bytes"));
            }
            body.extend_from_slice(&data);
        }
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
    Ok(HttpResponse { status: head.status.as_u16(), headers: headers.collect(), body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// Serves the given responses, one per connection. Returns the URL.
    fn server(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            for (stream, answer) in listener.incoming().flatten().zip(answers) {
                let (mut stream, mut buffer) = (stream, [0; 4096]);
                let read = stream.read(&mut buffer).unwrap_or(0);
                let message = String::from_utf8_lossy(&buffer[..read]).contains("authorization");
                let answer = answer.replace("TOLD", if message { "yes" } else { "no!" });
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        format!("http://{address}")
    }

    fn sent(url: &str) -> HttpRequest {
        HttpRequest {
            method: "GET".into(),
            url: url.into(),
            headers: BTreeMap::from([("authorization".to_owned(), "secret".to_owned())]),
            body: Vec::new(),
            timeout: Duration::from_secs(120),
            max_bytes: 100,
        }
    }

    fn answer(body: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn anyone() -> Fetcher {
        Fetcher::new(Arc::new(|_| true))
    }

    #[test]
    fn answers_come_back_with_status_headers_and_body() {
        let received =
            anyone().fetch(&sent(&server(vec![answer("TOLD").replace("h: 4", "h: 3")]))).expect("an answer");
        assert_eq!((received.status, received.headers["x-a"].as_str()), (200, "b"));
        assert_eq!(received.body, b"yes");
    }

    #[test]
    fn addresses_that_are_not_allowed_are_refused_by_number_and_by_name() {
        let nobody = Fetcher::new(Arc::new(|_| false));
        for url in ["http://127.0.0.1:1/", "http://[::1]:1/", "http://localhost:1/", "http://127.1:1/"] {
            let reason = nobody.fetch(&sent(url)).expect_err(url);
            assert!(reason.contains("not a public address"), "{url}: {reason}");
        }
    }

    #[test]
    fn redirects_are_checked_again_and_leave_secrets_behind() {
        let last = server(vec![answer("TOLD").replace("h: 4", "h: 3")]);
        let moved = |to: &str| {
            format!("HTTP/1.1 302 F\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        };
        let received = anyone().fetch(&sent(&server(vec![moved(&last)]))).expect("an answer");
        assert_eq!(received.body, b"no!");
        let only_the_first = Fetcher::new(Arc::new(|address: IpAddr| address.to_string() == "127.0.0.1"));
        let reason = only_the_first.fetch(&sent(&server(vec![moved("http://127.0.0.2:1/")])));
        assert!(reason.expect_err("another address").contains("127.0.0.2"), "it is told");
        let loops = server((0..9).map(|_| moved("/again")).collect());
        assert_eq!(anyone().fetch(&sent(&loops)), Err("more than 5 redirects".to_owned()));
        assert!(anyone().fetch(&sent(&server(vec![moved("file:///etc/passwd")]))).is_err());
    }

    #[test]
    fn time_and_size_are_limited_and_some_headers_are_ours() {
        let long = anyone().fetch(&sent(&server(vec![answer(&"x".repeat(101))])));
        assert_eq!(long, Err("the answer is longer than 100 bytes".to_owned()));
        let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", silent.local_addr().expect("it has an address"));
        let request = HttpRequest { timeout: Duration::from_millis(200), ..sent(&url) };
        assert_eq!(anyone().fetch(&request), Err("no answer within 200ms".to_owned()));
        let request = sent(&url);
        assert_eq!(
            anyone().fetch_cancellable(&request, &|| true),
            Err("the operation was cancelled".to_owned())
        );
        let request =
            HttpRequest { headers: BTreeMap::from([("Host".to_owned(), "x".to_owned())]), ..sent(&url) };
        assert_eq!(anyone().fetch(&request), Err("the header `Host` cannot be chosen".to_owned()));
    }
}
