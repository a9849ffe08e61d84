//! Why a request failed, in the words of Go's HTTP client: scripts and people know Helm's errors by them.

use std::error::Error as StdError;
use std::io;

use http::Uri;
use pintle_time::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{CertificateError, InvalidMessage};

use crate::transport::innermost;

/// Go's error text for a request that got no response.
pub(crate) async fn of(error: &hyper_util::client::legacy::Error, uri: &Uri) -> String {
    if let Some(cause) = find::<rustls::Error>(error) {
        return tls(cause, uri);
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
        // The peer closed the connection during the TLS handshake.
        Some(io::ErrorKind::UnexpectedEof) => return "EOF".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => {
            return "read: connection reset by peer".to_owned();
        }
        _ => innermost(error),
    };
    format!("dial tcp {address}: {reason}")
}

/// The text of an I/O error as Go has it: without the OS error code that Rust appends.
pub(crate) fn of_file(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    let mut letters = reason.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect::<String>()).unwrap_or_default()
}

/// Go's error text for a port that is too large, which hyper treats as absent.
pub(crate) fn invalid_port(authority: &str) -> Option<String> {
    let (_, port) = authority.rsplit_once(':')?;
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && port.parse::<u16>().is_err()).then(|| format!("dial tcp: address {port}: invalid port"))
}

/// Go's error text for a host that cannot be resolved. It names the DNS server that was asked.
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

/// Go's error text for a failure after the connection was established.
fn exchange(error: &(dyn StdError + 'static), kind: Option<io::ErrorKind>) -> String {
    if let Some(cause) = find::<hyper::Error>(error) {
        if cause.is_incomplete_message() {
            return "EOF".to_owned();
        }
        if cause.is_parse() {
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
    match error {
        rustls::Error::InvalidCertificate(problem) => of_certificate(problem, host),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        other => of_alert(other),
    }
}

/// Go's error text for a rejected certificate.
pub(crate) fn of_certificate(problem: &CertificateError, host: &str) -> String {
    const DATES: &str = "certificate has expired or is not yet valid";
    let time = |time: &UnixTime| Timestamp::from_unix(i64::try_from(time.as_secs()).unwrap_or(i64::MAX), 0);
    let reason = match problem {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::ExpiredContext { time: now, not_after } => {
            format!("{DATES}: current time {} is after {}", time(now), time(not_after))
        }
        CertificateError::NotValidYetContext { time: now, not_before } => {
            format!("{DATES}: current time {} is before {}", time(now), time(not_before))
        }
        CertificateError::Expired | CertificateError::NotValidYet => DATES.to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => other_names(presented, host),
        CertificateError::NotValidForName => format!("certificate is not valid for {host}"),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::Other(other) => match other.0.to_string().as_str() {
            "UnsupportedCriticalExtension" => "unhandled critical extension".to_owned(),
            text => text.to_owned(),
        },
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {reason}")
}

/// Go's error text for a host name mismatch. Go lists only the SANs of the same kind: IP addresses or DNS names.
fn other_names(presented: &[String], host: &str) -> String {
    let of_kind = |kind: &str| {
        let names = presented.iter().filter_map(|name| name.strip_prefix(kind)?.strip_suffix(')'));
        names.map(|name| name.trim_matches('"')).collect::<Vec<_>>().join(", ")
    };
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    match of_kind(if is_address { "IpAddress(" } else { "DnsName(" }) {
        none if none.is_empty() && is_address => {
            format!("cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        none if none.is_empty() => {
            format!("certificate is not valid for any names, but wanted to match {host}")
        }
        names => format!("certificate is valid for {names}, not {host}"),
    }
}

/// Go's error text for a TLS alert.
pub(crate) fn of_alert(error: &rustls::Error) -> String {
    match error {
        rustls::Error::AlertReceived(alert) => {
            format!("remote error: tls: {}", alert_words(&format!("{alert:?}")))
        }
        other => other.to_string(),
    }
}

/// Go's name of a TLS alert, by the name that rustls has for it.
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

/// The innermost error of a type in the source chain.
fn find<'e, T: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        if let Some(wanted) = error.downcast_ref::<T>() {
            found = Some(wanted);
        }
        // `io::Error` does not report its inner error as source.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn names_that_a_certificate_does_not_have_are_told_as_go_tells_them() {
        let words = |names: &[&str], host: &str| {
            let problem = CertificateError::NotValidForNameContext {
                expected: ServerName::try_from(host.to_owned()).expect("a name"),
                presented: names.iter().map(|name| (*name).to_owned()).collect(),
            };
            let text = of_certificate(&problem, host);
            text.strip_prefix("tls: failed to verify certificate: x509: ")
                .expect("it is about that")
                .to_owned()
        };
        let names = ["DnsName(\"a.io\")", "DnsName(\"*.b.io\")", "IpAddress(127.0.0.1)"];
        assert_eq!(words(&names, "c.io"), "certificate is valid for a.io, *.b.io, not c.io");
        assert_eq!(words(&names, "127.0.0.2"), "certificate is valid for 127.0.0.1, not 127.0.0.2");
        assert_eq!(
            words(&names[..2], "127.0.0.2"),
            "cannot validate certificate for 127.0.0.2 because it doesn't contain any IP SANs"
        );
        assert_eq!(
            words(&names[2..], "a.io"),
            "certificate is not valid for any names, but wanted to match a.io"
        );
    }

    #[test]
    fn dates_of_certificates_are_told_as_go_tells_them() {
        let time = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let problem =
            CertificateError::ExpiredContext { time: time(1_800_000_000), not_after: time(1_700_000_000) };
        assert_eq!(
            of_certificate(&problem, "a.io"),
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time \
             2027-01-15T08:00:00Z is after 2023-11-14T22:13:20Z"
        );
    }

    #[test]
    fn the_first_name_server_is_named() {
        assert_eq!(name_server("search a.b\nnameserver 10.0.0.1\nnameserver 10.0.0.2\n"), "10.0.0.1:53");
        assert_eq!(name_server("nameserver  fd00::1 # local\n"), "[fd00::1]:53");
        assert_eq!(name_server("# nameserver 1.1.1.1\n"), "127.0.0.1:53");
    }
}
