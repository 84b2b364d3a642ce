//! Who an agent is to what stands behind it: the headers that it sends there with a request.
//!
//! An agent that calls others over the network has an [`Outbound`]. It names [`Outbound::wants`] in
//! [`Agent::forwarded_headers`], puts [`Outbound::headers`] on every request, tells [`Outbound::refused`] when the other side
//! answers 401, and ends its turn with [`IdentityError::ending`] where there is no identity.
//!
//! Nothing of a caller is passed on unless an operator has named it. It is kept in memory only: a turn that goes on
//! after a restart has lost it, and has to ask the caller again.
//!
//! [`Agent::forwarded_headers`]: switchboard_server::agent::Agent::forwarded_headers

use http::header::{
    AUTHORIZATION, CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_client::{Error, Kind, Tokens};
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::principal::Principal;
use switchboard_types::model::Secret;
use tokio::time::Instant;

/// Headers that belong to one message or one connection. So do all whose name begins with `content-`.
const OF_ONE_MESSAGE: [HeaderName; 11] = [
    CONNECTION,
    EXPECT,
    HOST,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What an agent shows to what stands behind it. Nothing, unless it is said.
#[derive(Debug, Default)]
pub struct Outbound(Shown);

#[derive(Debug, Default)]
enum Shown {
    #[default]
    Nothing,
    Fixed(HeaderMap),
    Forwarded(Vec<HeaderName>),
    Token(Box<Tokens>),
}

/// Why headers cannot be sent along.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// It belongs to one message or connection.
    #[error("the header {0} belongs to a single hop and is never forwarded")]
    Name(HeaderName),
    /// Its value is not a valid header value.
    #[error("the value of the header {0} is not a valid header value")]
    Value(HeaderName),
}

/// Why there is no identity to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// There is nobody to act for: the caller has shown no token, or it is gone with a restart. The caller can help.
    #[error("the caller's credentials are required but missing")]
    NoCredential,
    /// The issuer of tokens says no. It will say so again.
    #[error("{0}")]
    Refused(String),
    /// No token could be had now. Later, one may.
    #[error("{0}")]
    Unavailable(String),
}

impl Outbound {
    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The same headers for everyone.
    ///
    /// # Errors
    ///
    /// If one of them cannot be sent.
    pub fn fixed(
        headers: impl IntoIterator<Item = (HeaderName, Secret)>,
    ) -> Result<Self, Unsendable> {
        let mut fixed = HeaderMap::new();
        for (name, value) in headers {
            require_sendable(&name)?;
            let value = hidden(value.reveal()).ok_or_else(|| Unsendable::Value(name.clone()))?;
            fixed.append(name, value);
        }
        Ok(Self(Shown::Fixed(fixed)))
    }

    /// These headers of the caller's request, as they are.
    ///
    /// # Errors
    ///
    /// If one of them is never passed on.
    pub fn forwarded(names: Vec<HeaderName>) -> Result<Self, Unsendable> {
        names.iter().try_for_each(require_sendable)?;
        Ok(Self(Shown::Forwarded(names)))
    }

    /// A token: the agent's own, or one in exchange for the caller's.
    #[must_use]
    pub fn token(tokens: Tokens) -> Self {
        Self(Shown::Token(Box::new(tokens)))
    }

    /// Whether nothing is shown.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self.0, Shown::Nothing)
    }

    /// The headers of a caller's request that are needed, for
    /// [`Agent::forwarded_headers`](switchboard_server::agent::Agent::forwarded_headers).
    #[must_use]
    pub fn wants(&self) -> &[HeaderName] {
        match &self.0 {
            Shown::Nothing | Shown::Fixed(_) => &[],
            Shown::Forwarded(names) => names,
            Shown::Token(tokens) if tokens.are_exchanged() => &[AUTHORIZATION],
            Shown::Token(_) => &[],
        }
    }

    /// The headers to send on behalf of `caller`.
    ///
    /// # Errors
    ///
    /// If there is nobody to act for, or no token can be had until `deadline`.
    pub async fn headers(
        &self,
        caller: &Principal,
        deadline: Instant,
    ) -> Result<HeaderMap, IdentityError> {
        match &self.0 {
            Shown::Nothing => Ok(HeaderMap::new()),
            Shown::Fixed(headers) => Ok(headers.clone()),
            Shown::Forwarded(names) => {
                let brought = caller.forwarded().ok_or(IdentityError::NoCredential)?;
                let mut headers = HeaderMap::new();
                for name in names {
                    for value in brought.get_all(name) {
                        headers.append(name, value.clone());
                    }
                }
                Ok(headers)
            }
            Shown::Token(tokens) => {
                let subject = subject(tokens, caller);
                if tokens.are_exchanged() && subject.is_none() {
                    return Err(IdentityError::NoCredential);
                }
                let got = tokens.get(subject.as_ref(), deadline).await?;
                bearer(&got.token).ok_or_else(|| {
                    let message = "the issuer gave a token that is not a valid header value";
                    IdentityError::Unavailable(message.to_owned())
                })
            }
        }
    }

    /// The headers to send on behalf of nobody but the agent itself: for what is asked once for all callers. None, where
    /// it is somebody only with a caller.
    ///
    /// # Errors
    ///
    /// If no token can be had until `deadline`.
    pub async fn own_headers(&self, deadline: Instant) -> Result<Option<HeaderMap>, Error> {
        match &self.0 {
            Shown::Fixed(headers) => Ok(Some(headers.clone())),
            Shown::Token(tokens) if !tokens.are_exchanged() => {
                let got = tokens.get(None, deadline).await?;
                Ok(bearer(&got.token))
            }
            Shown::Nothing | Shown::Forwarded(_) | Shown::Token(_) => Ok(None),
        }
    }

    /// The other side does not take the agent's own headers. Whether it is worth to ask for others, once.
    #[must_use]
    pub fn own_refused(&self, sent: &HeaderMap) -> bool {
        self.forget(None, sent)
    }

    /// The other side does not take the headers that were sent for `caller` (401). Whether it is worth to ask for
    /// others and to try again, once.
    pub fn refused(&self, caller: &Principal, sent: &HeaderMap) -> bool {
        self.forget(Some(caller), sent)
    }

    fn forget(&self, caller: Option<&Principal>, sent: &HeaderMap) -> bool {
        let Shown::Token(tokens) = &self.0 else {
            return false;
        };
        let sent = sent
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if let Some(token) = sent.and_then(|text| text.strip_prefix("Bearer ")) {
            let subject = caller.and_then(|caller| subject(tokens, caller));
            tokens.forget(subject.as_ref(), &Secret::new(token));
        }
        true
    }
}

impl IdentityError {
    /// How a turn ends that needs an identity and has none. Callers are not told where tokens come from; our log is.
    ///
    /// # Errors
    ///
    /// Where the caller cannot help.
    pub fn ending(&self) -> Result<Outcome, AgentError> {
        tracing::warn!(error = %self, "no credentials for the upstream");
        match self {
            Self::NoCredential => {
                let text = "authentication required to continue: send a message with credentials";
                Ok(Outcome::AuthRequired(Said::text(text)))
            }
            Self::Refused(_) => Err(AgentError::new("the agent may not act for this caller")),
            Self::Unavailable(_) => Err(AgentError::unavailable(
                "the agent's upstream credentials are not available now",
            )),
        }
    }
}

impl From<Error> for IdentityError {
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::CredentialsMissing => Self::NoCredential,
            Kind::Refused | Kind::Reference | Kind::CardInvalid => Self::Refused(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

/// The token to exchange, if tokens are.
fn subject(tokens: &Tokens, caller: &Principal) -> Option<Secret> {
    let token = caller.token().filter(|_| tokens.are_exchanged());
    token.map(Secret::new)
}

fn require_sendable(name: &HeaderName) -> Result<(), Unsendable> {
    if OF_ONE_MESSAGE.contains(name) || name.as_str().starts_with("content-") {
        return Err(Unsendable::Name(name.clone()));
    }
    Ok(())
}

/// The header that shows a token.
fn bearer(token: &Secret) -> Option<HeaderMap> {
    let value = hidden(&format!("Bearer {}", token.reveal()))?;
    Some(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// A value that is not shown.
fn hidden(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_message_is_never_sent_along() {
        for name in [
            "connection",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "expect",
            "host",
            "content-length",
            "content-type",
            "content-encoding",
        ] {
            let name = HeaderName::from_static(name);
            let refused = Unsendable::Name(name.clone());
            let known = HeaderName::from_static("x-trace");
            let error = Outbound::forwarded(vec![known, name.clone()]).unwrap_err();
            assert_eq!(error, refused);
            let error = Outbound::fixed([(name, Secret::new("x"))]).unwrap_err();
            assert_eq!(error, refused);
        }
        assert!(Outbound::forwarded(vec![AUTHORIZATION, http::header::COOKIE]).is_ok());
    }

    #[test]
    fn a_value_that_is_no_header_is_refused_and_none_is_shown() {
        let key = HeaderName::from_static("x-key");
        let error = Outbound::fixed([(key.clone(), Secret::new("s3cr3t\r\nx: y"))]).unwrap_err();
        assert_eq!(error, Unsendable::Value(key.clone()));
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
        let fixed = Outbound::fixed([(key, Secret::new("s3cr3t"))]).unwrap();
        assert!(!format!("{fixed:?}").contains("s3cr3t"), "{fixed:?}");
    }
}
