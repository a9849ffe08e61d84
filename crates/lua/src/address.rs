//! Public IP addresses: the rule that keeps scripts out of private networks (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is public: not loopback, not private or link-local (where clouds serve instance metadata), and
/// not reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = match (a, b, c) {
        // This network, loopback, private networks, carrier-grade NAT, link-local.
        (0 | 10 | 127, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) | (169, 254, _) => true,
        // Protocol assignments, documentation, benchmarks, relays.
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (198, 18 | 19, _) | (192, 88, 99) => true,
        // Multicast and everything above.
        (224..=255, ..) => true,
        _ => false,
    };
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses that embed an IPv4 address are judged by it: mapped, compatible, NAT64, 6to4.
    let carried = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => carried(high, low),
        [0x2002, high, low, ..] => carried(high, low),
        // Documentation, Teredo and the like, benchmarks.
        [0x2001, 0x0db8 | 0..=0x01ff, ..] | [0x3fff, ..] => false,
        // Only 2000::/3 is allocated as global unicast; everything else is local or reserved.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_distinguished_from_public_ones() {
        let public =
            ["1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"];
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ];
        for (addresses, expected) in [(&public[..], true), (&private[..], false)] {
            for address in addresses {
                assert_eq!(is_public(address.parse().expect("an address")), expected, "{address}");
            }
        }
    }
}
