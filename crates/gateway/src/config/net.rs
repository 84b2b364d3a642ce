//! Networks and hosts: whose word is believed, and whom webhooks may reach.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use super::value::from_text;

/// A network: `10.0.0.0/8`, `::1`, `192.168.1.7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether `address` is in this network. An IPv4 address written as IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix))
                    .unwrap_or(0);
                u32::from(net) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix))
                    .unwrap_or(0);
                u128::from(net) & mask == u128::from(address) & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a network: write an address or a range, such as 127.0.0.1 or 10.0.0.0/8"
            )
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.trim().parse().map_err(|_| wrong())?,
            None => bits,
        };
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Where webhooks may go that they otherwise may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushTarget {
    /// Any address of a network.
    Network(Network),
    /// A host by name, in lower case, whatever it resolves to.
    Host(String),
    /// All hosts below a domain: `*.internal` holds `.internal`.
    Below(String),
}

impl PushTarget {
    /// Whether this names `host`, as it stands in a URL.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        match self {
            Self::Network(network) => host
                .trim_matches(['[', ']'])
                .parse()
                .is_ok_and(|address| network.contains(address)),
            Self::Host(name) => host.eq_ignore_ascii_case(name),
            Self::Below(domain) => {
                host.len() > domain.len() && host.to_ascii_lowercase().ends_with(domain)
            }
        }
    }
}

impl FromStr for PushTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(network) = text.parse() {
            return Ok(Self::Network(network));
        }
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let label = |label: &str| {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !label.is_empty() && label.chars().all(word)
        };
        let number = name.chars().all(|c| c.is_ascii_digit() || c == '.');
        if number || !name.split('.').all(label) {
            return Err(format!(
                "`{text}` is neither a host nor a network: write it without scheme and port, \
                 such as hooks.internal, *.internal, 127.0.0.1 or 10.0.0.0/8"
            ));
        }
        let name = name.to_ascii_lowercase();
        Ok(if below {
            Self::Below(format!(".{name}"))
        } else {
            Self::Host(name)
        })
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for PushTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^[0-9a-fA-F.:]+(/[0-9]+)?$|\$\{",
            "description": "An IP address or a range: `127.0.0.1`, `10.0.0.0/8`, `::1`."
        })
    }
}

impl JsonSchema for PushTarget {
    fn schema_name() -> Cow<'static, str> {
        "PushTarget".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(\*\.)?[0-9a-zA-Z._:-]+(/[0-9]+)?$|\$\{",
            "description": "A host (`hooks.internal`, `*.internal`), an IP address or a range (`10.0.0.0/8`)."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_their_addresses() {
        for (network, address, inside) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
        ] {
            let parsed: Network = network.parse().unwrap();
            assert_eq!(
                parsed.contains(address.parse().unwrap()),
                inside,
                "{network} {address}"
            );
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "host", "1.2.3.4/x"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn push_targets_name_hosts() {
        for (target, host, named) in [
            ("localhost", "LOCALHOST", true),
            ("localhost", "localhost.", true),
            ("localhost", "notlocalhost", false),
            ("*.internal", "a.b.internal", true),
            ("*.internal", "internal", false),
            ("*.internal", "evilinternal", false),
            ("127.0.0.0/8", "127.0.0.1", true),
            ("::1", "[::1]", true),
            ("10.0.0.0/8", "ten.example", false),
        ] {
            let parsed: PushTarget = target.parse().unwrap();
            assert_eq!(parsed.names(host), named, "{target} {host}");
        }
        for text in [
            "",
            "http://x",
            "host:80",
            "*",
            "*.",
            "a..b",
            "1.2.3",
            "10.0.0.0/99",
        ] {
            assert!(text.parse::<PushTarget>().is_err(), "{text}");
        }
    }
}
