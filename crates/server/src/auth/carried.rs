//! What a request carries, as a scheme reads it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::HeaderMap;
use hyper::http::request::Parts;

use super::Rejection;
use crate::net::{BaseUrl, Certificate, Fingerprint, Peer};
use crate::principal::{InvalidHeader, Shown, credentials, shown};

/// Where a resource says who issues tokens for it (RFC 9728 §3).
pub(crate) const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// What a request carries to show who asks. Only the head: nobody's body is read before.
#[derive(Clone, Copy)]
pub struct Carried<'a> {
    head: &'a Parts,
    peer: &'a Peer,
    base_url: &'a BaseUrl,
    /// Whose door this is about.
    agent: Option<&'a str>,
    /// What stands in `Authorization`, once it was read: several schemes look there, and tokens are long.
    shown: Option<Shown<'a>>,
}

impl<'a> Carried<'a> {
    pub(crate) fn new(head: &'a Parts, peer: &'a Peer, base_url: &'a BaseUrl) -> Self {
        Self {
            head,
            peer,
            base_url,
            agent: None,
            shown: None,
        }
    }

    /// The same, for schemes that look at it one after the other.
    pub(super) fn for_all_schemes(mut self) -> Self {
        self.shown = Some(shown(&self.head.headers));
        self
    }

    /// The same at the door of an agent.
    pub(crate) fn at(mut self, agent: &'a str) -> Self {
        self.agent = Some(agent);
        self
    }

    /// The agent whose door this is about, if that is known.
    pub(super) fn agent(&self) -> Option<&'a str> {
        self.agent
    }

    /// What stands in `Authorization` after that scheme, such as `Bearer`; `None` if it is not there.
    ///
    /// # Errors
    ///
    /// If the header is given twice in different ways, or is no text: nobody knows which one counts.
    pub fn authorization(&self, scheme: &str) -> Option<Result<&'a str, Rejection>> {
        let shown = self.shown.unwrap_or_else(|| shown(&self.head.headers));
        let found = credentials(shown, scheme)?;
        Some(found.map_err(|InvalidHeader| Rejection::Malformed))
    }

    /// The fingerprint of a secret in the request.
    pub(super) fn fingerprint(&self, secret: &str) -> Fingerprint {
        self.peer.last_fingerprint.of(secret)
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        &self.head.headers
    }

    /// The query of the address.
    #[must_use]
    pub fn query(&self) -> Option<&'a str> {
        self.head.uri.query()
    }

    /// Where the request comes from: behind a proxy that is trusted, what the proxy says.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.base_url.client(self.head, self.peer)
    }

    /// The certificate that the client has shown, if the connection is encrypted.
    #[must_use]
    pub fn certificate(&self) -> Option<&'a Certificate> {
        self.peer.encrypted.as_ref()?.certificate.as_ref()
    }

    /// Where the caller reached us, without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> Arc<str> {
        self.base_url.of(self.head, self.peer)
    }

    /// Where it says who issues tokens for the agent that is asked (RFC 9728 §5.1).
    pub(super) fn resource_metadata(&self) -> Option<String> {
        let agent = self.agent?;
        Some(format!("{}{RESOURCE}/a2a/{agent}", self.base_url()))
    }
}

impl fmt::Debug for Carried<'_> {
    /// Without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::AUTHORIZATION;

    use super::*;
    use crate::net::LastFingerprint;

    #[test]
    fn one_authorization_counts_and_two_do_not() {
        let base_url = BaseUrl::default();
        let peer = Peer {
            address: "10.0.0.9:4000".parse().unwrap(),
            local: "127.0.0.1:7420".parse().unwrap(),
            encrypted: None,
            last_fingerprint: LastFingerprint::default(),
        };
        for (values, bearer) in [
            (&["Bearer  abc "][..], Some(Ok("abc"))),
            (&["bearer abc", "bearer abc"], Some(Ok("abc"))),
            (&["Bearer abc", "Bearer d"], Some(Err(Rejection::Malformed))),
            (&["Bearer \u{fc}"], Some(Err(Rejection::Malformed))),
            (&["Basic abc"], None),
            (&["Bearer"], None),
            (&[], None),
        ] {
            let mut request = hyper::Request::builder().uri("/");
            for value in values {
                request = request.header(AUTHORIZATION, *value);
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            let carried = Carried::new(&head, &peer, &base_url);
            assert_eq!(carried.authorization("Bearer"), bearer, "{values:?}");
        }
    }
}
