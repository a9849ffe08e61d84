//! Selects the proxy for a server by the rules of Go's `httpproxy`.

use std::net::IpAddr;

use pintle_tree::redact::redacted;

use crate::connect::Proxies;
use crate::error::{Error, Result};

/// Returns the proxy for a server: that of its kubeconfig, or else that of the environment.
pub(crate) fn choose(configured: &str, server: &str, proxies: &Proxies) -> Result<Option<http::Uri>> {
    if !configured.is_empty() {
        return parse(configured).map(Some);
    }
    let Ok(server) = server.parse::<http::Uri>() else { return Ok(None) };
    let plain = server.scheme_str() == Some("http");
    let proxy = if plain { &proxies.http } else { &proxies.https };
    let port = server.port_u16().unwrap_or(if plain { 80 } else { 443 });
    if proxy.is_empty() || is_direct(server.host().unwrap_or_default(), port, &proxies.none) {
        return Ok(None);
    }
    if proxy.contains("://") { parse(proxy).map(Some) } else { parse(&format!("http://{proxy}")).map(Some) }
}

fn parse(text: &str) -> Result<http::Uri> {
    let uri: http::Uri = text
        .parse()
        .map_err(|error| Error::Configuration(format!("could not parse: {}: {error}", redacted(text))))?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5") => Ok(uri),
        scheme => Err(Error::Configuration(format!(
            "unsupported scheme {:?}, must be http, https, or socks5",
            scheme.unwrap_or_default()
        ))),
    }
}

/// Whether `NO_PROXY` excludes a host.
fn is_direct(host: &str, port: u16, none: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let ip = host.parse::<IpAddr>().ok();
    // Go never sends requests to this machine through a proxy, whatever `NO_PROXY` says.
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return true;
    }
    none.split(',').any(|entry| matches(entry.trim(), &host, ip, port))
}

fn matches(entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if entry.is_empty() {
        return false;
    }
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/')
        && let (Ok(network), Ok(bits)) = (network.parse(), bits.parse())
    {
        return ip.is_some_and(|ip| contains(network, bits, ip));
    }
    let (name, wanted) = match entry.rsplit_once(':') {
        Some((name, wanted)) if entry.parse::<IpAddr>().is_err() => (name, wanted.parse::<u16>().ok()),
        _ => (entry, None),
    };
    if wanted.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
    if let Ok(address) = name.parse::<IpAddr>() {
        return ip == Some(address);
    }
    // A leading dot matches subdomains only.
    let (domain, exact) = match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
        Some(domain) => (domain, false),
        None => (name.as_str(), true),
    };
    (exact && host == domain) || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

fn contains(network: IpAddr, bits: u32, ip: IpAddr) -> bool {
    let (network, ip, width) = match (network, ip) {
        (IpAddr::V4(network), IpAddr::V4(ip)) => {
            (u128::from(network.to_bits()), u128::from(ip.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) => (network.to_bits(), ip.to_bits(), 128),
        _ => return false,
    };
    if bits > width {
        return false;
    }
    let shift = width - bits;
    network.checked_shr(shift).unwrap_or(0) == ip.checked_shr(shift).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, none: &str) -> Option<String> {
        let proxies = Proxies { https: "proxy:3128".into(), http: String::new(), none: none.into() };
        choose("", server, &proxies).expect("good").map(|uri| uri.to_string())
    }

    #[test]
    fn the_environment_leads_through_its_proxy_but_for_exceptions() {
        assert_eq!(chosen("https://k8s.example.com:6443", "").as_deref(), Some("http://proxy:3128/"));
        assert_eq!(chosen("http://k8s.example.com", ""), None);
        assert_eq!(chosen("https://127.0.0.1:6443", ""), None);
        for none in ["example.com", ".example.com", "*", "a, k8s.example.com:6443"] {
            assert_eq!(chosen("https://k8s.example.com:6443", none), None, "{none}");
        }
        for none in ["ample.com", ".k8s.example.com", "k8s.example.com:1", "10.0.0.0/8"] {
            assert!(chosen("https://k8s.example.com:6443", none).is_some(), "{none}");
        }
        assert_eq!(chosen("https://10.1.2.3", "10.0.0.0/8"), None);
        assert!(chosen("https://11.1.2.3", "10.0.0.0/8,0.0.0.0/99").is_some());
        assert_eq!(chosen("https://11.1.2.3", "0.0.0.0/0"), None);
        assert_eq!(chosen("https://[fd00::1]:6443", "fd00::/8"), None);
    }

    #[test]
    fn the_configured_proxy_must_be_of_a_known_kind() {
        let none = Proxies { none: "*".into(), ..Proxies::default() };
        assert!(choose("socks5://p:1", "https://a", &none).expect("good").is_some());
        let error = choose("ftp://p:1", "https://a", &none).expect_err("unknown");
        assert_eq!(error.to_string(), "unsupported scheme \"ftp\", must be http, https, or socks5");
    }
}
