//! How a client command fails: one object for programs, two lines for people, and a matching exit code.

use std::fmt;

use serde_json::{Value, json};
use switchboard_types::printable;

/// Why a client command did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    code: String,
    message: String,
    hint: Option<String>,
    a2a_code: Option<i64>,
    exit: u8,
}

/// A failure that the protocol has no name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Local {
    Usage,
    CardNotFound,
    CardInvalid,
    Unreachable,
    CredentialsMissing,
    AuthFailed,
    Timeout,
    Internal,
}

impl Local {
    fn code(self) -> &'static str {
        match self {
            Self::Usage => "A2ACLI_ERR_USAGE",
            Self::CardNotFound => "A2ACLI_ERR_CARD_NOT_FOUND",
            Self::CardInvalid => "A2ACLI_ERR_CARD_INVALID",
            Self::Unreachable => "A2ACLI_ERR_UNREACHABLE",
            Self::CredentialsMissing => "A2ACLI_ERR_CREDENTIALS_MISSING",
            Self::AuthFailed => "A2ACLI_ERR_AUTH_FAILED",
            Self::Timeout => "A2ACLI_ERR_TIMEOUT",
            Self::Internal => "A2ACLI_ERR_INTERNAL",
        }
    }

    fn exit(self) -> u8 {
        match self {
            Self::CardInvalid | Self::Internal => 1,
            Self::Usage => 2,
            Self::CardNotFound | Self::Unreachable => 3,
            Self::CredentialsMissing | Self::AuthFailed => 4,
            Self::Timeout => 5,
        }
    }
}

impl Failure {
    /// A failure of our own.
    pub(super) fn local(kind: Local, message: impl Into<String>) -> Self {
        Self {
            code: kind.code().to_owned(),
            message: message.into(),
            hint: None,
            a2a_code: None,
            exit: kind.exit(),
        }
    }

    /// A failure that the agent told, by its name in the protocol.
    pub(super) fn told(name: impl Into<String>, message: impl Into<String>, number: i64) -> Self {
        Self {
            code: name.into(),
            message: message.into(),
            hint: None,
            a2a_code: Some(number),
            exit: 1,
        }
    }

    /// The command line asks for something that cannot be.
    pub(super) fn usage(message: &str, hint: &str) -> Self {
        Self::local(Local::Usage, message).hint(hint)
    }

    /// The user has had enough.
    pub(super) fn interrupted() -> Self {
        Self {
            code: "SWITCHBOARD_ERR_INTERRUPTED".to_owned(),
            message: "interrupted".to_owned(),
            hint: None,
            a2a_code: None,
            exit: super::INTERRUPTED,
        }
    }

    /// With the next step to take.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What the process ends with.
    pub(super) fn exit(&self) -> u8 {
        self.exit
    }

    /// The error object for programs.
    pub(super) fn envelope(&self) -> Value {
        json!({"error": {
            "code": self.code, "message": self.message, "hint": self.hint, "a2aCode": self.a2a_code,
        }})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An agent's words must not drive the terminal.
        write!(
            f,
            "error: {} ({})",
            printable::lines(&self.message),
            self.code
        )?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", printable::line(hint)),
            None => Ok(()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::local(Local::Internal, error.to_string())
    }
}
