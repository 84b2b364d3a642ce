//! Why a gateway cannot be talked to, for our log and for callers.

use std::time::Duration;

use switchboard_server::agent::AgentError;

use super::frame::Fault;
use crate::upstream::Down;

/// Why there is no line to a gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// It is not there.
    #[error("it cannot be reached: {0}")]
    Away(String),
    /// It starts.
    #[error("it is not ready yet")]
    Starting(Option<Duration>),
    /// Its owner has not approved of this device.
    #[error("it asks to be paired: approve with `openclaw devices approve {}` on its host", .0.as_deref().unwrap_or("--latest"))]
    Unpaired(Option<String>),
    /// It does not take the token.
    #[error("it rejected the token")]
    Token,
    /// It lets us in, and lets us do nothing.
    #[error("it does not grant the right to run agents (operator.write)")]
    Rights,
    /// It speaks another version.
    #[error("it supports neither version 3 nor 4 of its protocol")]
    Version,
    /// It, or what stands before it, takes no WebSocket.
    #[error("it does not accept WebSocket connections: HTTP {0}")]
    Upgrade(u16),
    /// Anything else.
    #[error("it refuses: {0}")]
    Other(String),
}

impl Refused {
    /// What a refused handshake means. A text of the gateway's is as it was given: see [`Self::told_by`].
    pub(super) fn handshake(fault: &Fault) -> Self {
        match (fault.detail(), &*fault.code) {
            ("PAIRING_REQUIRED", _) => {
                let request = fault.details["requestId"].as_str();
                // What is shown as a command must not be another one.
                let plain = |id: &&str| {
                    let word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
                    !id.is_empty() && id.len() <= 64 && id.chars().all(word)
                };
                Self::Unpaired(request.filter(plain).map(str::to_owned))
            }
            ("AUTH_TOKEN_MISMATCH" | "AUTH_TOKEN_MISSING" | "AUTH_DEVICE_TOKEN_MISMATCH", _) => {
                Self::Token
            }
            ("PROTOCOL_MISMATCH", _) => Self::Version,
            (_, "UNAVAILABLE") => Self::Starting(fault.retry_after()),
            _ if fault.message == "protocol mismatch" => Self::Version,
            _ => Self::Other(fault.message.clone()),
        }
    }

    /// The same, with texts of others told so.
    pub(super) fn told_by(self, tell: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Away(text) => Self::Away(tell(text)),
            Self::Other(text) => Self::Other(tell(text)),
            other => other,
        }
    }

    /// The gateway is down, if that is what it means. For all else HTTP may do where the socket does not, or its operator.
    pub(super) fn down(&self) -> Option<Down> {
        match self {
            Self::Away(why) if why.is_empty() => Some(Down::unreachable("no connection")),
            Self::Away(why) => Some(Down::unreachable(why.clone())),
            Self::Starting(asked) => Some(Down::unavailable("the gateway is starting", *asked)),
            Self::Unpaired(_)
            | Self::Token
            | Self::Rights
            | Self::Version
            | Self::Upgrade(_)
            | Self::Other(_) => None,
        }
    }

    /// How long to wait at most before it is asked again.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(match self {
            Self::Starting(_) => 5,
            Self::Unpaired(_) => 15,
            Self::Away(_) => 30,
            Self::Token | Self::Rights | Self::Version | Self::Upgrade(_) | Self::Other(_) => 60,
        })
    }

    /// What a caller is told: also how to help, as the caller may be the operator.
    pub(super) fn told(&self) -> AgentError {
        match self {
            Self::Away(_) => AgentError::unavailable(
                "the OpenClaw gateway cannot be reached: check that it runs, or try again later",
            ),
            Self::Starting(_) => {
                AgentError::unavailable("the OpenClaw gateway is not ready yet: try again later")
            }
            other => {
                AgentError::unavailable(format!("the OpenClaw gateway cannot be used: {other}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(fault: serde_json::Value) -> Refused {
        Refused::handshake(&serde_json::from_value(fault).unwrap())
    }

    #[test]
    fn what_a_gateway_refuses_is_told_with_what_to_do() {
        let pairing = |id: &str| {
            json!({"code": "NOT_PAIRED", "message": "pairing required: device is not approved yet",
                "details": {"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": id}})
        };
        let error = refused(pairing("98ca4865-586e")).told();
        assert_eq!(
            error.to_string(),
            "the OpenClaw gateway cannot be used: it asks to be paired: approve with \
             `openclaw devices approve 98ca4865-586e` on its host"
        );
        assert_eq!(refused(pairing("x; rm -rf")), Refused::Unpaired(None));
        for (fault, expected) in [
            (
                json!({"code": "INVALID_REQUEST", "message": "unauthorized: gateway token mismatch", "details": {"code": "AUTH_TOKEN_MISMATCH"}}),
                Refused::Token,
            ),
            (
                json!({"code": "INVALID_REQUEST", "message": "protocol mismatch", "details": {"code": "PROTOCOL_MISMATCH", "expectedProtocol": 5}}),
                Refused::Version,
            ),
            // Gateways of 2026.2 give no code.
            (
                json!({"code": "INVALID_REQUEST", "message": "protocol mismatch", "details": {"expectedProtocol": 2}}),
                Refused::Version,
            ),
            (
                json!({"code": "UNAVAILABLE", "message": "starting", "details": {"reason": "startup-sidecars", "retryAfterMs": 700}}),
                Refused::Starting(Some(Duration::from_millis(700))),
            ),
            (
                json!({"code": "INVALID_REQUEST", "message": "device nonce\nmismatch"}),
                Refused::Other("device nonce\nmismatch".to_owned()),
            ),
        ] {
            assert_eq!(refused(fault), expected);
        }
    }
}
