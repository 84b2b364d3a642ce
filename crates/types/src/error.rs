//! The closed list of ways a call can fail. Numbers and statuses live in the wire tables.

use std::borrow::Cow;
use std::fmt;

/// A failed call: what kind, said how, with which facts.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    facts: Vec<(Cow<'static, str>, String)>,
    violations: Vec<Violation>,
}

/// The longest text that is said back: errors name what was sent, which may be of any length.
const LONGEST: usize = 1000;

/// The fact that says in how many seconds to ask again.
const RETRY_AFTER: &str = "retryAfterSeconds";

/// One bad field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field, such as `message.parts[0].text`.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Not JSON.
    Parse,
    /// JSON, but not a request.
    InvalidRequest,
    /// No such method or path.
    MethodNotFound,
    /// A field is missing or wrong.
    InvalidParams,
    /// Our fault.
    Internal,
    /// No such task, or not the caller's.
    TaskNotFound,
    /// The task is over.
    TaskNotCancelable,
    /// The agent sends no webhooks.
    PushNotificationNotSupported,
    /// The operation, or this aspect of it, is not offered.
    UnsupportedOperation,
    /// The agent does not take this media type.
    ContentTypeNotSupported,
    /// An agent answered with something that is no answer.
    InvalidAgentResponse,
    /// The extended card is advertised but not there.
    ExtendedAgentCardNotConfigured,
    /// The agent requires an extension that the caller did not ask for.
    ExtensionSupportRequired,
    /// This protocol version is not spoken here.
    VersionNotSupported,
    /// Nobody answered an input request in time.
    InputTimeout,
    /// A tool failed.
    ToolExecutionFailed,
    /// No such conversation.
    ContextNotFound,
    /// What stands behind the agent cannot be reached.
    AgentUnavailable,
    /// No or bad credentials.
    Unauthenticated,
    /// Known, but not allowed.
    PermissionDenied,
    /// Too many requests, or too much at once.
    ResourceExhausted,
    /// The request is larger than the limit.
    PayloadTooLarge,
    /// The server cannot take the request now (storage not writable, shutting down).
    Unavailable,
}

impl ErrorKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 23] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::InputTimeout,
        Self::ToolExecutionFailed,
        Self::ContextNotFound,
        Self::AgentUnavailable,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::PayloadTooLarge,
        Self::Unavailable,
    ];

    /// The machine-readable reason: the error's name in upper snake case (A2A 1.0 §5.4).
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Parse => "JSON_PARSE",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::InvalidAgentResponse => "INVALID_AGENT_RESPONSE",
            Self::ExtendedAgentCardNotConfigured => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionSupportRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
            Self::InputTimeout => "INPUT_TIMEOUT",
            Self::ToolExecutionFailed => "TOOL_EXECUTION_FAILED",
            Self::ContextNotFound => "CONTEXT_NOT_FOUND",
            Self::AgentUnavailable => "AGENT_UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    /// The kind that a peer gives this reason.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.reason() == reason)
    }
}

impl Error {
    /// An error of that kind. The message is for the caller: lower case, no full stop, no secrets.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: short(message.into()),
            facts: Vec::new(),
            violations: Vec::new(),
        }))
    }

    /// No such task, or none that this caller may see.
    #[must_use]
    pub fn task_not_found(id: &str) -> Self {
        Self::new(ErrorKind::TaskNotFound, "task not found").fact("taskId", id)
    }

    /// A field is missing or wrong.
    pub fn invalid_params(field: impl Into<String>, description: impl Into<String>) -> Self {
        let (field, description) = (short(field.into()), short(description.into()));
        let message = format!("invalid params: {field} {description}");
        Self::new(ErrorKind::InvalidParams, message).violation(field, description)
    }

    /// Our fault; the cause goes to the log, not to the caller.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ErrorKind::Internal, "internal error")
    }

    /// The operation, or this aspect of it, is not offered.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UnsupportedOperation, message)
    }

    /// Adds a fact: a camelCase key and its value.
    #[must_use]
    pub fn fact(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        self.0.facts.push((key.into(), short(value.into())));
        self
    }

    /// Adds a bad field.
    #[must_use]
    pub fn violation(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        let (field, description) = (short(field.into()), short(description.into()));
        self.0.violations.push(Violation { field, description });
        self
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the caller is told.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Facts that go with it.
    #[must_use]
    pub fn facts(&self) -> &[(Cow<'static, str>, String)] {
        &self.0.facts
    }

    /// In how many seconds it makes sense to ask again; `None` if it does not.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        if !matches!(
            self.kind(),
            ErrorKind::ResourceExhausted | ErrorKind::Unavailable
        ) {
            return None;
        }
        let said = self.facts().iter().find(|(key, _)| key == RETRY_AFTER);
        let said = said.and_then(|(_, seconds)| seconds.parse().ok());
        Some(said.unwrap_or(1))
    }

    /// The same error, worth asking again in so many seconds.
    #[must_use]
    pub fn retry_in(self, seconds: u64) -> Self {
        self.fact(RETRY_AFTER, seconds.to_string())
    }

    /// Bad fields.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }
}

/// Cuts a text that is too long to be said back.
fn short(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}
