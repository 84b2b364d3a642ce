//! Signed tokens: what they are checked with, and what must stand in them.

use std::time::Duration;

use switchboard_server::auth::method::{Algorithm, Claims, Declared, PublicKeys, SharedSecret};
use switchboard_types::model::OAuthFlow;

use super::agent::join;
use super::load::Check;
use super::problem::did_you_mean;
use super::raw;
use super::yaml::{Step, Step::Item, Step::Key};

/// What a secret is checked with, and what keys are, if nothing is said.
const WITH_SECRET: [Algorithm; 1] = [Algorithm::Hs256];
const WITH_KEYS: [Algorithm; 4] = [
    Algorithm::Rs256,
    Algorithm::Es256,
    Algorithm::EdDsa,
    Algorithm::Ps256,
];
const SKEW: Duration = Duration::from_secs(60);
/// More would make expiry meaningless.
const MOST_SKEW: Duration = Duration::from_secs(600);

/// Signed tokens.
#[derive(Debug, Clone)]
pub struct Jwt {
    /// What they are checked with.
    pub keys: Keys,
    /// By which algorithms they may be signed; all of them fit the keys.
    pub algorithms: Vec<Algorithm>,
    /// What must stand in them.
    pub claims: Claims,
    /// What cards say of it.
    pub declared: Declared,
}

/// What tokens are checked with.
#[derive(Debug, Clone)]
pub enum Keys {
    /// A shared secret.
    Secret(Box<SharedSecret>),
    /// Keys from a file.
    File(PublicKeys),
    /// A list of keys somewhere.
    Url(String),
    /// An issuer that tells where its keys are.
    Issuer(String),
}

impl Check<'_> {
    pub(super) fn jwt(&mut self, at: &[Step<'_>], mut raw: raw::Jwt) -> Option<Jwt> {
        let declared = raw.declare.take();
        let audiences = raw.audience.take().unwrap_or_default();
        let named = audiences.iter().any(|audience| !audience.trim().is_empty());
        if !named && !self.is_damaged(at) {
            self.wrong(
                &join(at, Key("audience")),
                "tokens for other services would be accepted".to_owned(),
                Some("name the audience: the value of `aud`".to_owned()),
            );
        }
        let keys = self.keys(at, &mut raw);
        let algorithms = self.algorithms(at, raw.algorithms.take(), keys.as_ref());
        let skew = raw.clock_skew.map_or(SKEW, |skew| skew.0);
        if skew > MOST_SKEW {
            let message = "must be 10m at most".to_owned();
            self.wrong(&join(at, Key("clock_skew")), message, None);
        }
        let declared = self.declared(at, declared, keys.as_ref(), raw.issuer.as_deref());
        let claims = Claims {
            issuer: raw.issuer,
            audiences,
            skew,
            subject_claim: raw.subject_claim.unwrap_or_else(|| "sub".to_owned()),
            tenant_claim: raw.tenant_claim,
            scope_claim: raw.scope_claim,
        };
        Some(Jwt {
            keys: keys?,
            algorithms,
            claims,
            declared,
        })
    }

    fn keys(&mut self, at: &[Step<'_>], raw: &mut raw::Jwt) -> Option<Keys> {
        let issuer = raw.issuer.clone();
        if issuer.as_deref().is_some_and(str::is_empty) {
            let message = "must not be empty".to_owned();
            self.wrong(&join(at, Key("issuer")), message, None);
        }
        // Whose a task is begins with the issuer, or with one of these words.
        let ours = |issuer: &str| {
            let word = issuer.split(':').next().unwrap_or_default();
            matches!(word, "key" | "basic" | "certificate" | "jwt")
        };
        if issuer.as_deref().is_some_and(ours) {
            let message = "cannot be distinguished from callers without an issuer".to_owned();
            let hint = "name it by its address, such as https://login.example.com".to_owned();
            self.wrong(&join(at, Key("issuer")), message, Some(hint));
        }
        let given = [
            ("secret", raw.secret.is_some()),
            ("secret_file", raw.secret_file.is_some()),
            ("jwks_url", raw.jwks_url.is_some()),
            ("jwks_file", raw.jwks_file.is_some()),
        ];
        let mut given = given.iter().filter(|(_, given)| *given).map(|(key, _)| key);
        if let (Some(first), Some(last)) = (given.next(), given.next_back()) {
            let message = format!("`{first}` and `{last}` are mutually exclusive");
            let hint = "keep one of them".to_owned();
            self.wrong(&join(at, Key(last)), message, Some(hint));
            return None;
        }
        if raw.secret.is_some() || raw.secret_file.is_some() {
            let (secret, file) = (raw.secret.take(), raw.secret_file.take());
            let (key, secret) = self.secret(at, "secret", secret, file)?;
            let secret = SharedSecret::new(secret.reveal().as_bytes());
            let secret = self.usable(&join(at, Key(key)), secret)?;
            return Some(Keys::Secret(Box::new(secret)));
        }
        if let Some(file) = raw.jwks_file.take() {
            let at = join(at, Key("jwks_file"));
            let json = self.read_beside(&at, &file)?;
            let keys = PublicKeys::from_jwks(json.as_bytes());
            return self.usable(&at, keys).map(Keys::File);
        }
        let (key, url) = match (raw.jwks_url.take(), issuer) {
            (Some(url), _) => ("jwks_url", url.0),
            (None, Some(issuer)) => ("issuer", issuer),
            (None, None) if self.is_damaged(at) => return None,
            (None, None) => {
                self.wrong(
                    at,
                    "no key to verify tokens".to_owned(),
                    Some(
                        "add `issuer`, `jwks_url`, `jwks_file`, `secret` or `secret_file`"
                            .to_owned(),
                    ),
                );
                return None;
            }
        };
        self.safe_url(&join(at, Key(key)), &url)?;
        Some(match key {
            "issuer" => Keys::Issuer(url),
            _ => Keys::Url(url),
        })
    }

    fn usable<K>(&mut self, at: &[Step<'_>], key: Result<K, impl std::fmt::Display>) -> Option<K> {
        key.map_err(|error| self.wrong(at, error.to_string(), None))
            .ok()
    }

    /// Keys that come over an open line could be anyone's.
    fn safe_url(&mut self, at: &[Step<'_>], text: &str) -> Option<()> {
        let url = url::Url::parse(text).ok();
        let safe = url.as_ref().is_some_and(|url| match url.host() {
            None => false,
            Some(_) if url.scheme() == "https" => true,
            Some(url::Host::Domain(host)) => url.scheme() == "http" && host == "localhost",
            Some(url::Host::Ipv4(address)) => url.scheme() == "http" && address.is_loopback(),
            Some(url::Host::Ipv6(address)) => url.scheme() == "http" && address.is_loopback(),
        });
        if !safe {
            self.wrong(
                at,
                format!("keys cannot be fetched from `{text}`"),
                Some("write an https address, such as https://login.example.com".to_owned()),
            );
        }
        safe.then_some(())
    }

    fn algorithms(
        &mut self,
        at: &[Step<'_>],
        named: Option<Vec<String>>,
        keys: Option<&Keys>,
    ) -> Vec<Algorithm> {
        let secret = matches!(keys, Some(Keys::Secret(_)));
        let Some(named) = named else {
            return match secret {
                true => WITH_SECRET.to_vec(),
                false => WITH_KEYS.to_vec(),
            };
        };
        let at = join(at, Key("algorithms"));
        if named.is_empty() {
            let hint = "leave the key out for the default".to_owned();
            self.wrong(&at, "must name an algorithm".to_owned(), Some(hint));
        }
        let mut algorithms = Vec::new();
        for (n, name) in named.iter().enumerate() {
            let at = join(&at, Item(n));
            let hint = || {
                let all = "HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 EdDSA";
                did_you_mean(name, all.split(' '))
            };
            match Algorithm::from_name(name) {
                None => self.wrong(&at, format!("there is no algorithm `{name}`"), hint()),
                Some(algorithm) if keys.is_some() && algorithm.is_symmetric() != secret => {
                    let message = match secret {
                        true => format!("`{name}` needs keys, but there is a secret"),
                        false => format!("`{name}` needs a secret, but there are keys"),
                    };
                    self.wrong(&at, message, None);
                }
                Some(algorithm) => algorithms.push(algorithm),
            }
        }
        algorithms
    }

    fn declared(
        &mut self,
        at: &[Step<'_>],
        raw: Option<raw::Declare>,
        keys: Option<&Keys>,
        issuer: Option<&str>,
    ) -> Declared {
        match (raw, issuer) {
            (Some(raw::Declare::ClientCredentials(flow)), _) => {
                Declared::OAuth2(OAuthFlow::ClientCredentials {
                    token_url: flow.token_url.0,
                    refresh_url: None,
                    scopes: flow.scopes,
                })
            }
            (Some(raw::Declare::OpenidConnect), None) => {
                let message = "requires `issuer`".to_owned();
                self.wrong(
                    &join(at, Key("declare")),
                    message,
                    Some("add `issuer`".to_owned()),
                );
                Declared::Bearer
            }
            (Some(raw::Declare::OpenidConnect), Some(issuer)) => openid(issuer),
            (None, Some(issuer)) if matches!(keys, Some(Keys::Issuer(_))) => openid(issuer),
            (Some(raw::Declare::Bearer) | None, _) => Declared::Bearer,
        }
    }
}

fn openid(issuer: &str) -> Declared {
    let base = issuer.trim_end_matches('/');
    Declared::OpenIdConnect(format!("{base}/.well-known/openid-configuration"))
}
