//! The operator's exceptions: targets that may be private and may do without TLS.

use std::net::IpAddr;

use reqwest::Url;

use super::address;
use crate::net::Cidr;

/// One exception: a host name (`hooks.corp.example`, `*.corp.example`), an address (`10.0.0.7`, `::1`) or a
/// network (`10.0.0.0/8`, `fd00::/8`), each for any port or for one (`localhost:9000`, `[::1]:9000`,
/// `10.0.0.0/8:8443`, `[fd00::/8]:8443`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Name(String),
    /// With its leading dot: what a name must end with.
    Below(String),
    Network(Cidr),
}

impl Allow {
    /// Reads one exception.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = split_port(text.trim())?;
        let what = if let Some(suffix) = host.strip_prefix("*.") {
            What::Below(format!(".{}", name(suffix)?))
        } else if host.contains('/') {
            What::Network(Cidr::parse(host)?)
        } else if let Ok(address) = host.parse::<IpAddr>() {
            What::Network(Cidr::parse(&address::plain(address).to_string())?)
        } else {
            What::Name(name(host)?)
        };
        Ok(Self { what, port })
    }

    /// Whether this names the host `name`, as it is written in a URL.
    pub(super) fn names(&self, name: &str, port: Option<u16>) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        self.is_for(port)
            && match &self.what {
                What::Name(own) => own == name,
                What::Below(suffix) => name.ends_with(suffix) && name.len() > suffix.len(),
                What::Network(_) => false,
            }
    }

    /// Whether this holds `address`.
    pub(super) fn holds(&self, address: IpAddr, port: Option<u16>) -> bool {
        match self.what {
            What::Network(network) => {
                let found = network.contains(address) || network.contains(address::plain(address));
                self.is_for(port) && found
            }
            What::Name(_) | What::Below(_) => false,
        }
    }

    /// The one port this is for.
    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    /// `None` is a port that no exception names.
    fn is_for(&self, port: Option<u16>) -> bool {
        self.port.is_none() || self.port == port
    }
}

/// `host`, `host:port`, `v6`, `[v6]` or `[v6]:port`.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest
            .split_once(']')
            .ok_or_else(|| format!("{text:?} lacks a closing bracket"))?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(format!("{text:?} has something after the bracket")),
        }
    } else {
        match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (text, None),
        }
    };
    let port = port
        .map(|port| match port.parse::<u16>() {
            Ok(0) | Err(_) => Err(format!("{port:?} is not a port")),
            Ok(port) => Ok(port),
        })
        .transpose()?;
    Ok((host, port))
}

/// A name as URLs have it: lower case, punycode, no dot at the end.
fn name(text: &str) -> Result<String, String> {
    let plain = text.strip_suffix('.').unwrap_or(text);
    let odd = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if plain.is_empty() || plain.starts_with('.') || plain.contains(odd) {
        return Err(format!("{text:?} is neither a host name nor an address"));
    }
    let url = Url::parse(&format!("https://{plain}/"))
        .map_err(|error| format!("{text:?} is not a host name: {error}"))?;
    url.domain()
        .map(str::to_owned)
        .ok_or_else(|| format!("{text:?} is an address in disguise: write it in full"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(text: &str) -> Allow {
        Allow::parse(text).unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn names_match_whole_and_suffixes_match_below() {
        assert!(allow("Hooks.Example").names("hooks.example", None));
        assert!(allow("hooks.example").names("hooks.example.", None));
        assert!(!allow("hooks.example").names("a.hooks.example", None));
        assert!(allow("*.example").names("a.b.example", None));
        assert!(!allow("*.example").names("example", None));
        assert!(!allow("*.example").names("notexample", None));
        assert!(allow("bücher.example").names("xn--bcher-kva.example", None));
    }

    #[test]
    fn networks_hold_their_addresses_in_every_form() {
        assert!(allow("10.0.0.0/8").holds(ip("10.255.0.1"), None));
        assert!(!allow("10.0.0.0/8").holds(ip("11.0.0.1"), None));
        assert!(allow("10.0.0.0/8").holds(ip("::ffff:10.0.0.1"), None));
        assert!(allow("127.0.0.1").holds(ip("127.0.0.1"), None));
        assert!(!allow("127.0.0.1").holds(ip("127.0.0.2"), None));
        assert!(allow("fd00::/8").holds(ip("fd12::1"), None));
        assert!(allow("::1").holds(ip("::1"), None));
        assert!(allow("0.0.0.0/0").holds(ip("192.168.0.1"), None));
        assert!(!allow("0.0.0.0/0").holds(ip("::1"), None));
        assert!(allow("::ffff:10.0.0.1").holds(ip("10.0.0.1"), None));
    }

    #[test]
    fn a_port_narrows() {
        for text in ["a.example:9000", "*.example:9000"] {
            assert!(allow(text).names("a.example", Some(9000)), "{text}");
            assert!(!allow(text).names("a.example", Some(9001)), "{text}");
            assert!(!allow(text).names("a.example", None), "{text}");
        }
        for text in ["[::1]:9000", "[::/0]:9000"] {
            assert!(allow(text).holds(ip("::1"), Some(9000)), "{text}");
            assert!(!allow(text).holds(ip("::1"), Some(1)), "{text}");
        }
        assert!(allow("10.0.0.0/8:9000").holds(ip("10.0.0.1"), Some(9000)));
        assert!(allow("10.0.0.0/8").holds(ip("10.0.0.1"), Some(9000)));
    }

    #[test]
    fn refuses_what_is_no_target() {
        for text in [
            "",
            "*",
            "*.",
            ".",
            ".example",
            "http://a.example",
            "a.example/path",
            "a b",
            "user@a.example",
            "a.example:0",
            "a.example:x",
            "a.example:65536",
            "10.0.0.0/33",
            "10.0.0/8",
            "[::1",
            "[::1]x",
            "127.1",
            "0x7f000001",
            "2130706433",
        ] {
            assert!(Allow::parse(text).is_err(), "{text:?}");
        }
    }
}
