//! Who an agent is to what stands behind it: for every backend that is called over the network.

use anyhow::Context;
use http::HeaderName;
use switchboard_agents::identity::{Outbound, Unsendable};
use switchboard_client::{ExchangeTarget, Tls, TokenClient, TokenEndpoint, Tokens};
use switchboard_types::model::Secret;

use super::agent::{at_path, join};
use super::load::Check;
use super::raw;
use super::value::{SecretText, Url};
use super::yaml::{Data, Step, Step::Item, Step::Key};

/// Who an agent is to what stands behind it. It is known that it can be used.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Identity {
    /// Nobody.
    #[default]
    Nobody,
    /// The same headers for everyone.
    Headers(Vec<(HeaderName, Secret)>),
    /// These headers of the caller's request.
    Forward(Vec<HeaderName>),
    /// A token of its own, or one in exchange for the caller's.
    Token(TokenEndpoint, TokenClient, Option<ExchangeTarget>),
}

impl Identity {
    /// What is sent along.
    ///
    /// # Errors
    ///
    /// If it cannot be sent, or no token can be asked for there.
    pub fn outbound(&self) -> anyhow::Result<Outbound> {
        let tls = Tls::new();
        Ok(match self {
            Self::Nobody => Outbound::none(),
            Self::Headers(headers) => Outbound::fixed(headers.clone())?,
            Self::Forward(names) => Outbound::forwarded(names.clone())?,
            Self::Token(at, client, None) => {
                let tokens = Tokens::client_credentials(at, client.clone(), &tls);
                Outbound::token(tokens.context("no token can be asked for")?)
            }
            Self::Token(at, client, Some(target)) => {
                let tokens = Tokens::exchange(at, client.clone(), target.clone(), &tls);
                Outbound::token(tokens.context("no token can be asked for")?)
            }
        })
    }
}

impl Check<'_> {
    pub(super) fn identity(&mut self, at: &[Step<'_>], raw: Option<raw::Identity>) -> Identity {
        const KINDS: [&str; 4] = ["headers", "forward", "client_credentials", "token_exchange"];
        let Some(raw) = raw else {
            return Identity::Nobody;
        };
        let at = join(at, Key("identity"));
        let given = [
            raw.headers.is_some(),
            raw.forward.is_some(),
            raw.client_credentials.is_some(),
            raw.token_exchange.is_some(),
        ];
        let given = KINDS.into_iter().zip(given).filter(|(_, given)| *given);
        let given: Vec<&str> = given.map(|(kind, _)| kind).collect();
        match given.as_slice() {
            [_] => {}
            [] if self.is_damaged(&at) => return Identity::Nobody,
            [] => {
                let hint = format!(
                    "add one of {}",
                    KINDS.map(|kind| format!("`{kind}`")).join(", ")
                );
                self.wrong(&at, "is empty".to_owned(), Some(hint));
                return Identity::Nobody;
            }
            [first, .., last] => {
                let message = format!("`{first}` and `{last}` are mutually exclusive");
                let hint = Some("keep one of them".to_owned());
                self.wrong(&join(&at, Key(last)), message, hint);
                return Identity::Nobody;
            }
        }
        let found = if let Some(headers) = raw.headers {
            self.fixed(&at, headers)
        } else if let Some(names) = raw.forward {
            self.forwarded(&at, names)
        } else if let Some(raw) = raw.client_credentials {
            let at = join(&at, Key("client_credentials"));
            self.tokens(&at, raw, None)
        } else if let Some(raw) = raw.token_exchange {
            let at = join(&at, Key("token_exchange"));
            let target = ExchangeTarget {
                audience: raw.audience,
                resource: raw.resource.map(|url| url.0),
            };
            let client = raw::TokenClient {
                token_url: raw.token_url,
                issuer: raw.issuer,
                client_id: raw.client_id,
                secret: raw.secret,
                secret_file: raw.secret_file,
                scopes: raw.scopes,
            };
            self.tokens(&at, client, Some(target))
        } else {
            None
        };
        found.unwrap_or_default()
    }

    fn fixed(&mut self, at: &[Step<'_>], raw: raw::Named<SecretText>) -> Option<Identity> {
        let at = join(at, Key("headers"));
        let mut headers = Vec::new();
        for (name, value) in raw.0 {
            let at = join(&at, Key(&name));
            let node = at_path(self.tree, &at);
            if !node.is_some_and(|node| matches!(&node.data, Data::Scalar(s) if s.given)) {
                let message = "secrets must not be written in the file".to_owned();
                self.wrong(&at, message, Some("write `${NAME}`".to_owned()));
                continue;
            }
            if let Some(name) = self.header(&at, &name) {
                let header = (name, value.0);
                match Outbound::fixed([header.clone()]) {
                    Ok(_) => headers.push(header),
                    Err(error) => self.unsendable(&at, &error),
                }
            }
        }
        Some(Identity::Headers(headers))
    }

    fn forwarded(&mut self, at: &[Step<'_>], raw: Vec<String>) -> Option<Identity> {
        let at = join(at, Key("forward"));
        let mut names = Vec::new();
        for (i, name) in raw.into_iter().enumerate() {
            let at = join(&at, Item(i));
            if let Some(name) = self.header(&at, &name) {
                match Outbound::forwarded(vec![name.clone()]) {
                    Ok(_) => names.push(name),
                    Err(error) => self.unsendable(&at, &error),
                }
            }
        }
        Some(Identity::Forward(names))
    }

    fn header(&mut self, at: &[Step<'_>], name: &str) -> Option<HeaderName> {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        if parsed.is_none() {
            self.wrong(at, format!("`{name}` cannot be the name of a header"), None);
        }
        parsed
    }

    fn unsendable(&mut self, at: &[Step<'_>], error: &Unsendable) {
        self.wrong(at, error.to_string(), None);
    }

    fn tokens(
        &mut self,
        at: &[Step<'_>],
        raw: raw::TokenClient,
        target: Option<ExchangeTarget>,
    ) -> Option<Identity> {
        let endpoint = match (raw.token_url, raw.issuer) {
            (Some(Url(url)), None) => Some(("token_url", TokenEndpoint::Url(url))),
            (None, Some(Url(url))) => Some(("issuer", TokenEndpoint::Issuer(url))),
            (Some(_), Some(_)) => {
                let message = "`token_url` and `issuer` are mutually exclusive".to_owned();
                let hint = Some("keep one of them".to_owned());
                self.wrong(&join(at, Key("issuer")), message, hint);
                None
            }
            (None, None) => {
                let hint = Some("add `token_url` or `issuer`".to_owned());
                self.wrong(at, "`token_url` or `issuer` is missing".to_owned(), hint);
                None
            }
        };
        let secret = self.secret(at, "secret", raw.secret, raw.secret_file);
        let ((key, endpoint), (_, secret)) = (endpoint?, secret?);
        let client = TokenClient {
            id: raw.client_id,
            secret,
            scopes: raw.scopes.unwrap_or_default(),
        };
        let identity = Identity::Token(endpoint, client, target);
        if let Err(error) = identity.outbound() {
            self.wrong(&join(at, Key(key)), error.root_cause().to_string(), None);
            return None;
        }
        Some(identity)
    }
}
