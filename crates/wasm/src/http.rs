//! HTTP requests of modules.

use std::collections::BTreeMap;

use serde_json::Value;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The URL; its host is one that is allowed.
    pub url: String,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// The largest response.
    pub max_bytes: u64,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The request that a module describes in JSON.
    pub(crate) fn parse(
        text: &[u8],
        body: Vec<u8>,
        allowed: &[String],
        max_bytes: u64,
    ) -> Result<HttpRequest, String> {
        let invalid = |reason: &str| format!("invalid http request: {reason}");
        let value: Value = serde_json::from_slice(text).map_err(|error| invalid(&error.to_string()))?;
        let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let url = field("url").to_owned();
        let host = host(&url).ok_or_else(|| invalid("`url` is no URL with the scheme http or https"))?;
        if !allowed.iter().any(|pattern| matches(pattern.as_bytes(), host.as_bytes())) {
            return Err(format!("HTTP request to '{url}' is not allowed"));
        }
        let method = match field("method") {
            "" => "GET".to_owned(),
            method => method.to_uppercase(),
        };
        let headers = value.get("headers").and_then(Value::as_object);
        let headers = headers
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned())));
        Ok(HttpRequest { method, headers: headers.collect(), url, body, max_bytes })
    }
}

/// The host of a URL, without user and port, in lower case.
pub(crate) fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    // URL parsers disagree about a backslash: for some it is a slash, for others part of the user info.
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => host.split(':').next()?,
    };
    let plain = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then(|| host.to_ascii_lowercase())
}

/// Whether a pattern with `*` and `?` matches the whole of a host.
fn matches(pattern: &[u8], host: &[u8]) -> bool {
    match pattern.split_first() {
        None => host.is_empty(),
        Some((b'*', rest)) => (0..=host.len()).any(|at| matches(rest, &host[at..])),
        Some((b'?', rest)) => !host.is_empty() && matches(rest, &host[1..]),
        Some((byte, rest)) => {
            host.first().is_some_and(|first| first.eq_ignore_ascii_case(byte)) && matches(rest, &host[1..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_as_they_are_reached() {
        for (url, found) in [
            ("https://Example.com/a", Some("example.com")),
            ("http://u:p@h:80/", Some("h")),
            ("http://good@evil", Some("evil")),
            ("http://[::1]:80", Some("::1")),
            ("http://evil\\@good/", Some("evil")),
            ("ftp://h", None),
            ("h", None),
            ("http://", None),
        ] {
            assert_eq!(host(url).as_deref(), found, "{url}");
        }
    }

    #[test]
    fn only_allowed_hosts_are_asked() {
        let parse = |url: &str| {
            let allowed = ["*.example.com".to_owned(), "one".to_owned()];
            HttpRequest::parse(format!("{{\"url\":{url:?}}}").as_bytes(), Vec::new(), &allowed, 1)
        };
        assert_eq!(parse("http://a.example.com/x").unwrap().method, "GET");
        assert!(parse("http://one").is_ok());
        for url in ["http://example.com", "http://two", "http://one.example.org", "http://a.example.com@two"]
        {
            assert_eq!(parse(url).unwrap_err(), format!("HTTP request to '{url}' is not allowed"));
        }
        assert!(parse("nothing").unwrap_err().starts_with("invalid http request: "));
    }
}
