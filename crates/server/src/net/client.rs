//! Whose request is this? The other end of the connection, or, behind a proxy we trust, whom the proxy names.

use std::net::{IpAddr, SocketAddr};

use hyper::http::request::Parts;

use super::{BaseUrl, Peer};

const X_FORWARDED_FOR: &str = "x-forwarded-for";

impl BaseUrl {
    /// The address that a request comes from. Each proxy adds the one it was called from at the end, so the last one
    /// that is no proxy of ours counts: what stands before it may be anybody's invention.
    pub(crate) fn client(&self, head: &Parts, peer: &Peer) -> IpAddr {
        let mut nearest = peer.address.ip();
        if !self.trusts(nearest) {
            return nearest;
        }
        let lines = head.headers.get_all(X_FORWARDED_FOR).into_iter().rev();
        let named = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        for name in named {
            let Some(address) = read(name.trim()) else {
                // What stands further out is worth no more than this.
                return nearest;
            };
            nearest = address;
            if !self.trusts(nearest) {
                return nearest;
            }
        }
        nearest
    }
}

/// An address as proxies write it: some add the port.
fn read(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let bare: Result<IpAddr, _> = bare.unwrap_or(text).parse();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    bare.ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Cidr, LastFingerprint};

    fn client(trusted: &[&str], peer: &str, lines: &[&str]) -> String {
        let config = BaseUrl {
            public_url: None,
            trusted_proxies: trusted.iter().map(|t| Cidr::parse(t).unwrap()).collect(),
        };
        let mut request = hyper::Request::builder().uri("/");
        for line in lines {
            request = request.header(X_FORWARDED_FOR, *line);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let peer = Peer {
            address: peer.parse().unwrap(),
            local: "127.0.0.1:7420".parse().unwrap(),
            encrypted: None,
            last_fingerprint: LastFingerprint::default(),
        };
        config.client(&head, &peer).to_string()
    }

    #[test]
    fn nobody_but_a_trusted_proxy_is_believed() {
        let forged = ["198.51.100.7"];
        assert_eq!(client(&[], "10.0.0.9:1", &forged), "10.0.0.9");
        assert_eq!(client(&["10.0.0.8"], "10.0.0.9:1", &forged), "10.0.0.9");
        assert_eq!(
            client(&["10.0.0.0/8"], "10.0.0.9:1", &forged),
            "198.51.100.7"
        );
    }

    #[test]
    fn the_last_address_that_is_no_proxy_counts() {
        let trusted = ["10.0.0.0/8", "::1"];
        for (lines, found) in [
            (&[][..], "10.0.0.9"),
            (&["1.2.3.4, 198.51.100.7"], "198.51.100.7"),
            (&["1.2.3.4, 198.51.100.7, 10.0.0.2"], "198.51.100.7"),
            (
                &["1.2.3.4", "198.51.100.7", "10.0.0.2 , ::1"],
                "198.51.100.7",
            ),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            (&["198.51.100.7:4711"], "198.51.100.7"),
            (&["[2001:db8::7]:4711"], "2001:db8::7"),
            (&["[2001:db8::7]"], "2001:db8::7"),
            (&["1.2.3.4, unknown"], "10.0.0.9"),
            (&["1.2.3.4, unknown, 10.0.0.2"], "10.0.0.2"),
            (&["1.2.3.4,"], "10.0.0.9"),
            (&[""], "10.0.0.9"),
        ] {
            assert_eq!(client(&trusted, "10.0.0.9:1", lines), found, "{lines:?}");
        }
    }
}
