//! What can go wrong between us and an agent, and how far the request had come when it did.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use switchboard_types::{Error as Answered, ErrorKind};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// A failed call. Opaque, because causes come from other libraries: ask for its [`Kind`].
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    message: String,
    hint: Option<Cow<'static, str>>,
    protocol: Option<Answered>,
    status: Option<u16>,
    code: Option<i64>,
    retry_after: Option<Duration>,
    reach: Reach,
    source: Option<Source>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The reference or a setting is no good.
    Reference,
    /// No card was found.
    CardNotFound,
    /// What was found is no card that can be used.
    CardInvalid,
    /// No connection could be made, or it broke.
    Unreachable,
    /// The card asks for credentials and none that fit were given.
    CredentialsMissing,
    /// The agent refused the credentials (401, 403).
    Refused,
    /// It took too long.
    Timeout,
    /// The answer is larger than the limit.
    TooLarge,
    /// The agent answered with an error: see [`Error::protocol`].
    Protocol,
    /// The agent answered with something that is no answer.
    Unintelligible,
    /// A stream broke and could not be resumed.
    Interrupted,
    /// The agent requires an extension that was not asked for.
    ExtensionRequired,
    /// The agent does not offer this.
    NotOffered,
}

/// How far a request had come when it failed: what may be repeated depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nothing left this machine.
    NotSent,
    /// It may have arrived.
    Sent,
    /// It arrived and was answered.
    Answered,
}

impl Error {
    /// A failure before anything was sent.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            hint: None,
            protocol: None,
            status: None,
            code: None,
            retry_after: None,
            reach: Reach::NotSent,
            source: None,
        }))
    }

    /// The agent answered with an error.
    pub(crate) fn answered(error: Answered) -> Self {
        let kind = match error.kind() {
            ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => Kind::Refused,
            ErrorKind::ExtensionSupportRequired => Kind::ExtensionRequired,
            _ => Kind::Protocol,
        };
        let message = format!("A2A agent returned error: {}", error.message());
        let mut failed = Self::new(kind, message).reached(Reach::Answered);
        failed.0.protocol = Some(error);
        failed
    }

    /// The agent answered with something that is no answer.
    pub(crate) fn unintelligible(why: impl fmt::Display) -> Self {
        let message = format!("the agent's answer cannot be understood: {why}");
        Self::new(Kind::Unintelligible, message).reached(Reach::Answered)
    }

    /// The whole of what an agent said that did not say it in a message.
    pub(crate) fn saying(mut self, raw: &str) -> Self {
        let end = raw.floor_char_boundary(1000);
        self.0.message = format!("A2A agent returned error: {}", &raw[..end]);
        self
    }

    pub(crate) fn reached(mut self, reach: Reach) -> Self {
        self.0.reach = reach;
        self
    }

    pub(crate) fn hinting(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_code(mut self, code: Option<i64>) -> Self {
        self.0.code = code;
        self
    }

    pub(crate) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    pub(crate) fn because(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn reach(&self) -> Reach {
        self.0.reach
    }

    /// How long the agent asks us to wait.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The agent's own error, if it gave one.
    #[must_use]
    pub fn protocol(&self) -> Option<&Answered> {
        self.0.protocol.as_ref()
    }

    /// The HTTP status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The number of the agent's error, as it stood in a JSON-RPC answer.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        self.0.code
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Whether the agent may have got the request all the same: no answer came.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.0.reach == Reach::Sent || matches!(self.0.kind, Kind::Interrupted)
    }

    /// Whether it is certain that the agent has not begun anything: no connection could be made, or the agent turned the
    /// request away (429, or 503 with a time to come back). Then even a message may be sent again.
    #[must_use]
    pub fn was_not_begun(&self) -> bool {
        crate::retry::was_not_begun(self)
    }

    /// Whether the agent answered with an error of that kind.
    #[must_use]
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.protocol().is_some_and(|error| error.kind() == kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            message,
            hint,
            protocol,
            status,
            code,
            source,
            ..
        } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("message", message)
            .field("hint", hint)
            .field("protocol", protocol)
            .field("status", status)
            .field("code", code)
            .field("source", source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
