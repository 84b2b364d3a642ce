//! Which credentials an agent gets, and where they stand in a request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue};
use switchboard_types::model::{
    AgentCard, ApiKeyLocation, Secret, SecurityRequirement, SecurityScheme,
};
use tokio::time::Instant;

use super::issuer::Terms;
use super::oauth::Source;
use super::{AccessToken, Credential, Credentials, Step};
use crate::connect::origin::TrustedOrigins;
use crate::error::{Error, Kind};
use crate::transport::http::{Http, Outgoing};
use crate::transport::record::Redaction;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What is added to each request to one agent.
#[derive(Debug, Default)]
pub(crate) struct Authority {
    steps: Vec<Step>,
    /// The card asks for something that we do not have: what.
    missing: Option<String>,
}

/// What is needed to meet a scheme, the user's credentials aside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) http: &'a Http,
    /// Who may receive the secret of an OAuth client.
    pub(crate) trusted: &'a TrustedOrigins,
    /// We have a certificate of our own to show.
    pub(crate) certificate: bool,
    pub(crate) prompt: Option<&'a Arc<dyn super::Prompt>>,
}

impl Authority {
    /// Before there is a card: what needs none to know where it goes.
    pub(crate) fn before_card(credentials: &Credentials) -> Result<Self, Error> {
        let mut found = Self::for_all(credentials)?;
        let header =
            |(name, value): &(HeaderName, HeaderValue)| Step::Header(name.clone(), value.clone());
        found.steps.extend(credentials.for_card.iter().map(header));
        Ok(found)
    }

    /// The credential for everything, where no card says how it is shown.
    fn for_all(credentials: &Credentials) -> Result<Self, Error> {
        let steps = credentials.any.iter().map(plain);
        let steps: Result<Vec<_>, Error> = steps.collect();
        Ok(Self {
            steps: steps?.into_iter().flatten().collect(),
            missing: None,
        })
    }

    /// What `card` asks for, met by `credentials`.
    pub(crate) fn of(
        card: &AgentCard,
        credentials: &Credentials,
        means: Means<'_>,
    ) -> Result<Self, Error> {
        if credentials.are_with_calls() {
            return Ok(Self::default());
        }
        if card.security.is_empty() {
            return Self::unasked(card, credentials, means);
        }
        let mut refused = None;
        for requirement in &card.security {
            match meet(card, requirement, credentials, means) {
                Ok(Some(steps)) => {
                    return Ok(Self {
                        steps,
                        missing: None,
                    });
                }
                Ok(None) => {}
                // One of the others may do.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        let wanted = card.security.iter().map(|requirement| {
            let names: Vec<String> = requirement
                .0
                .keys()
                .map(|name| described(card, name))
                .collect();
            names.join(" and ")
        });
        let wanted: Vec<String> = wanted.collect();
        Ok(Self {
            steps: Vec::new(),
            missing: Some(wanted.join(", or ")),
        })
    }

    /// What a card gets that describes schemes and asks for none: those that the user has a credential for by name,
    /// or the one for everything.
    fn unasked(
        card: &AgentCard,
        credentials: &Credentials,
        means: Means<'_>,
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        let mut refused = None;
        for (name, credential) in &credentials.named {
            if let Some(scheme) = card.security_schemes.get(name) {
                match fit(scheme, &[], credential, means) {
                    Ok(step) => found.steps.extend(step),
                    // The card does not ask for it.
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
        }
        if found.is_empty() {
            found = Self::for_all(credentials)?;
        }
        match refused {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// Whether nothing is added.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Tells callers apart without telling who they are.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for step in &self.steps {
            match step {
                Step::Header(name, value) => (name, value).hash(&mut hasher),
                Step::Query(name, value) | Step::Cookie(name, value) => {
                    (name, value.reveal()).hash(&mut hasher);
                }
                Step::Token(source) => source.client_id().hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// Adds credentials to a request.
    pub(crate) async fn apply(&self, out: &mut Outgoing, deadline: Instant) -> Result<(), Error> {
        if let Some(wanted) = &self.missing {
            let message = format!("the agent asks for credentials: {wanted}");
            return Err(Error::new(Kind::CredentialsMissing, message));
        }
        out.redaction = self.redaction();
        for step in &self.steps {
            match step {
                Step::Header(name, value) => {
                    out.headers.insert(name.clone(), value.clone());
                }
                Step::Query(name, value) => {
                    out.url.query_pairs_mut().append_pair(name, value.reveal());
                }
                Step::Cookie(name, value) => {
                    let cookie = secret_header(&format!("{name}={}", value.reveal()))?;
                    out.headers.append(COOKIE, cookie);
                }
                Step::Token(source) => {
                    let token = source.token(deadline).await?;
                    out.headers.insert(AUTHORIZATION, bearer(&token.token)?);
                }
            }
        }
        Ok(())
    }

    /// Has tokens at hand, so that the time a person needs for one does not count against a call.
    pub(crate) async fn ready(&self, deadline: Instant) -> Result<(), Error> {
        for step in &self.steps {
            if let Step::Token(source) = step {
                source.token(deadline).await?;
            }
        }
        Ok(())
    }

    /// The token that is added, if one is.
    pub(crate) async fn token(&self, deadline: Instant) -> Result<Option<AccessToken>, Error> {
        let source = self.steps.iter().find_map(|step| match step {
            Step::Token(source) => Some(source),
            Step::Header(..) | Step::Query(..) | Step::Cookie(..) => None,
        });
        match source {
            Some(source) => source.token(deadline).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether there is a token that could be replaced.
    pub(crate) fn may_renew(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step, Step::Token(_)))
    }

    /// After a refusal of `sent`: drops that token, if it can be had anew. Whether it is worth to ask again.
    pub(crate) fn renew(&self, sent: Option<&HeaderValue>) -> bool {
        let is_sent = |token: &Secret| bearer(token).is_ok_and(|token| Some(&token) == sent);
        let mut renewed = false;
        for step in &self.steps {
            if let Step::Token(source) = step {
                renewed |= source.forget(is_sent);
            }
        }
        renewed
    }

    /// What must not be shown of a request.
    fn redaction(&self) -> Redaction {
        let mut redaction = Redaction::default();
        for step in &self.steps {
            match step {
                Step::Header(name, _) => redaction.headers.push(name.clone()),
                Step::Query(name, _) => redaction.parameters.push(name.clone()),
                Step::Cookie(..) | Step::Token(_) => {}
            }
        }
        redaction
    }
}

/// All schemes of a requirement, or nothing.
fn meet(
    card: &AgentCard,
    requirement: &SecurityRequirement,
    credentials: &Credentials,
    means: Means<'_>,
) -> Result<Option<Vec<Step>>, Error> {
    let mut steps = Vec::new();
    for (name, scopes) in &requirement.0 {
        let scheme = card.security_schemes.get(name);
        if let Some(SecurityScheme::MutualTls { .. }) = scheme {
            if means.certificate {
                continue;
            }
            return Ok(None);
        }
        let Some(credential) = credentials.of(name) else {
            return Ok(None);
        };
        let step = match scheme {
            Some(scheme) => fit(scheme, scopes, credential, means)?,
            // Named but not described: the user's word counts.
            None => plain(credential)?,
        };
        let Some(step) = step else {
            return Ok(None);
        };
        steps.push(step);
    }
    Ok(Some(steps))
}

/// A credential where a scheme wants it; nothing if it is of another kind.
fn fit(
    scheme: &SecurityScheme,
    required: &[String],
    credential: &Credential,
    means: Means<'_>,
) -> Result<Option<Step>, Error> {
    use SecurityScheme as S;
    let step = match (scheme, credential) {
        (_, Credential::Header { .. }) => return plain(credential),
        (S::ApiKey { location, name, .. }, Credential::ApiKey(key)) => match location {
            ApiKeyLocation::Header => {
                Step::Header(header_name(name)?, secret_header(key.reveal())?)
            }
            ApiKeyLocation::Query => Step::Query(name.clone(), key.clone()),
            ApiKeyLocation::Cookie => Step::Cookie(name.clone(), key.clone()),
        },
        (S::Http { scheme, .. }, Credential::Bearer(_))
            if scheme.eq_ignore_ascii_case("bearer") =>
        {
            return plain(credential);
        }
        (S::Http { scheme, .. }, Credential::Basic { .. })
            if scheme.eq_ignore_ascii_case("basic") =>
        {
            return plain(credential);
        }
        // A token that the user already has.
        (S::OAuth2 { .. } | S::OpenIdConnect { .. }, Credential::Bearer(_)) => {
            return plain(credential);
        }
        (
            S::OAuth2 { .. } | S::OpenIdConnect { .. },
            Credential::OAuth {
                client_id,
                client_secret,
                scopes,
            },
        ) => {
            let wanted = if scopes.is_empty() { required } else { scopes };
            let terms = Terms {
                client_id: client_id.clone(),
                client_secret: client_secret.clone(),
                scopes: wanted.to_vec(),
            };
            let source = Source::of(scheme, terms, means)?;
            return Ok(source.map(|source| Step::Token(Arc::new(source))));
        }
        _ => return Ok(None),
    };
    Ok(Some(step))
}

/// A credential where it usually goes.
fn plain(credential: &Credential) -> Result<Option<Step>, Error> {
    Ok(Some(match credential {
        Credential::Bearer(token) => Step::Header(AUTHORIZATION, bearer(token)?),
        Credential::Basic { user, password } => Step::Header(AUTHORIZATION, basic(user, password)?),
        Credential::ApiKey(key) => Step::Header(X_API_KEY, secret_header(key.reveal())?),
        Credential::Header { name, value } => {
            Step::Header(name.clone(), secret_header(value.reveal())?)
        }
        // Only a card says where tokens come from.
        Credential::OAuth { .. } => return Ok(None),
    }))
}

/// `Authorization: Basic`, for agents and for token endpoints.
pub(super) fn basic(user: &str, password: &Secret) -> Result<HeaderValue, Error> {
    let both = STANDARD.encode(format!("{user}:{}", password.reveal()));
    secret_header(&format!("Basic {both}"))
}

fn bearer(token: &Secret) -> Result<HeaderValue, Error> {
    secret_header(&format!("Bearer {}", token.reveal()))
}

fn secret_header(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::new(Kind::Reference, "a credential is not a valid header value"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn header_name(name: &str) -> Result<HeaderName, Error> {
    name.parse().map_err(|_| {
        let message = format!("the card names a header that is none: {name:?}");
        Error::new(Kind::CardInvalid, message)
    })
}

/// What a scheme wants, for people.
fn described(card: &AgentCard, name: &str) -> String {
    let kind = match card.security_schemes.get(name) {
        Some(SecurityScheme::ApiKey { .. }) => "an API key",
        Some(SecurityScheme::Http { scheme, .. }) => return format!("HTTP {scheme} ({name})"),
        Some(SecurityScheme::OAuth2 { .. }) => "OAuth 2.0",
        Some(SecurityScheme::OpenIdConnect { .. }) => "OpenID Connect",
        Some(SecurityScheme::MutualTls { .. }) => "a client certificate",
        None => "something it does not describe",
    };
    format!("{kind} ({name})")
}
