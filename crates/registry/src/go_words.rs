//! Why a request failed, in the words of Go's HTTP client: scripts and people know Helm's errors by them.

use std::error::Error as StdError;
use std::io;

use http::Uri;
use rustls::{CertificateError, InvalidMessage};

use crate::transport::innermost;

/// The words for a request that got no answer.
pub(crate) async fn of(error: &hyper_util::client::legacy::Error, uri: &Uri) -> String {
    if let Some(said) = find::<rustls::Error>(error) {
        return tls(said, uri);
    }
    let refused = find::<io::Error>(error).map(io::Error::kind);
    if !error.is_connect() {
        return exchange(error, refused);
    }
    if let Some(reason) = uri.authority().and_then(|authority| invalid_port(authority.as_str())) {
        return reason;
    }
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Some(address) = tokio::net::lookup_host((bare, port)).await.ok().and_then(|mut found| found.next())
    else {
        return unknown_host(host);
    };
    let reason = match refused {
        Some(io::ErrorKind::ConnectionRefused) => "connect: connection refused".to_owned(),
        Some(io::ErrorKind::TimedOut) => "i/o timeout".to_owned(),
        Some(io::ErrorKind::NetworkUnreachable) => "connect: network is unreachable".to_owned(),
        Some(io::ErrorKind::HostUnreachable) => "connect: no route to host".to_owned(),
        // What answered was cut off while it shook hands.
        Some(io::ErrorKind::UnexpectedEof) => return "EOF".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => {
            return "read: connection reset by peer".to_owned();
        }
        _ => innermost(error),
    };
    format!("dial tcp {address}: {reason}")
}

/// Why a file cannot be used, without the number that Rust appends.
pub(crate) fn of_file(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    let mut letters = reason.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect::<String>()).unwrap_or_default()
}

/// The words for a port that is too large, which hyper takes for none.
pub(crate) fn invalid_port(authority: &str) -> Option<String> {
    let (_, port) = authority.rsplit_once(':')?;
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && port.parse::<u16>().is_err()).then(|| format!("dial tcp: address {port}: invalid port"))
}

/// The words for a host that has no address. Go names the server that it asked.
pub(crate) fn unknown_host(host: &str) -> String {
    let settings = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    format!("dial tcp: lookup {host} on {}: no such host", name_server(&settings))
}

/// The first server of `resolv.conf`, with its port.
fn name_server(settings: &str) -> String {
    let server = settings.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver")?;
        words.next()?.parse::<std::net::IpAddr>().ok()
    });
    let server = server.unwrap_or(std::net::IpAddr::from([127, 0, 0, 1]));
    std::net::SocketAddr::new(server, 53).to_string()
}

/// A connection that came about, and then brought nothing that can be read.
fn exchange(error: &(dyn StdError + 'static), kind: Option<io::ErrorKind>) -> String {
    if let Some(said) = find::<hyper::Error>(error) {
        if said.is_incomplete_message() {
            return "EOF".to_owned();
        }
        if said.is_parse() {
            return "net/http: HTTP/1.x transport connection broken: malformed HTTP response".to_owned();
        }
    }
    match kind {
        Some(io::ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        Some(io::ErrorKind::UnexpectedEof) => "EOF".to_owned(),
        _ => innermost(error),
    }
}

fn tls(error: &rustls::Error, uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let unverified = |reason: &str| format!("tls: failed to verify certificate: x509: {reason}");
    match error {
        rustls::Error::InvalidCertificate(reason) => match reason {
            CertificateError::UnknownIssuer => unverified("certificate signed by unknown authority"),
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                unverified("certificate has expired or is not yet valid")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                unverified(&format!("certificate is not valid for {host}"))
            }
            other => unverified(&other.to_string()),
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        other => of_alert(other),
    }
}

/// The words for an alert.
pub(crate) fn of_alert(error: &rustls::Error) -> String {
    match error {
        rustls::Error::AlertReceived(alert) => {
            format!("remote error: tls: {}", alert_words(&format!("{alert:?}")))
        }
        other => other.to_string(),
    }
}

/// The words for an alert of TLS, by the name that rustls has for it.
pub(crate) fn alert_words(alert: &str) -> &str {
    match alert {
        "CertificateRequired" => "certificate required",
        "BadCertificate" => "bad certificate",
        "UnknownCA" => "unknown certificate authority",
        "HandshakeFailure" => "handshake failure",
        "ProtocolVersion" => "protocol version not supported",
        "UnrecognisedName" => "unrecognized name",
        other => other,
    }
}

/// The first error of a type among an error and what led to it.
fn find<'e, T: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        if let Some(wanted) = error.downcast_ref::<T>() {
            found = Some(wanted);
        }
        // What an `io::Error` holds is not among its sources.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::name_server;

    #[test]
    fn the_first_name_server_is_named() {
        assert_eq!(name_server("search a.b\nnameserver 10.0.0.1\nnameserver 10.0.0.2\n"), "10.0.0.1:53");
        assert_eq!(name_server("nameserver  fd00::1 # local\n"), "[fd00::1]:53");
        assert_eq!(name_server("# nameserver 1.1.1.1\n"), "127.0.0.1:53");
    }
}
