//! Sends a request and follows redirects; decides which of the servers get the credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, USER_AGENT,
};
use pintle_registry::Answer;
use pintle_tree::redact::redacted;

use super::{Access, Getter, Request};
use crate::address::{Address, unescape};
use crate::error::{Error, Result};

/// How many redirects are followed, as Go's client does.
const REDIRECTS: usize = 10;

impl Getter {
    /// Sends the request and follows redirects.
    pub(super) async fn follow(&self, request: &Request<'_>) -> Result<Answer> {
        let mut address = Address::parse(request.url).map_err(Error::Fetch)?;
        let home = Address::parse(request.home)
            .map_err(|error| Error::Fetch(format!("unable to parse getter URL: {error}")))?;
        let access = &request.access;
        let is_home = home.scheme == address.scheme && home.host == address.host;
        let mut login = if access.pass_credentials_all || is_home { login(access)? } else { None };
        let mut last = String::new();
        for _ in 0..REDIRECTS {
            let failed = |reason: String| {
                let url = pintle_tree::quote::quote(redacted(&address.to_string()).as_bytes());
                Error::Fetch(format!("Get {url}: {reason}"))
            };
            let transport = self.transport(access, address.scheme == "https")?;
            let uri = uri(&address).map_err(failed)?;
            let headers = self.headers(request, &address, login.as_ref()).map_err(failed)?;
            let answer = transport.get(&uri, headers).await.map_err(failed)?;
            let moved = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
            // As in Go, a redirect without `Location` is an ordinary response.
            let location = answer.header("location").filter(|location| moved && !location.is_empty());
            let Some(location) = location else { return Ok(answer) };
            location.clone_into(&mut last);
            let next = Address::parse(location)
                .map_err(|error| failed(format!("failed to parse Location header {location:?}: {error}")))?;
            let next = address.join(&next);
            if !matches!(next.scheme.as_str(), "http" | "https") {
                let [scheme, url] = [&next.scheme, &redacted(&next.to_string()).into_owned()]
                    .map(|text| pintle_tree::quote::quote(text.as_bytes()));
                return Err(Error::Fetch(format!("Get {url}: unsupported protocol scheme {scheme}")));
            }
            if !same_party(&address, &next, self.trusts_subdomains) {
                login = None;
            }
            address = next;
        }
        // Go prints the last `Location` as received, which may be a path only.
        let url = pintle_tree::quote::quote(redacted(&last).as_bytes());
        Err(Error::Fetch(format!("Get {url}: stopped after {REDIRECTS} redirects")))
    }

    fn headers(
        &self,
        request: &Request<'_>,
        address: &Address,
        login: Option<&(HeaderName, String)>,
    ) -> std::result::Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| format!("net/http: invalid header field value for {name:?}"))?;
            headers.insert(name, value);
            Ok::<(), String>(())
        };
        put(USER_AGENT, &self.agent)?;
        if !request.accept.is_empty() {
            put(ACCEPT, request.accept)?;
        }
        if request.compressed {
            put(ACCEPT_ENCODING, "gzip")?;
        }
        if let Some(known) = request.known.filter(|known| known.url == request.url) {
            if !known.etag.is_empty() {
                put(IF_NONE_MATCH, &known.etag)?;
            }
            if !known.last_modified.is_empty() {
                put(IF_MODIFIED_SINCE, &known.last_modified)?;
            }
        }
        match (login, &address.userinfo) {
            (Some((name, login)), _) => put(name.clone(), login)?,
            (None, Some(userinfo)) => {
                let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
                put(AUTHORIZATION, &basic(&unescape(user), &unescape(password)))?;
            }
            (None, None) => {}
        }
        Ok(headers)
    }
}

/// The authentication header, if there are credentials.
fn login(access: &Access) -> Result<Option<(HeaderName, String)>> {
    match &access.token {
        _ if !access.username.is_empty() && !access.password.is_empty() => {
            Ok(Some((AUTHORIZATION, basic(&access.username, &access.password))))
        }
        Some(token) => token.to_header().map(Some),
        None => Ok(None),
    }
}

/// Whether credentials for `from` may be sent to `to`: the same host and port, or the same host with an upgrade to TLS; never
/// a downgrade from TLS. With `subdomains`, also a subdomain of the host, as in Go's client.
fn same_party(from: &Address, to: &Address, subdomains: bool) -> bool {
    if from.scheme == "https" && to.scheme != "https" {
        return false;
    }
    let split = |address: &Address| {
        let (host, port) = match address.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (address.host.as_str(), ""),
        };
        let usual = if address.scheme == "https" { "443" } else { "80" };
        (host.to_ascii_lowercase(), if port == usual { String::new() } else { port.to_owned() })
    };
    let ((from_host, from_port), (to_host, to_port)) = (split(from), split(to));
    let front = to_host.strip_suffix(&from_host);
    let is_same = front.is_some_and(|front| front.is_empty() || subdomains && front.ends_with('.'));
    is_same && from_port == to_port
}

pub(crate) fn uri(address: &Address) -> std::result::Result<Uri, String> {
    let mut plain = address.clone();
    (plain.userinfo, plain.fragment) = (None, None);
    if plain.host.is_empty() {
        return Err("http: no Host in request URL".to_owned());
    }
    plain.to_string().parse().map_err(|error: http::uri::InvalidUri| error.to_string())
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_with_the_party_that_they_are_meant_for() {
        let parse = |text: &str| Address::parse(text).expect("a URL");
        let party = |from: &str, to: &str| same_party(&parse(from), &parse(to), false);
        let in_go = |from: &str, to: &str| same_party(&parse(from), &parse(to), true);
        assert!(party("http://h/a", "http://h/b"));
        assert!(party("http://h/a", "https://h/b"));
        assert!(party("https://h/a", "https://h:443/b"));
        assert!(!party("https://h/a", "https://charts.h/b") && in_go("https://h/a", "https://charts.h/b"));
        assert!(!in_go("https://h/a", "http://charts.h/b") && !in_go("https://h/a", "https://nh/b"));
        assert!(!party("https://h/a", "http://h/b"));
        assert!(!party("http://h:1/a", "http://h:2/b"));
        assert!(!party("http://h/a", "http://other/b"));
        assert!(!party("http://h/a", "http://nh/b"));
    }
}
