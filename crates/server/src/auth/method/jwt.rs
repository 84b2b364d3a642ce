//! A signed token (RFC 7519), as a bearer.

use std::sync::Arc;

use hyper::header::HeaderValue;
use serde_json::{Map, Value};
use switchboard_keys::{
    Algorithm, Jws, PublicKeys, SharedSecret, decoded, read, read_distinct, sha256,
};
use switchboard_types::model::{OAuthFlow, SecurityScheme};

use super::claims::Claims;
use super::fault;
use super::jwks::KeySource;
use super::tokens::{Strangers, Tokens};
use crate::auth::{Carried, Finding, Rejection, Scheme};
use crate::clock;
use crate::net::Fingerprint;
use crate::principal::{API_KEY_PREFIX, Principal};

/// What tokens are checked with.
#[derive(Debug, Clone)]
pub enum JwtKeys {
    /// A secret that we share with the issuer.
    Secret(Box<SharedSecret>),
    /// Keys that never change.
    Fixed(PublicKeys),
    /// Keys that the issuer publishes.
    Published(Arc<KeySource>),
}

/// What cards say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declared {
    /// A bearer, wherever it comes from.
    Bearer,
    /// A bearer of the issuer whose description is there.
    OpenIdConnect(String),
    /// A bearer that is had by an OAuth flow.
    OAuth2(OAuthFlow),
}

/// Knows callers by tokens of one issuer.
#[derive(Debug)]
pub struct Jwt {
    name: Arc<str>,
    keys: JwtKeys,
    algorithms: Vec<Algorithm>,
    claims: Claims,
    declared: Declared,
    tokens: Tokens,
    strangers: Strangers,
}

/// A token that may be ours: taken apart, not believed.
struct Token<'a> {
    jws: Jws<'a>,
    said: Map<String, Value>,
}

impl Jwt {
    /// Knows callers by tokens that are signed with one of the keys, by one of the algorithms; `name` is the scheme's.
    #[must_use]
    pub fn new(
        name: Arc<str>,
        keys: JwtKeys,
        algorithms: Vec<Algorithm>,
        claims: Claims,
        declared: Declared,
    ) -> Self {
        Self {
            name,
            keys,
            algorithms,
            claims,
            declared,
            tokens: Tokens::new(),
            strangers: Strangers::new(),
        }
    }

    /// Takes a token apart. One that another issuer has made, or one that is signed by another kind of key, is not
    /// ours; another scheme may know it.
    fn open<'a>(&self, text: &'a str) -> Result<Token<'a>, Rejection> {
        let jws = read(text).map_err(|_| Rejection::Malformed)?;
        let typ = jws.header.typ.as_deref().unwrap_or("JWT");
        let known = ["JWT", "at+jwt", "application/at+jwt"];
        if !known.iter().any(|known| typ.eq_ignore_ascii_case(known)) {
            // Something else that the same key has signed, such as a notification.
            return Err(Rejection::Malformed);
        }
        let payload = decoded(jws.payload).ok_or(Rejection::Malformed)?;
        let said: Map<String, Value> = read_distinct(&payload).map_err(|_| Rejection::Malformed)?;
        if !self.algorithms.contains(&jws.header.alg) || !self.claims.is_ours(&said) {
            return Err(Rejection::WrongIssuer);
        }
        Ok(Token { jws, said })
    }

    /// The token is signed as it must be; who has it?
    fn believe(&self, text: &str, token: Token<'_>, version: u64) -> Result<Principal, Rejection> {
        let now = clock::now();
        let (identity, until) = self.claims.judge(&self.name, token.said, now)?;
        let caller = Principal::from(identity);
        let kept = caller.clone();
        self.tokens
            .keep(sha256(text.as_bytes()), kept, until, version, now);
        Ok(caller)
    }

    fn check(
        &self,
        text: &str,
        token: Token<'_>,
        keys: &PublicKeys,
        version: u64,
    ) -> Result<Principal, Rejection> {
        if keys.verify(&token.jws, &self.algorithms) {
            self.believe(text, token, version)
        } else {
            Err(Rejection::Unknown)
        }
    }

    /// The version of the keys at hand.
    fn version(&self) -> Option<u64> {
        match &self.keys {
            JwtKeys::Secret(_) | JwtKeys::Fixed(_) => Some(0),
            JwtKeys::Published(source) => source.current().map(|(_, version)| version),
        }
    }

    fn judge<'a>(
        &'a self,
        text: &'a str,
        fingerprint: impl FnOnce() -> Fingerprint,
    ) -> Finding<'a> {
        if self.strangers.knows(text) {
            return Finding::Now(Err(Rejection::WrongIssuer));
        }
        let seen = self
            .version()
            .and_then(|keys| self.tokens.find(&fingerprint(), keys, clock::now()));
        if let Some(caller) = seen {
            return Finding::Now(Ok(caller));
        }
        let token = match self.open(text) {
            Ok(token) => token,
            Err(cause) => {
                if cause == Rejection::WrongIssuer {
                    self.strangers.keep(text);
                }
                return Finding::Now(Err(cause));
            }
        };
        let source = match &self.keys {
            JwtKeys::Secret(secret) => {
                let found = if secret.verify(&token.jws, &self.algorithms) {
                    self.believe(text, token, 0)
                } else {
                    Err(Rejection::Unknown)
                };
                return Finding::Now(found);
            }
            JwtKeys::Fixed(keys) => return Finding::Now(self.check(text, token, keys, 0)),
            JwtKeys::Published(source) => source,
        };
        let knows = |keys: &PublicKeys| match &token.jws.header.kid {
            Some(kid) => keys.knows(kid),
            // A new key has no new name then.
            None => keys.verify(&token.jws, &self.algorithms),
        };
        match source.current() {
            Some((keys, version)) if knows(&keys) => {
                Finding::Now(self.check(text, token, &keys, version))
            }
            _ => Finding::Later(Box::pin(async move {
                let renewed = source.renewed().await;
                let (keys, version) = renewed.ok_or(Rejection::KeysUnavailable)?;
                self.check(text, token, &keys, version)
            })),
        }
    }
}

impl Scheme for Jwt {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        match carried.authorization("Bearer") {
            None => Finding::Absent,
            Some(Err(cause)) => Finding::Now(Err(cause)),
            // It comes as a bearer too, but is no token.
            Some(Ok(key)) if key.starts_with(API_KEY_PREFIX) => Finding::Absent,
            Some(Ok(token)) => self.judge(token, || carried.fingerprint(token)),
        }
    }

    fn challenge(&self, cause: Option<Rejection>, carried: &Carried<'_>) -> HeaderValue {
        let mut text = format!("Bearer realm=\"switchboard\"{}", fault(cause));
        if self.issuer().is_some()
            && let Some(place) = carried.resource_metadata()
        {
            text = format!("{text}, resource_metadata=\"{place}\"");
        }
        let plain = HeaderValue::from_static("Bearer realm=\"switchboard\"");
        HeaderValue::from_str(&text).unwrap_or(plain)
    }

    fn issuer(&self) -> Option<&str> {
        let issuer = self.claims.issuer.as_deref()?;
        // Some issuers are only a name.
        let is_address = issuer.starts_with("https://") || issuer.starts_with("http://");
        is_address.then_some(issuer)
    }

    fn authorization(&self) -> Option<&'static str> {
        Some("Bearer")
    }

    fn declared(&self) -> SecurityScheme {
        let description = None;
        match &self.declared {
            Declared::Bearer => SecurityScheme::Http {
                description,
                scheme: "bearer".to_owned(),
                bearer_format: Some("JWT".to_owned()),
            },
            Declared::OpenIdConnect(url) => SecurityScheme::OpenIdConnect {
                description,
                url: url.clone(),
            },
            Declared::OAuth2(flow) => SecurityScheme::OAuth2 {
                description,
                flows: vec![flow.clone()],
                metadata_url: None,
            },
        }
    }
}
