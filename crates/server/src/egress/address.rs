//! Which addresses are public. Pure tables after the IANA special-purpose registries; no I/O.
//!
//! IPv4 is public unless listed here; IPv6 is public only inside `2000::/3`, and there unless listed. A form
//! of IPv6 that carries an IPv4 address is judged by what it carries, or refused as a whole where nobody
//! needs it any more.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Anyone can reach it.
    Public,
    /// Only from inside: an operator may allow it by name.
    Inside(&'static str),
    /// No webhook lives there: an operator must allow the very address.
    Nowhere(&'static str),
}

use Reach::{Inside, Nowhere, Public};

const V4: &[([u8; 4], u8, Reach)] = &[
    ([0, 0, 0, 0], 8, Nowhere("unspecified")),
    ([10, 0, 0, 0], 8, Inside("private")),
    ([100, 64, 0, 0], 10, Inside("carrier-grade NAT")),
    ([127, 0, 0, 0], 8, Inside("loopback")),
    // Azure's platform address: public by number only.
    ([168, 63, 129, 16], 32, Nowhere("cloud metadata")),
    // With 169.254.169.254, the metadata service of most clouds.
    ([169, 254, 0, 0], 16, Nowhere("link-local")),
    ([172, 16, 0, 0], 12, Inside("private")),
    ([192, 0, 0, 0], 24, Nowhere("reserved")),
    ([192, 0, 2, 0], 24, Nowhere("documentation")),
    ([192, 88, 99, 0], 24, Nowhere("6to4 relay")),
    ([192, 168, 0, 0], 16, Inside("private")),
    ([198, 18, 0, 0], 15, Nowhere("benchmarking")),
    ([198, 51, 100, 0], 24, Nowhere("documentation")),
    ([203, 0, 113, 0], 24, Nowhere("documentation")),
    ([224, 0, 0, 0], 4, Nowhere("multicast")),
    ([255, 255, 255, 255], 32, Nowhere("broadcast")),
    ([240, 0, 0, 0], 4, Nowhere("reserved")),
];

/// The first match counts: the last row catches everything outside the global unicast block.
const V6: &[(Ipv6Addr, u8, Reach)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, Nowhere("unspecified")),
    (Ipv6Addr::LOCALHOST, 128, Inside("loopback")),
    (Ipv6Addr::UNSPECIFIED, 96, Nowhere("IPv4-compatible")),
    // The metadata service of AWS.
    (v6(0xfd00, 0xec2, 0x254), 128, Nowhere("cloud metadata")),
    (v6(0xfc00, 0, 0), 7, Inside("unique local")),
    (v6(0xfe80, 0, 0), 10, Nowhere("link-local")),
    (v6(0xff00, 0, 0), 8, Nowhere("multicast")),
    (v6(0x2001, 0, 0), 32, Nowhere("Teredo")),
    (v6(0x2001, 0, 0), 23, Nowhere("reserved")),
    (v6(0x2001, 0xdb8, 0), 32, Nowhere("documentation")),
    (v6(0x2002, 0, 0), 16, Nowhere("6to4")),
    (v6(0x3fff, 0, 0), 20, Nowhere("documentation")),
    (v6(0x2000, 0, 0), 3, Public),
    (Ipv6Addr::UNSPECIFIED, 0, Nowhere("reserved")),
];

/// `first:second::last`.
const fn v6(first: u16, second: u16, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, last)
}

/// Who can reach `address`.
pub(super) fn reach(address: IpAddr) -> Reach {
    match plain(address) {
        IpAddr::V4(address) => V4
            .iter()
            .find(|(network, bits, _)| in_v4(address, Ipv4Addr::from(*network), *bits))
            .map_or(Public, |(_, _, reach)| *reach),
        IpAddr::V6(address) => V6
            .iter()
            .find(|(network, bits, _)| in_v6(address, *network, *bits))
            .map_or(Nowhere("reserved"), |(_, _, reach)| *reach),
    }
}

/// The address that packets end up at: IPv4 where an IPv6 form only carries one (`::ffff:0:0/96`, and NAT64
/// `64:ff9b::/96`, which is how IPv6-only networks see the public IPv4 world).
pub(super) fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let [.., a, b, c, d] = v6.octets();
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => {
            Ipv4Addr::new(a, b, c, d).into()
        }
        _ => address,
    }
}

fn in_v4(address: Ipv4Addr, network: Ipv4Addr, bits: u8) -> bool {
    let differs = address.to_bits() ^ network.to_bits();
    differs.leading_zeros() >= u32::from(bits)
}

fn in_v6(address: Ipv6Addr, network: Ipv6Addr, bits: u8) -> bool {
    let differs = address.to_bits() ^ network.to_bits();
    differs.leading_zeros() >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Reach {
        reach(text.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:200::1",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(of(text), Public, "{text}");
        }
    }

    #[test]
    fn inside_addresses_are_told_apart() {
        for (text, kind) in [
            ("10.0.0.1", "private"),
            ("172.16.0.1", "private"),
            ("172.31.255.255", "private"),
            ("192.168.1.1", "private"),
            ("100.64.0.1", "carrier-grade NAT"),
            ("100.100.100.200", "carrier-grade NAT"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("::1", "loopback"),
            ("fc00::1", "unique local"),
            ("fdff::1", "unique local"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:10.1.2.3", "private"),
            ("64:ff9b::7f00:1", "loopback"),
            ("64:ff9b::c0a8:101", "private"),
        ] {
            assert_eq!(of(text), Inside(kind), "{text}");
        }
    }

    #[test]
    fn addresses_where_no_webhook_lives_are_told_apart() {
        for (text, kind) in [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("169.254.169.254", "link-local"),
            ("::ffff:169.254.169.254", "link-local"),
            ("64:ff9b::a9fe:a9fe", "link-local"),
            ("168.63.129.16", "cloud metadata"),
            ("192.0.0.192", "reserved"),
            ("192.0.2.1", "documentation"),
            ("198.18.0.1", "benchmarking"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.7", "documentation"),
            ("203.0.113.7", "documentation"),
            ("224.0.0.1", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::7f00:1", "IPv4-compatible"),
            ("::169.254.169.254", "IPv4-compatible"),
            ("fd00:ec2::254", "cloud metadata"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("fec0::1", "reserved"),
            ("ff02::1", "multicast"),
            ("2001::1", "Teredo"),
            ("2001:0:7f00:1::", "Teredo"),
            ("2001:2::1", "reserved"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::1", "6to4"),
            ("2002:808:808::1", "6to4"),
            ("3fff::1", "documentation"),
            ("64:ff9b:1::1", "reserved"),
            ("100::1", "reserved"),
            ("5f00::1", "reserved"),
        ] {
            assert_eq!(of(text), Nowhere(kind), "{text}");
        }
    }
}
