//! Maps network and TLS errors to the messages of Go's `net/http`, because scripts match them.

use std::error::Error as StdError;
use std::io;

use http::Method;
use kube::client::AuthError;

use crate::credentials::PluginError;
use crate::error::Error;
use crate::untrusted::NOT_PUBLIC;

/// What Go's client says about a token that cannot be sent.
pub(crate) const INVALID_TOKEN: &str = "net/http: invalid header field value for \"Authorization\"";

/// Converts the error of a request to a URL.
pub(crate) fn failure(method: &Method, url: &str, error: &(dyn StdError + 'static)) -> Error {
    let failure_text = Failure::read(url, error);
    Error::Transport {
        verb: verb(method),
        url: url.to_owned(),
        cause: failure_text.cause,
        sent: failure_text.sent,
    }
}

/// A method as Go's errors spell it: `Get`, `Post`.
fn verb(method: &Method) -> String {
    let word = method.as_str();
    let (first, rest) = word.split_at(1.min(word.len()));
    format!("{first}{}", rest.to_ascii_lowercase())
}

struct Failure {
    cause: String,
    /// Whether the server may have processed the request.
    sent: bool,
}

impl Failure {
    fn read(url: &str, error: &(dyn StdError + 'static)) -> Failure {
        let chain: Vec<&(dyn StdError + 'static)> =
            std::iter::successors(Some(error), |&error| error.source()).collect();
        let texts: Vec<String> = chain.iter().map(ToString::to_string).collect();
        let says = |part: &str| texts.iter().any(|text| text.contains(part));
        let connecting = says("(Connect)") || says("tcp connect error") || says("dns error");
        let dial = |end: &str| format!("dial tcp {}: {end}", dialled(url, error));

        if let Some(refused) = texts.iter().rev().find(|text| text.ends_with(NOT_PUBLIC)) {
            return Failure { cause: refused.clone(), sent: false };
        }
        if says("dns error") {
            return Failure { cause: format!("dial tcp: lookup {}: no such host", host(url)), sent: false };
        }
        if let Some(tls) = chain.iter().find_map(|error| tls_error(*error)) {
            return Failure { cause: tls_cause(&tls, url), sent: !connecting };
        }
        if let Some(error) = chain.iter().find(|error| error.is::<AuthError>() || error.is::<PluginError>()) {
            return Failure { cause: format!("getting credentials: {error}"), sent: false };
        }
        if chain.iter().any(|error| error.is::<http::header::InvalidHeaderValue>()) {
            return Failure { cause: INVALID_TOKEN.to_owned(), sent: false };
        }
        let kind = chain.iter().find_map(|error| io_kind(*error));
        let cause = match kind {
            Some(io::ErrorKind::ConnectionRefused) => dial("connect: connection refused"),
            Some(io::ErrorKind::HostUnreachable) => dial("connect: no route to host"),
            Some(io::ErrorKind::NetworkUnreachable) => dial("connect: network is unreachable"),
            Some(io::ErrorKind::TimedOut) if connecting => dial("i/o timeout"),
            Some(io::ErrorKind::TimedOut) => {
                "net/http: request canceled (Client.Timeout exceeded while awaiting headers)".into()
            }
            Some(io::ErrorKind::ConnectionReset) => "read: connection reset by peer".into(),
            Some(io::ErrorKind::BrokenPipe) => "write: broken pipe".into(),
            Some(io::ErrorKind::UnexpectedEof) => "EOF".into(),
            _ if says("connection closed before message completed") => "EOF".into(),
            _ => innermost(texts),
        };
        Failure { cause, sent: !connecting }
    }
}

/// The message of the innermost cause; outer ones mostly say that something below failed.
fn innermost(mut texts: Vec<String>) -> String {
    texts.retain(|text| !text.is_empty());
    texts.pop().unwrap_or_else(|| "unknown error".into())
}

/// The kind of the I/O error inside an error, however deep it is wrapped.
fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let error = error.downcast_ref::<io::Error>()?;
    match error.get_ref().and_then(|inner| io_kind(inner)) {
        Some(kind) => Some(kind),
        None => Some(error.kind()).filter(|kind| *kind != io::ErrorKind::Other),
    }
}

/// The TLS error inside an error, however deep it is wrapped.
fn tls_error(error: &(dyn StdError + 'static)) -> Option<rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls.clone());
    }
    // `source()` of an I/O error skips the error it wraps, so that one is checked explicitly.
    tls_error(error.downcast_ref::<io::Error>()?.get_ref()?)
}

fn tls_cause(error: &rustls::Error, url: &str) -> String {
    use rustls::CertificateError as Certificate;
    let rustls::Error::InvalidCertificate(problem) = error else {
        return match error {
            rustls::Error::InvalidMessage(_) => "http: server gave HTTP response to HTTPS client".into(),
            rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
            other => format!("tls: {other}"),
        };
    };
    let text = match problem {
        Certificate::UnknownIssuer | Certificate::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        Certificate::Expired
        | Certificate::ExpiredContext { .. }
        | Certificate::NotValidYet
        | Certificate::NotValidYetContext { .. } => "certificate has expired or is not yet valid".to_owned(),
        Certificate::NotValidForName => format!("certificate is not valid for {}", host(url)),
        Certificate::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| plain_name(name)).collect();
            format!("certificate is valid for {}, not {}", names.join(", "), expected.to_str())
        }
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {text}")
}

/// The name inside of `DnsName("a")` or `IpAddress(127.0.0.1)`.
fn plain_name(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

fn alert_text(alert: rustls::AlertDescription) -> String {
    use rustls::AlertDescription as Alert;
    match alert {
        Alert::BadCertificate => "bad certificate".into(),
        Alert::UnknownCA => "unknown certificate authority".into(),
        Alert::CertificateRequired => "certificate required".into(),
        Alert::CertificateExpired => "expired certificate".into(),
        Alert::HandshakeFailure => "handshake failure".into(),
        Alert::UnrecognisedName => "unrecognized name".into(),
        other => format!("{other:?}"),
    }
}

/// The host of a URL, without port.
fn host(url: &str) -> String {
    url.parse::<http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
}

/// The address that was dialled. The connector exposes it only in its `Debug` output.
fn dialled(url: &str, error: &(dyn StdError + 'static)) -> String {
    let debug = format!("{error:?}");
    let known = debug
        .split_once("tcp connect error\", ")
        .and_then(|(_, rest)| rest.split_once([',', ')']))
        .map(|(address, _)| address.to_owned())
        .filter(|address| address.parse::<std::net::SocketAddr>().is_ok());
    known.unwrap_or_else(|| {
        let uri = url.parse::<http::Uri>().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let host = uri.host().unwrap_or_default();
        format!("{}:{port}", if host == "localhost" { "127.0.0.1" } else { host })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_connection_reads_as_in_go() {
        let error = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        let failure = failure(&Method::GET, "https://127.0.0.1:1/version", &error);
        assert_eq!(
            failure.to_string(),
            r#"Get "https://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused"#
        );
    }

    #[test]
    fn an_untrusted_certificate_has_gos_message() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        assert_eq!(
            failure(&Method::POST, "https://a/b", &error).to_string(),
            r#"Post "https://a/b": tls: failed to verify certificate: x509: certificate signed by unknown authority"#
        );
    }
}
