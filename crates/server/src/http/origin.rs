//! Does a web page call that should not? Browsers let every page send requests to every address, also to this machine's
//! own, and tell only afterwards that it may not see the answer.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::header::{HOST, HeaderValue, ORIGIN};
use switchboard_types::{Error, ErrorKind};

use super::{Cors, Head};
use crate::net::{BaseUrl, Peer};

/// Refuses what a foreign page has sent.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) cors: Cors,
    /// Everyone may call, or one agent of all: then nobody may come to this machine's own address by another name.
    pub(crate) by_name: AtomicBool,
}

impl Pages {
    /// The origin of the page that sent a request, if one did.
    ///
    /// # Errors
    ///
    /// If it comes from a page of elsewhere, or by a name that is not ours.
    pub(crate) fn check<'a>(
        &self,
        head: &'a Head,
        peer: &Peer,
        base_url: &BaseUrl,
    ) -> Result<Option<&'a HeaderValue>, Error> {
        if self.by_name.load(Ordering::Relaxed) && peer.local.ip().to_canonical().is_loopback() {
            let host = host(head);
            let fine = host.is_none_or(|host| is_here(host) || is_public(host, base_url));
            if !fine && !base_url.trusts(peer.address.ip()) {
                return Err(denied(
                    "unknown host name: use localhost, or set public_url",
                ));
            }
        }
        let Some(page) = head.headers.get(ORIGIN) else {
            return Ok(None);
        };
        let origin = page.to_str().unwrap_or_default();
        if self.cors.allows(origin) || is_ours(origin, head, peer, base_url) {
            return Ok(Some(page));
        }
        Err(denied(
            "requests from web pages of this origin are not allowed: add it to cors.origins to allow them",
        ))
    }
}

fn denied(message: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, message)
}

/// The host that a request asks for, as it is written; empty if it cannot be read.
fn host(head: &Head) -> Option<&str> {
    let authority = head.uri.authority().map(|authority| authority.as_str());
    authority.or_else(|| {
        let host = head.headers.get(HOST)?;
        Some(host.to_str().unwrap_or_default())
    })
}

/// A page that we have sent ourselves.
fn is_ours(origin: &str, head: &Head, peer: &Peer, base_url: &BaseUrl) -> bool {
    let Some(page) = authority(origin) else {
        return false;
    };
    let is_page = |host: &str| !host.is_empty() && host.eq_ignore_ascii_case(page);
    host(head).is_some_and(is_page) || authority(&base_url.of(head, peer)).is_some_and(is_page)
}

/// The names that browsers never look up.
fn is_here(host: &str) -> bool {
    // Nearly always: no need to take it apart.
    let rest = ["127.0.0.1", "localhost"].map(|here| host.strip_prefix(here));
    let mut rest = rest.into_iter().flatten();
    if rest.any(|port| port.is_empty() || port.starts_with(':')) {
        return true;
    }
    let name = name(host);
    let address: Result<IpAddr, _> = name.parse();
    match address {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let last = name.rsplit('.').next().unwrap_or_default();
            last.eq_ignore_ascii_case("localhost")
        }
    }
}

fn is_public(host: &str, base_url: &BaseUrl) -> bool {
    let public = base_url.public_url.as_deref().and_then(authority);
    public.is_some_and(|public| self::name(public).eq_ignore_ascii_case(name(host)))
}

/// Host and port of a URL.
fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    known.then(|| rest.split('/').next())?
}

/// A host without its port, and without the brackets of IPv6.
fn name(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::net::{Cidr, LastFingerprint};

    struct Scene {
        pages: Pages,
        base_url: BaseUrl,
        local: &'static str,
    }

    fn scene() -> Scene {
        Scene {
            pages: Pages {
                cors: Cors {
                    origins: vec![Arc::from("https://app.example")],
                    ..Cors::default()
                },
                by_name: AtomicBool::new(true),
            },
            base_url: BaseUrl::default(),
            local: "127.0.0.1:7420",
        }
    }

    impl Scene {
        fn lets_in(&self, headers: &[(&str, &str)]) -> bool {
            let mut request = hyper::Request::builder().uri("/a2a/echo");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            let peer = Peer {
                address: "127.0.0.1:4000".parse().unwrap(),
                local: self.local.parse().unwrap(),
                encrypted: None,
                last_fingerprint: LastFingerprint::default(),
            };
            self.pages.check(&head, &peer, &self.base_url).is_ok()
        }
    }

    #[test]
    fn this_machine_is_called_by_its_own_names_only() {
        let mut scene = scene();
        for (host, fine) in [
            ("localhost:7420", true),
            ("LOCALHOST", true),
            ("app.localhost:7420", true),
            ("127.0.0.1:7420", true),
            ("127.8.9.1", true),
            ("[::1]:7420", true),
            ("evil.example", false),
            ("evil.example:7420", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("notlocalhost", false),
            ("10.0.0.1:7420", false),
            ("agents.example.com", false),
            ("", false),
            ("\u{fc}", false),
        ] {
            assert_eq!(scene.lets_in(&[("host", host)]), fine, "{host}");
        }
        assert!(scene.lets_in(&[]), "no browser leaves it out");
        scene.base_url.public_url = Some("https://agents.example.com/team".into());
        assert!(scene.lets_in(&[("host", "agents.example.com:443")]));
        assert!(!scene.lets_in(&[("host", "evil.example")]));
    }

    #[test]
    fn elsewhere_and_behind_a_proxy_any_name_will_do() {
        let evil = [("host", "evil.example")];
        let mut beyond = scene();
        beyond.local = "10.0.0.1:7420";
        assert!(beyond.lets_in(&evil));
        let mut closed = scene();
        closed.pages.by_name = AtomicBool::new(false);
        assert!(closed.lets_in(&evil));
        let mut proxied = scene();
        proxied.base_url.trusted_proxies = vec![Cidr::parse("127.0.0.1").unwrap()];
        assert!(proxied.lets_in(&evil));
    }

    #[test]
    fn pages_of_elsewhere_are_refused() {
        let mut scene = scene();
        scene.base_url.public_url = Some("https://agents.example.com/team".into());
        for (origin, fine) in [
            ("https://app.example", true),
            ("https://APP.example", true),
            ("http://localhost:7420", true),
            ("https://agents.example.com", true),
            ("http://localhost:3000", false),
            ("http://localhost", false),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("https://app.example.evil", false),
            ("https://evil.example", false),
            ("chrome-extension://localhost:7420", false),
            ("null", false),
            ("", false),
            ("http://", false),
            ("\u{fc}", false),
        ] {
            let headers = [("host", "localhost:7420"), ("origin", origin)];
            assert_eq!(scene.lets_in(&headers), fine, "{origin}");
        }
    }
}
