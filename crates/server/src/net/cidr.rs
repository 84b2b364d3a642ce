//! Ranges of network addresses.

use std::net::{IpAddr, Ipv6Addr};

/// A range of addresses, such as `10.0.0.0/8` or `::1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Reads `address/bits`, or a single address.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| {
            format!("{text:?} is neither an address nor a range such as 10.0.0.0/8")
        })?;
        let width = if network.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= width)
                .ok_or_else(|| format!("{text:?}: the prefix must be 0 to {width}"))?,
        };
        Ok(Self { network, bits })
    }

    /// Whether the address lies in the range. IPv4-mapped IPv6 addresses count as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits =
            |value: u128, width: u8| value.checked_shr(u32::from(width - self.bits)).unwrap_or(0);
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                bits(u128::from(a.to_bits()), 32) == bits(u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => bits(a.to_bits(), 128) == bits(b.to_bits(), 128),
            _ => false,
        }
    }
}

/// What one address stands for where people are told apart by it: who has one address of IPv6 has all of its network.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_what_shares_the_prefix() {
        let contains = |range: &str, address: &str| {
            Cidr::parse(range)
                .unwrap()
                .contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("127.0.0.1", "::ffff:127.0.0.1"));
        assert!(contains("::/0", "fe80::1"));
        assert!(contains("0.0.0.0/0", "8.8.8.8"));
        assert!(!contains("fc00::/7", "2001:db8::1"));
    }

    #[test]
    fn says_what_is_wrong() {
        for text in ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/x"] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
