//! `http`: requests, for charts with the `network` permission. The transport is a service of the caller.

use std::collections::BTreeMap;
use std::time::Duration;

use pintle_tree::{Map, Node};

use crate::call::{Answer, Body, Call, CallError};
use crate::services::FetchRequest;

/// The functions of `http`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[("get", get), ("request", request)];

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
// A render waits for the answer, so the default is short.
const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The steps charged per request, so that a loop of requests terminates.
const STEPS: u64 = 100_000;

/// Enough steps to make the meter check the clock.
const LOOK: u64 = 32;

/// The minimum timeout of a request when the script's time is nearly used up.
const SHORTEST: Duration = Duration::from_millis(1);

/// `http.get(url, options)`.
fn get(call: &Call<'_>) -> Answer {
    let mut options = options(call, 1)?;
    options.insert("url".into(), Node::from(call.text(0)?));
    send(call, &options)
}

/// `http.request(options)`.
fn request(call: &Call<'_>) -> Answer {
    send(call, &options(call, 0)?)
}

fn options(call: &Call<'_>, index: usize) -> Result<Map<Node>, CallError> {
    if call.any(index).is_nil() {
        return Ok(Map::new());
    }
    match call.node(index)? {
        Node::Map(map) => Ok(map),
        _ => call.fail("the options must be a map"),
    }
}

fn send(call: &Call<'_>, options: &Map<Node>) -> Answer {
    let request = read(call, options)?;
    let Some(network) = &call.host.services.network else {
        return call.fail("the network cannot be used here");
    };
    call.charge(STEPS)?;
    let answer = network.fetch(&request, &call.host.services.cancelled);
    // The time may be used up by now, or the operation cancelled.
    call.charge(LOOK)?;
    let response = answer.or_else(|reason| call.fail(format!("{}: {reason}", redacted(&request.url))))?;
    if response.body.len() > request.max_bytes {
        return call.fail(format!("{}: the answer is too long", redacted(&request.url)));
    }
    let headers = response.headers.iter().map(|(key, value)| (key.into(), Node::from(value.as_str())));
    let answer = [
        ("status", Node::Int(response.status.into())),
        ("headers", Node::Map(headers.collect())),
        ("body", Node::Str(response.body.into())),
    ];
    call.answer(&Node::Map(answer.into_iter().map(|(key, node)| (key.into(), node)).collect::<Map<Node>>()))
}

fn read(call: &Call<'_>, options: &Map<Node>) -> Result<FetchRequest, CallError> {
    let text = |key: &str| match options.get(key) {
        None => Ok(None),
        Some(node) => match node.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => call.fail(format!("`{key}` must be a string")),
        },
    };
    for key in options.keys() {
        if !["url", "method", "headers", "body", "timeout"].iter().any(|known| *key == *known) {
            return call
                .fail(format!("there is no option `{key}`; they are url, method, headers, body, timeout"));
        }
    }
    let url = match text("url")? {
        Some(url) if is_address(&url) => url,
        Some(url) => {
            return call.fail(format!("{:?} is no address with http:// or https://", redacted(&url)));
        }
        None => return call.fail("`url` is missing"),
    };
    let method = text("method")?.unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        return call.fail(format!("there is no method {method:?}; they are {}", METHODS.join(", ")));
    }
    Ok(FetchRequest {
        method,
        url,
        headers: headers(call, options)?,
        body: body(call, options)?,
        // The meter cannot interrupt a request, so the request must end by itself when the script's time
        // does.
        timeout: timeout(call, options)?.min(call.host.meter.time_left().max(SHORTEST)),
        max_bytes: call.host.limits.text,
    })
}

/// The body, which may be any bytes.
fn body(call: &Call<'_>, options: &Map<Node>) -> Result<Vec<u8>, CallError> {
    match options.get("body") {
        None => Ok(Vec::new()),
        Some(Node::Str(body)) => Ok(body.as_bytes().to_vec()),
        Some(_) => call.fail("`body` must be a string"),
    }
}

fn headers(call: &Call<'_>, options: &Map<Node>) -> Result<BTreeMap<String, String>, CallError> {
    let entries = match options.get("headers") {
        None => return Ok(BTreeMap::new()),
        Some(Node::Map(map)) => map,
        Some(_) => return call.fail("`headers` must be a map"),
    };
    // A line break in a value would add headers, or a second request.
    let good = |text: &str| !text.bytes().any(|byte| byte.is_ascii_control());
    let mut headers = BTreeMap::new();
    for (key, value) in entries.iter() {
        match (key.as_str(), value.as_str()) {
            (Some(key), Some(value)) if good(key) && good(value) => {
                headers.insert(key.to_ascii_lowercase(), value.to_owned());
            }
            _ => return call.fail(format!("the header `{key}` must be a string without control characters")),
        }
    }
    Ok(headers)
}

fn timeout(call: &Call<'_>, options: &Map<Node>) -> Result<Duration, CallError> {
    let seconds = match options.get("timeout") {
        None => return Ok(TIMEOUT),
        Some(Node::Int(seconds)) => *seconds as f64,
        Some(Node::Float(seconds)) => *seconds,
        Some(_) => return call.fail("`timeout` must be a number of seconds"),
    };
    if seconds > 0.0 && seconds <= MAX_TIMEOUT.as_secs_f64() {
        return Ok(Duration::from_secs_f64(seconds));
    }
    call.fail(format!("`timeout` must be more than 0 and at most {} seconds", MAX_TIMEOUT.as_secs()))
}

fn is_address(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.bytes().any(|byte| byte.is_ascii_control() || byte == b' ')
}

/// A URL without user, password and query, which may be secret.
fn redacted(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match (url.split_once("://"), url.rfind('@')) {
        (Some((scheme, _)), Some(at)) => format!("{scheme}://{}", &url[at + 1..]),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        assert_eq!(redacted("https://me:pass@host/a?token=1#x"), "https://host/a");
        assert!(is_address("http://host") && !is_address("file:///etc/passwd") && !is_address("http://"));
        assert!(!is_address("http://host/a\r\nHost: other"));
    }
}
