//! What a request carries, as a scheme reads it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;

use super::{Print, Rejection};
use crate::http::tls::Certificate;
use crate::http::{BaseUrl, Peer, RESOURCE};

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

/// What stands in `Authorization`, if anything: a scheme and credentials.
type Shown<'a> = Option<Result<(&'a str, &'a str), Rejection>>;

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
        credentials(shown, scheme)
    }

    /// The print of a secret that stands there.
    pub(super) fn print(&self, secret: &str) -> Print {
        self.peer.last_print.of(secret)
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

/// What stands in `Authorization` after that scheme.
pub(super) fn authorization<'a>(
    headers: &'a HeaderMap,
    scheme: &str,
) -> Option<Result<&'a str, Rejection>> {
    credentials(shown(headers), scheme)
}

fn credentials<'a>(shown: Shown<'a>, scheme: &str) -> Option<Result<&'a str, Rejection>> {
    match shown? {
        Ok((said, credentials)) => said.eq_ignore_ascii_case(scheme).then_some(Ok(credentials)),
        Err(cause) => Some(Err(cause)),
    }
}

fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let first = values.next()?;
    if values.any(|other| other != first) {
        return Some(Err(Rejection::Malformed));
    }
    // Not byte by byte, as `to_str` would. A header has no control characters.
    let text = str::from_utf8(first.as_bytes()).ok();
    let Some(text) = text.filter(|text| text.is_ascii()) else {
        return Some(Err(Rejection::Malformed));
    };
    let (said, credentials) = text.trim().split_once(' ')?;
    Some(Ok((said, credentials.trim())))
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
    use super::*;
    use crate::auth::LastPrint;

    #[test]
    fn one_authorization_counts_and_two_do_not() {
        let base_url = BaseUrl::default();
        let peer = Peer {
            address: "10.0.0.9:4000".parse().unwrap(),
            local: "127.0.0.1:7420".parse().unwrap(),
            encrypted: None,
            last_print: LastPrint::default(),
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
