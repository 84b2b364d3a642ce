//! Credentials: what the user has, against what the card asks for.
//!
//! A card lists alternatives, each a set of schemes that must all be met (as OpenAPI does). The first alternative
//! that the user's credentials meet is taken; what it adds to each request are `Step`s. A card that asks for nothing
//! gets the credential for everything anyway, since the user gave it for this agent.

mod apply;
mod grant;
mod held;
mod issuer;
pub(crate) mod oauth;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};
use switchboard_types::model::Secret;

pub use tokens::{ExchangeTarget, TokenClient, TokenEndpoint, Tokens};

pub(crate) use apply::{Authority, Means};

/// Something that proves who we are.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A token, as `Authorization: Bearer` has it.
    Bearer(Secret),
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A key; the card says where it goes. `X-API-Key`, if it does not.
    ApiKey(Secret),
    /// An OAuth client. With a secret, tokens are asked for by client credentials, otherwise by device code.
    OAuth {
        /// The client's name.
        client_id: String,
        /// The client's secret.
        client_secret: Option<Secret>,
        /// What to ask for; what the card requires, if empty.
        scopes: Vec<String>,
    },
    /// Any header.
    Header {
        /// Its name.
        name: HeaderName,
        /// Its value.
        value: Secret,
    },
}

/// The user's credentials: one for every agent and scheme, or one by scheme name of the card.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    any: Option<Credential>,
    named: BTreeMap<String, Credential>,
    /// Each call brings its own.
    with_calls: bool,
    /// Shown to those who ask before they show their card.
    for_card: Vec<(HeaderName, HeaderValue)>,
}

/// A token, and how long it is good for.
#[derive(Debug, Clone)]
pub struct AccessToken {
    /// The token itself.
    pub token: Secret,
    /// From now on.
    pub lasts: Duration,
}

/// How to ask the person at the keyboard.
#[async_trait]
pub trait Prompt: std::fmt::Debug + Send + Sync {
    /// They must open `url` and enter `code` (RFC 8628). Return at once; the client asks until it is done.
    async fn device_code(&self, url: &str, code: &str);
}

impl Credentials {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// This one, whatever the card calls it.
    #[must_use]
    pub fn any(credential: Credential) -> Self {
        Self {
            any: Some(credential),
            ..Self::default()
        }
    }

    /// Each call brings its own, by [`CallOptions::header`](crate::CallOptions::header): whatever the card asks for
    /// counts as given. For those who speak for many.
    #[must_use]
    pub fn with_calls() -> Self {
        Self {
            with_calls: true,
            ..Self::default()
        }
    }

    /// This header, where the card is not shown without. It goes nowhere else.
    #[must_use]
    pub fn for_card(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.for_card.push((name, value));
        self
    }

    /// Whether each call brings its own.
    pub(crate) fn are_with_calls(&self) -> bool {
        self.with_calls
    }

    /// This one for the scheme of that name.
    #[must_use]
    pub fn with(mut self, scheme: impl Into<String>, credential: Credential) -> Self {
        self.named.insert(scheme.into(), credential);
        self
    }

    fn of(&self, scheme: &str) -> Option<&Credential> {
        self.named.get(scheme).or(self.any.as_ref())
    }
}

/// What a credential adds to a request.
#[derive(Debug, Clone)]
enum Step {
    Header(HeaderName, HeaderValue),
    Query(String, Secret),
    Cookie(String, Secret),
    Token(Arc<oauth::Source>),
}
