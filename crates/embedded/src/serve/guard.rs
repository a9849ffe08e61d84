//! Authentication and protection against web pages. The API listens on a machine where a browser may be open, and any
//! page in it can send requests to loopback addresses. The same-origin policy only keeps it from reading the
//! responses, and DNS rebinding circumvents even that.

use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method};
use sha2::{Digest as _, Sha256};

use crate::status::Status;

/// Paths without authentication, as in the real server.
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version"];

/// A bearer token. Only its digest is kept and compared, so that the time of the comparison reveals nothing.
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(text: &str) -> Token {
        Token(Sha256::digest(text).into())
    }

    fn is(&self, presented: &[u8]) -> bool {
        let presented: [u8; 32] = Sha256::digest(presented).into();
        let differences = self.0.iter().zip(presented).fold(0, |all, (own, other)| all | (own ^ other));
        // Keeps the compiler from turning the fold into a comparison that ends early.
        black_box(differences) == 0
    }
}

/// Authenticates a request.
pub(super) fn check(head: &Parts, has_body: bool, token: Option<&Token>) -> Result<(), Status> {
    let forbidden = |message: &str| Err(Status::new(403, "Forbidden", message));
    // Before the token, so that a web page learns nothing about it.
    if !is_loopback_host(&head.headers) {
        return forbidden("the Host header must be a loopback address or localhost");
    }
    if is_cross_origin(&head.headers) {
        return forbidden("requests of web pages are not allowed");
    }
    if token.is_some_and(|token| !is_public(head) && !is_authenticated(&head.headers, token)) {
        return Err(Status::new(401, "Unauthorized", "Unauthorized"));
    }
    // Browsers send cross-origin requests without a preflight only with certain content types, or none. The API
    // accepts none of these, but a missing one would count as JSON.
    if has_body && !head.headers.contains_key(CONTENT_TYPE) {
        let message = "the request body has no Content-Type";
        return Err(Status::new(415, "UnsupportedMediaType", message));
    }
    Ok(())
}

/// Whether the `Host` header names this machine. After DNS rebinding it has the name of the attacker's site.
fn is_loopback_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    // HTTP/1.0 clients send no `Host`; browsers always do.
    let Some(host) = hosts.next() else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_local = name.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // Two `Host` headers could be read differently by a proxy.
    is_local && hosts.next().is_none()
}

/// Whether a browser sends the request for a page. The API serves no pages, but its URL may be typed into a browser,
/// which is allowed. Other clients send neither header.
fn is_cross_origin(headers: &HeaderMap) -> bool {
    let foreign_site =
        headers.get_all("sec-fetch-site").iter().any(|site| site != "same-origin" && site != "none");
    let own = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_own = |origin: &http::HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(_, authority)| own.is_some_and(|host| host.eq_ignore_ascii_case(authority)))
    };
    foreign_site || headers.get_all(ORIGIN).iter().any(|origin| !is_own(origin))
}

/// Whether the request needs no authentication. One with a body always does, so that no unauthenticated body is
/// waited for.
fn is_public(head: &Parts) -> bool {
    matches!(head.method, Method::GET | Method::HEAD) && PUBLIC.contains(&head.uri.path())
}

fn is_authenticated(headers: &HeaderMap, token: &Token) -> bool {
    let presented = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let presented = presented.and_then(|value| value.split_at_checked("Bearer ".len()));
    presented
        .is_some_and(|(scheme, presented)| scheme.eq_ignore_ascii_case(b"Bearer ") && token.is(presented))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// The status code of a rejected request, or 0. Headers are `Name: value`, one per line.
    fn code(path: &str, headers: &str, has_body: bool) -> u16 {
        let mut request = Request::builder().uri(path);
        for line in headers.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let token = Token::new("sesame");
        check(&head, has_body, Some(&token)).err().map_or(0, |status| status.code)
    }

    #[test]
    fn only_loopback_hosts_are_accepted() {
        for host in ["127.0.0.1:6443", "127.0.0.1", "localhost:80", "LocalHost", "[::1]:80"] {
            assert_eq!(code("/version", &format!("Host: {host}"), false), 0, "{host}");
        }
        for host in ["example.com", "example.com:80", "localhost.example.com", "10.0.0.1:80", ""] {
            assert_eq!(code("/version", &format!("Host: {host}"), false), 403, "{host}");
        }
        assert_eq!(code("/version", "Host: localhost\nHost: example.com", false), 403);
        assert_eq!(code("/version", "", false), 0);
    }

    #[test]
    fn requests_of_web_pages_are_rejected() {
        for (headers, refused) in [
            ("Origin: http://example.com", 403),
            ("Origin: null", 403),
            // Another port is another origin.
            ("Origin: http://localhost:3000", 403),
            ("Origin: http://localhost:80", 0),
            ("Sec-Fetch-Site: cross-site", 403),
            ("Sec-Fetch-Site: same-site", 403),
            ("Sec-Fetch-Site: same-origin", 0),
            ("Sec-Fetch-Site: none", 0),
            ("Sec-Fetch-Site: none\nOrigin: http://example.com", 403),
            ("User-Agent: kubectl", 0),
        ] {
            let headers = format!("Host: localhost:80\nAuthorization: Bearer sesame\n{headers}");
            assert_eq!(code("/api/v1/pods", &headers, false), refused, "{headers}");
        }
    }

    #[test]
    fn a_token_is_required_except_for_public_paths() {
        for (headers, refused) in [
            ("", 401),
            ("Authorization: Bearer sesam", 401),
            ("Authorization: Bearer sesame2", 401),
            ("Authorization: Basic sesame", 401),
            ("Authorization: Bearer", 401),
            ("Authorization: Bearer ", 401),
            ("Authorization: Bearer sesame", 0),
            ("Authorization: bearer sesame", 0),
        ] {
            assert_eq!(code("/api/v1/pods", headers, false), refused, "{headers}");
        }
        assert_eq!(code("/healthz", "", false), 0);
        assert_eq!(code("/healthz/", "", false), 401);
        let (mut head, ()) = Request::post("/healthz").body(()).unwrap().into_parts();
        let token = Token::new("sesame");
        assert_eq!(check(&head, true, Some(&token)).err().map(|status| status.code), Some(401));
        head.method = Method::GET;
        assert_eq!(check(&head, false, Some(&token)), Ok(()));
    }

    #[test]
    fn a_body_needs_a_content_type() {
        let authorized = "Authorization: Bearer sesame";
        assert_eq!(code("/api/v1/pods", authorized, true), 415);
        assert_eq!(code("/api/v1/pods", &format!("{authorized}\nContent-Type: application/json"), true), 0);
    }
}
