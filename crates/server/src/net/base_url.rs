//! Where callers reach us: from configuration, else from a proxy we trust, else from what they typed.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{HOST, HeaderMap};
use hyper::http::request::Parts;

use super::{Cidr, Peer};

/// How our own address is found out.
#[derive(Debug, Clone, Default)]
pub struct BaseUrl {
    /// The address, if the operator says it.
    pub public_url: Option<Arc<str>>,
    /// Proxies whose `X-Forwarded-*` headers are believed.
    pub trusted_proxies: Vec<Cidr>,
}

impl BaseUrl {
    /// The address this caller used, without a trailing slash.
    pub(crate) fn of(&self, head: &Parts, peer: &Peer) -> Arc<str> {
        if let Some(url) = &self.public_url {
            return Arc::clone(url);
        }
        let trusted = self.trusts(peer.address.ip());
        let forwarded = |name| trusted.then(|| first_value(&head.headers, name)).flatten();
        let host = forwarded("x-forwarded-host")
            .or_else(|| {
                head.uri
                    .authority()
                    .map(hyper::http::uri::Authority::as_str)
            })
            .or_else(|| head.headers.get(HOST)?.to_str().ok())
            .filter(|host| is_host(host));
        let scheme = forwarded("x-forwarded-proto")
            .filter(|scheme| matches!(*scheme, "http" | "https"))
            .unwrap_or(match &peer.encrypted {
                Some(_) => "https",
                None => "http",
            });
        let prefix = forwarded("x-forwarded-prefix")
            .filter(|prefix| prefix.starts_with('/') && !prefix.starts_with("//"))
            .unwrap_or("")
            .trim_end_matches('/');
        match host {
            Some(host) => format!("{scheme}://{host}{prefix}").into(),
            None => format!("{scheme}://{}{prefix}", peer.local).into(),
        }
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies
            .iter()
            .any(|range| range.contains(address))
    }
}

/// The first of a comma list: the proxy nearest to the client wrote it.
fn first_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?;
    value.split(',').next().map(str::trim)
}

/// Whether a `Host` can stand in a URL: no path, no user, no spaces.
fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host.len() <= 255
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Encrypted, LastFingerprint};

    fn base(config: &BaseUrl, headers: &[(&str, &str)]) -> String {
        reached(config, headers, None)
    }

    fn reached(config: &BaseUrl, headers: &[(&str, &str)], encrypted: Option<Encrypted>) -> String {
        let mut request = hyper::Request::builder().uri("/a2a/echo");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let peer = Peer {
            address: "10.0.0.9:4000".parse().unwrap(),
            local: "127.0.0.1:7420".parse().unwrap(),
            encrypted,
            last_fingerprint: LastFingerprint::default(),
        };
        config.of(&head, &peer).to_string()
    }

    const FORWARDED: [(&str, &str); 4] = [
        ("host", "inner:7420"),
        ("x-forwarded-host", "agents.example.com, inner"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-prefix", "/team/"),
    ];

    #[test]
    fn the_host_header_counts_when_nothing_else_is_known() {
        let config = BaseUrl::default();
        assert_eq!(
            base(&config, &[("host", "localhost:7420")]),
            "http://localhost:7420"
        );
        assert_eq!(
            base(&config, &[("host", "[::1]:7420")]),
            "http://[::1]:7420"
        );
    }

    #[test]
    fn who_came_by_tls_comes_back_by_tls() {
        let encrypted = || Some(Encrypted { certificate: None });
        let host = [("host", "localhost:7420")];
        let reached = |config: &_, headers: &_| reached(config, headers, encrypted());
        assert_eq!(
            reached(&BaseUrl::default(), &host),
            "https://localhost:7420"
        );
        assert_eq!(reached(&BaseUrl::default(), &[]), "https://127.0.0.1:7420");
        let config = BaseUrl {
            trusted_proxies: vec![Cidr::parse("10.0.0.0/8").unwrap()],
            ..BaseUrl::default()
        };
        let headers = [host[0], ("x-forwarded-proto", "http")];
        assert_eq!(reached(&config, &headers), "http://localhost:7420");
    }

    #[test]
    fn forwarded_headers_count_only_from_trusted_proxies() {
        assert_eq!(base(&BaseUrl::default(), &FORWARDED), "http://inner:7420");
        let config = BaseUrl {
            trusted_proxies: vec![Cidr::parse("10.0.0.0/8").unwrap()],
            ..BaseUrl::default()
        };
        assert_eq!(base(&config, &FORWARDED), "https://agents.example.com/team");
    }

    #[test]
    fn the_public_url_beats_everything() {
        let config = BaseUrl {
            public_url: Some("https://a.example".into()),
            trusted_proxies: vec![Cidr::parse("0.0.0.0/0").unwrap()],
        };
        assert_eq!(base(&config, &FORWARDED), "https://a.example");
    }

    #[test]
    fn a_host_that_could_forge_a_url_is_ignored() {
        for host in ["evil.example/path", "user@evil.example", "a b", ""] {
            let config = BaseUrl::default();
            assert_eq!(
                base(&config, &[("host", host)]),
                "http://127.0.0.1:7420",
                "{host}"
            );
        }
    }
}
