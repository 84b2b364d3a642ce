//! The errors of the agent, as the specification numbers them.

use serde_json::{Value, json};

/// An error.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) status: u16,
    /// The name in `google.rpc.ErrorInfo`; errors of JSON-RPC itself have none.
    pub(super) reason: Option<&'static str>,
    pub(super) message: String,
    /// What is wrong with which field.
    pub(super) field: Option<&'static str>,
}

/// The name of a gRPC code for a status of HTTP+JSON.
fn status_name(refusal: &Refusal) -> &'static str {
    match (refusal.status, refusal.reason) {
        (401, _) => "UNAUTHENTICATED",
        (404, _) => "NOT_FOUND",
        (400, Some("CONTENT_TYPE_NOT_SUPPORTED") | None) => "INVALID_ARGUMENT",
        _ => "FAILED_PRECONDITION",
    }
}

impl Refusal {
    fn of(code: i64, status: u16, reason: &'static str, message: &str) -> Self {
        Self {
            code,
            status,
            reason: Some(reason),
            message: message.to_owned(),
            field: None,
        }
    }

    pub(super) fn plain(code: i64, status: u16, message: &str) -> Self {
        Self {
            code,
            status,
            reason: None,
            message: message.to_owned(),
            field: None,
        }
    }

    pub(super) fn invalid(field: &'static str, message: &str) -> Self {
        Self {
            field: Some(field),
            ..Self::plain(-32602, 400, message)
        }
    }

    pub(super) fn task_not_found() -> Self {
        Self::of(-32001, 404, "TASK_NOT_FOUND", "no such task")
    }

    pub(super) fn not_cancelable() -> Self {
        Self::of(-32002, 400, "TASK_NOT_CANCELABLE", "the task is over")
    }

    pub(super) fn no_push() -> Self {
        Self::of(
            -32003,
            400,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
            "no webhooks here",
        )
    }

    pub(super) fn unsupported(message: &str) -> Self {
        Self::of(-32004, 400, "UNSUPPORTED_OPERATION", message)
    }

    pub(super) fn content_type() -> Self {
        Self::of(
            -32005,
            400,
            "CONTENT_TYPE_NOT_SUPPORTED",
            "only text is read here",
        )
    }

    pub(super) fn extension() -> Self {
        Self::of(
            -32008,
            400,
            "EXTENSION_SUPPORT_REQUIRED",
            "the extension is required",
        )
    }

    pub(super) fn version() -> Self {
        Self::of(
            -32009,
            400,
            "VERSION_NOT_SUPPORTED",
            "only 1.0 is served here",
        )
    }

    /// The details of 1.0.
    fn details(&self) -> Value {
        let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
        let mut details = Vec::new();
        if let Some(reason) = self.reason {
            details.push(
                json!({"@type": kind("ErrorInfo"), "reason": reason, "domain": "a2a-protocol.org"}),
            );
        }
        if let Some(field) = self.field {
            let violation = json!({"field": field, "description": self.message});
            details.push(json!({"@type": kind("BadRequest"), "fieldViolations": [violation]}));
        }
        json!(details)
    }

    /// The error object of JSON-RPC.
    pub(super) fn enveloped(&self, older: bool) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if !older {
            error["data"] = self.details();
        }
        error
    }

    /// The body in HTTP+JSON.
    pub(super) fn body(&self, older: bool) -> Value {
        if older {
            return json!({"code": self.code, "message": self.message});
        }
        json!({"error": {"code": self.status, "status": status_name(self), "message": self.message,
            "details": self.details()}})
    }
}
