//! Tokens for what stands behind an agent: its own by client credentials (RFC 6749 §4.4), or its caller's, exchanged
//! (RFC 8693). No card says where they come from, but an operator.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use switchboard_keys::sha256;
use switchboard_types::model::Secret;
use tokio::time::Instant;

use super::AccessToken;
use super::grant::Token;
use super::held::Held;
use super::issuer::{Endpoints, Issuer, Known, Terms, endpoint};
use crate::error::{Error, Kind};
use crate::transport::http::Http;
use crate::transport::tls::Tls;

/// The most subjects whose tokens are kept.
const MOST: usize = 10_000;

const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// Where tokens are given out. A secret goes there, so the address must be an `https` one or on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenEndpoint {
    /// The token endpoint itself.
    Url(String),
    /// An issuer that describes itself (RFC 8414, OpenID Connect Discovery).
    Issuer(String),
}

/// Who asks for tokens, and what for.
#[derive(Debug, Clone)]
pub struct TokenClient {
    /// The client's name.
    pub id: String,
    /// Its secret.
    pub secret: Secret,
    /// What to ask for; what the issuer thinks right, if empty.
    pub scopes: Vec<String>,
}

/// Where an exchanged token is to be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeTarget {
    /// The service's name.
    pub audience: Option<String>,
    /// The service's address.
    pub resource: Option<String>,
}

/// Tokens of one issuer. Each is asked for once, however many want it, and kept until shortly before it expires.
#[derive(Debug)]
pub struct Tokens {
    issuer: Issuer,
    /// `None`: by client credentials.
    exchange: Option<ExchangeTarget>,
    held: Mutex<HashMap<Subject, Arc<Held>>>,
}

/// For whom a token is, known by the token that was exchanged; `None` is the client itself. Two tokens of the same
/// caller may grant different things, so what they were exchanged for is not shared.
type Subject = Option<[u8; 32]>;

impl Tokens {
    /// The client's own tokens.
    ///
    /// # Errors
    ///
    /// If the address may not be told a secret, or a certificate cannot be used.
    pub fn client_credentials(
        at: &TokenEndpoint,
        client: TokenClient,
        tls: &Tls,
    ) -> Result<Self, Error> {
        Self::new(at, client, None, tls)
    }

    /// Tokens for others, in exchange for theirs.
    ///
    /// # Errors
    ///
    /// If the address may not be told a secret, or a certificate cannot be used.
    pub fn exchange(
        at: &TokenEndpoint,
        client: TokenClient,
        target: ExchangeTarget,
        tls: &Tls,
    ) -> Result<Self, Error> {
        Self::new(at, client, Some(target), tls)
    }

    fn new(
        at: &TokenEndpoint,
        client: TokenClient,
        exchange: Option<ExchangeTarget>,
        tls: &Tls,
    ) -> Result<Self, Error> {
        let endpoints = match at {
            TokenEndpoint::Url(url) => Endpoints::Known(Arc::new(Known {
                token: endpoint(url, Kind::Reference)?,
                device: None,
                refresh: None,
            })),
            TokenEndpoint::Issuer(issuer) => Endpoints::of_issuer(issuer)?,
        };
        let terms = Terms {
            client_id: client.id,
            client_secret: Some(client.secret),
            scopes: client.scopes,
        };
        Ok(Self {
            issuer: Issuer::new(Http::new(tls, None)?, terms, endpoints),
            exchange,
            held: Mutex::default(),
        })
    }

    /// Whether these are tokens for others, in exchange for theirs.
    #[must_use]
    pub fn are_exchanged(&self) -> bool {
        self.exchange.is_some()
    }

    /// A token that is good now. `subject` is the token to exchange; client credentials need none.
    ///
    /// # Errors
    ///
    /// If the issuer refuses, cannot be reached or understood, or takes longer than until `deadline`.
    pub async fn get(
        &self,
        subject: Option<&Secret>,
        deadline: Instant,
    ) -> Result<AccessToken, Error> {
        let held = self.held(self.key(subject));
        let renew = |_| self.granted(subject, deadline);
        held.get(deadline, renew).await
    }

    /// `refused` is no longer good, whatever its issuer said of its life: the next one to ask gets another.
    pub fn forget(&self, subject: Option<&Secret>, refused: &Secret) {
        let key = self.key(subject);
        let held = self.all().get(&key).map(Arc::clone);
        if let Some(held) = held {
            held.forget(|token| token == refused);
        }
    }

    async fn granted(&self, subject: Option<&Secret>, deadline: Instant) -> Result<Token, Error> {
        let form = match (&self.exchange, subject) {
            (None, _) => vec![("grant_type", "client_credentials")],
            (Some(target), Some(subject)) => {
                let mut form = vec![
                    ("grant_type", EXCHANGE_GRANT),
                    ("subject_token", subject.reveal()),
                    ("subject_token_type", ACCESS_TOKEN),
                    ("requested_token_type", ACCESS_TOKEN),
                ];
                let audience = target.audience.as_deref();
                form.extend(audience.map(|name| ("audience", name)));
                let resource = target.resource.as_deref();
                form.extend(resource.map(|url| ("resource", url)));
                form
            }
            (Some(_), None) => {
                let message = "there is no token to exchange";
                return Err(Error::new(Kind::CredentialsMissing, message));
            }
        };
        let known = self.issuer.endpoints(deadline).await?;
        let form = self.issuer.form(&form);
        self.issuer.ask(&known.token, form, deadline).await?.token()
    }

    fn key(&self, subject: Option<&Secret>) -> Subject {
        let subject = subject.filter(|_| self.exchange.is_some());
        subject.map(|subject| sha256(subject.reveal().as_bytes()))
    }

    fn held(&self, key: Subject) -> Arc<Held> {
        let mut all = self.all();
        if all.len() >= MOST && !all.contains_key(&key) {
            make_room(&mut all);
        }
        Arc::clone(all.entry(key).or_default())
    }

    fn all(&self) -> parking_lot::MutexGuard<'_, HashMap<Subject, Arc<Held>>> {
        self.held.lock()
    }
}

/// Lets go of what has expired, or else of what expires first. What is being asked for stays: others wait for it.
fn make_room(all: &mut HashMap<Subject, Arc<Held>>) {
    let now = Instant::now();
    let in_use = |held: &Arc<Held>| Arc::strong_count(held) > 1;
    all.retain(|_, held| in_use(held) || held.good_until().is_some_and(|end| end > now));
    if all.len() >= MOST {
        let idle = all.iter().filter(|(_, held)| !in_use(held));
        let first = idle.min_by_key(|(_, held)| held.good_until());
        let first = first.map(|(key, _)| *key);
        first.map(|key| all.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn there_is_room_for_so_many_and_what_expires_first_goes() {
        let client = TokenClient {
            id: "desk".to_owned(),
            secret: Secret::new("s3cr3t"),
            scopes: Vec::new(),
        };
        let at = TokenEndpoint::Url("http://127.0.0.1:1/token".to_owned());
        let tokens = Tokens::exchange(&at, client, ExchangeTarget::default(), &Tls::new()).unwrap();
        let soon = Instant::now() + Duration::from_secs(1);
        let key = |n: usize| Some(sha256(n.to_string().as_bytes()));
        for n in 0..MOST {
            let token = Token {
                access: Secret::new("t"),
                refresh: None,
                good_until: soon + Duration::from_secs(n as u64),
            };
            let held = tokens.held(key(n));
            held.get(soon, |_| async { Ok(token) }).await.unwrap();
        }
        let waited_for = tokens.held(key(0));
        tokens.held(key(MOST));
        let has = |n| tokens.all().contains_key(&key(n));
        assert_eq!(tokens.all().len(), MOST);
        assert_eq!(
            (has(0), has(1), has(2), has(MOST)),
            (true, false, true, true)
        );
        drop(waited_for);
        // What has no token, or one that is no longer good, goes at once.
        tokio::time::advance(Duration::from_secs(5_000)).await;
        tokens.held(key(MOST + 1));
        assert_eq!(tokens.all().len(), MOST - 5_000 + 1);
    }
}
