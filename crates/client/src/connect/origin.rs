//! Which origins may receive credentials. Pure.
//!
//! A card decides which addresses an agent has, but whoever writes it must not decide who learns our credentials. They
//! go to the origin that the user named, and to those that the user listed.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

use crate::error::{Error, Kind};
use crate::reference::is_local;
use crate::transport::record::shown;

/// The origin of an address: scheme, host and port, such as `https://agents.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: Host,
    port: u16,
}

impl Origin {
    fn of(url: &Url) -> Option<Self> {
        Some(Self {
            scheme: url.scheme().to_owned(),
            host: url.host()?.to_owned(),
            port: url.port_or_known_default()?,
        })
    }

    /// Whether an address has this origin. The names of this machine count as one, and so does the same host over TLS
    /// on the usual port.
    fn covers(&self, url: &Url) -> bool {
        let Some(other) = Self::of(url) else {
            return false;
        };
        let same_host = self.host == other.host || self.is_local() && is_local(url);
        let upgraded = (&*self.scheme, self.port) == ("http", 80)
            && (&*other.scheme, other.port) == ("https", 443);
        same_host && (upgraded || (&self.scheme, self.port) == (&other.scheme, other.port))
    }

    fn is_local(&self) -> bool {
        Url::parse(&self.to_string()).is_ok_and(|url| is_local(&url))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match (&*self.scheme, self.port) {
            ("http", 80) | ("https", 443) => Ok(()),
            (_, port) => write!(f, ":{port}"),
        }
    }
}

impl FromStr for Origin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::new(Kind::Reference, format!("this is not an origin: {why}"))
                .hinting("write scheme, host and port, such as https://agents.example.com:8443")
        };
        let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it must begin with http:// or https://"));
        }
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !is_bare || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must have nothing but scheme, host and port"));
        }
        Self::of(&url).ok_or_else(|| wrong("it has no host"))
    }
}

/// The origins that may receive the credentials for one agent.
#[derive(Debug, Clone)]
pub struct TrustedOrigins {
    /// Of the address that the user named. `None` if the user gave the card itself: then all of its addresses are the
    /// user's word.
    named: Option<Origin>,
    listed: Vec<Origin>,
}

impl TrustedOrigins {
    /// The origin of the address that the user named, if it is not a card itself, and those that the user listed.
    #[must_use]
    pub fn new(named: Option<&Url>, listed: &[Origin]) -> Self {
        Self {
            named: named.and_then(Origin::of),
            listed: listed.to_vec(),
        }
    }

    pub(crate) fn cover(&self, url: &Url) -> bool {
        self.require(url).is_ok()
    }

    /// Whether two addresses have the same origin, or both are covered.
    pub(crate) fn cover_both(&self, one: &Url, other: &Url) -> bool {
        Origin::of(one).is_some_and(|origin| origin.covers(other))
            || self.cover(one) && self.cover(other)
    }

    /// Whether credentials may be sent to `url`.
    ///
    /// # Errors
    ///
    /// If they may not: the error names what the user can set.
    pub fn require(&self, url: &Url) -> Result<(), Error> {
        if self.listed.iter().any(|origin| origin.covers(url)) {
            return Ok(());
        }
        let Some(named) = &self.named else {
            if url.scheme() == "https" || is_local(url) {
                return Ok(());
            }
            let message = format!(
                "{} is not encrypted: no credentials are sent there",
                shown(url)
            );
            return Err(Error::new(Kind::CardInvalid, message)
                .hinting("name the agent by its http:// address if that is meant"));
        };
        if named.covers(url) {
            return Ok(());
        }
        let origin = Origin::of(url).map_or_else(|| shown(url), |origin| origin.to_string());
        let message = format!(
            "the card names {}, which is not at {named}: no credentials are sent there unless credentials_to lists \
             {origin}",
            shown(url)
        );
        Err(Error::new(Kind::CardInvalid, message).hinting(format!(
            "if {origin} may have them, add it to credentials_to (on the command line: --credentials-to {origin})"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn credentials_go_to_the_named_origin_and_to_listed_ones() {
        let listed = ["https://rpc.example:8443".parse().unwrap()];
        for (named, to, may) in [
            ("https://a.example/a2a/poet", "https://a.example/v1", true),
            ("https://a.example/", "https://a.example:443/x", true),
            ("https://a.example/", "https://rpc.example:8443/", true),
            ("https://a.example/", "https://rpc.example/", false),
            ("https://a.example/", "https://a.example:8443/", false),
            ("https://a.example/", "http://a.example/", false),
            ("https://a.example/", "http://a.example:443/", false),
            ("https://a.example/", "https://b.a.example/", false),
            ("https://a.example/", "https://a.example.evil/", false),
            ("http://a.example/", "http://a.example/", true),
            ("http://a.example/", "https://a.example/", true),
            ("http://a.example/", "http://a.example:9/", false),
            ("http://a.example:9/", "https://a.example/", false),
            ("http://127.0.0.1:9/", "http://localhost:9/", true),
            ("http://127.0.0.1:9/", "http://127.0.0.1:10/", false),
            ("http://127.0.0.1:9/", "http://a.example:9/", false),
        ] {
            let trusted = TrustedOrigins::new(Some(&url(named)), &listed);
            assert_eq!(trusted.cover(&url(to)), may, "{named} {to}");
        }
    }

    #[test]
    fn a_card_that_the_user_gave_is_the_users_word() {
        let trusted = TrustedOrigins::new(None, &["http://b.example:9".parse().unwrap()]);
        for (to, may) in [
            ("https://a.example/", true),
            ("http://a.example/", false),
            ("http://localhost:1/", true),
            ("http://b.example:9/x", true),
        ] {
            assert_eq!(trusted.cover(&url(to)), may, "{to}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (text, origin) in [
            ("https://a.example", "https://a.example"),
            ("https://a.example:443/", "https://a.example"),
            ("http://[::1]:80", "http://[::1]"),
            ("http://a.example:8080", "http://a.example:8080"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), origin);
        }
        for text in [
            "a.example",
            "a.example:443",
            "https://a.example/x",
            "https://a.example/?x",
            "https://u:p@a.example",
            "grpc://a.example",
            "https://",
            "*",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
