//! Which addresses the URLs of requests may lead to.
//!
//! A tenant names URLs, and the controller fetches them from where it stands: its own pod, its node's metadata server, and
//! networks that the tenant cannot reach. So only public addresses are allowed, unless the administrator allows more.

use std::net::IpAddr;
use std::sync::Arc;

use pintle::registry::address::{AddressCheck, NOT_PUBLIC};

/// The addresses that are allowed besides public ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// Whether private networks are allowed; loopback and link-local addresses are not.
    private: bool,
    networks: Arc<Vec<Network>>,
    /// Host names whose addresses are allowed, whatever they are.
    hosts: Arc<Vec<String>>,
}

/// A network, as an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

impl AddressRules {
    /// Parses the value of `--allow-private-network`: `false`, `true` for private networks, or a list of networks
    /// (`10.96.0.0/12`), addresses and host names.
    ///
    /// # Errors
    /// Which entry is wrong.
    pub fn parse(text: &str) -> Result<AddressRules, String> {
        let mut rules = AddressRules::default();
        let (mut networks, mut hosts) = (Vec::new(), Vec::new());
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            match entry {
                "true" => rules.private = true,
                "false" => {}
                network if network.contains('/') || network.parse::<IpAddr>().is_ok() => {
                    networks.push(Network::parse(network)?);
                }
                host if host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)) => {
                    hosts.push(normalized(host));
                }
                other => {
                    return Err(format!("`{other}` is neither a network, nor an address, nor a host name"));
                }
            }
        }
        rules.networks = Arc::new(networks);
        rules.hosts = Arc::new(hosts);
        Ok(rules)
    }

    /// Allows every address, this machine included: for tests, and for somebody who tries the controller.
    pub fn any() -> AddressRules {
        let all = |address: IpAddr| Network { address, prefix: 0 };
        let networks = vec![all(IpAddr::from([0; 4])), all(IpAddr::from([0; 16]))];
        AddressRules { networks: Arc::new(networks), ..AddressRules::default() }
    }

    /// Whether an address of a host may be connected to.
    pub fn allow(&self, host: &str, address: IpAddr) -> bool {
        // An IPv4 address in the form of an IPv6 address is the same address.
        let address = address.to_canonical();
        pintle::lua::is_public(address)
            || self.private && is_private(address)
            || self.networks.iter().any(|network| network.contains(address))
            || self.hosts.contains(&normalized(host))
    }

    /// The check for connections.
    pub fn check(&self) -> AddressCheck {
        let rules = self.clone();
        AddressCheck::new(move |host, address| rules.allow(host, address))
    }
}

/// Adds to an error about a refused address what can be done about it.
pub(crate) fn with_advice(error: String) -> String {
    match error.contains(NOT_PUBLIC) {
        true => format!("{error}; the controller's flag --allow-private-network allows it"),
        false => error,
    }
}

fn normalized(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether an address belongs to a private network: of RFC 1918, of a carrier, or unique local.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            address.is_private() || (a == 100 && (64..=127).contains(&b))
        }
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

impl Network {
    fn parse(text: &str) -> Result<Network, String> {
        let wrong = || format!("`{text}` is not a network such as 10.96.0.0/12");
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = prefix.map_or(Ok(longest), str::parse).map_err(|_| wrong())?;
        if prefix > longest {
            return Err(wrong());
        }
        Ok(Network { address, prefix })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or_default();
        self.address.is_ipv4() == address.is_ipv4() && bits(self.address) & mask == bits(address) & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &str, host: &str, address: &str) -> bool {
        AddressRules::parse(rules).expect("good rules").allow(host, address.parse().expect("an address"))
    }

    #[test]
    fn only_public_addresses_are_allowed_by_default() {
        for rules in ["", "false"] {
            assert!(allowed(rules, "example.com", "93.184.216.34"));
            for address in ["127.0.0.1", "::1", "169.254.169.254", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1"] {
                assert!(!allowed(rules, "example.com", address), "{address}");
            }
        }
    }

    #[test]
    fn private_networks_do_not_include_the_machine_and_its_link() {
        for address in ["10.0.0.1", "172.20.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"] {
            assert!(allowed("true", "a", address), "{address}");
        }
        for address in ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "::ffff:127.0.0.1"] {
            assert!(!allowed("true", "a", address), "{address}");
        }
    }

    #[test]
    fn networks_and_hosts_are_allowed_by_name() {
        let rules = "10.96.0.0/12, 127.0.0.1,fd00::/8,Charts.example.com";
        for address in ["10.96.0.1", "10.111.255.255", "127.0.0.1", "fd12::1"] {
            assert!(allowed(rules, "a", address), "{address}");
        }
        for address in ["10.112.0.1", "127.0.0.2", "fe80::1", "192.168.1.1"] {
            assert!(!allowed(rules, "a", address), "{address}");
            assert!(allowed(rules, "charts.example.com.", address), "{address}");
        }
        assert!(AddressRules::any().allow("", "::1".parse().expect("an address")));
    }

    #[test]
    fn wrong_entries_are_named() {
        for wrong in ["10.0.0.0/33", "10.0.0/8", "fd00::/129", "a b", "http://x", "10.0.0.0/x"] {
            let error = AddressRules::parse(wrong).expect_err("it is wrong");
            assert!(error.contains(wrong), "{error}");
        }
    }
}
