//! Numbers, statuses, titles and bodies of errors in 0.x (A2A 0.3 §8; 0.2 §8).

use crate::error::{Error, ErrorKind};
use crate::wire::write::{Members, object};

/// How one kind of error looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The number in JSON-RPC; REST repeats it.
    pub code: i32,
    /// The HTTP status in REST, as the official SDK for 0.3 sets it.
    pub status: u16,
    /// What the message begins with: the default message of the 0.x schema.
    pub title: &'static str,
}

/// The table; from -32050 down the numbers are Switchboard's own, as in 1.0.
/// -32007 to -32009 are those of 1.0, since 0.x has none for the last two.
#[must_use]
pub fn row(kind: ErrorKind) -> Row {
    let (code, status, title) = match kind {
        ErrorKind::Parse => (-32700, 400, "Invalid JSON payload"),
        ErrorKind::InvalidRequest => (-32600, 400, "Invalid Request"),
        ErrorKind::MethodNotFound => (-32601, 404, "Method not found"),
        ErrorKind::InvalidParams => (-32602, 400, "Invalid params"),
        ErrorKind::Internal => (-32603, 500, "Internal error"),
        ErrorKind::TaskNotFound => (-32001, 404, "Task not found"),
        ErrorKind::TaskNotCancelable => (-32002, 409, "Task cannot be canceled"),
        ErrorKind::PushNotificationNotSupported => {
            (-32003, 501, "Push Notification is not supported")
        }
        ErrorKind::UnsupportedOperation => (-32004, 501, "This operation is not supported"),
        ErrorKind::ContentTypeNotSupported => (-32005, 415, "Incompatible content types"),
        ErrorKind::InvalidAgentResponse => (-32006, 502, "Invalid agent response"),
        ErrorKind::ExtendedAgentCardNotConfigured => {
            (-32007, 404, "Authenticated Extended Card is not configured")
        }
        ErrorKind::ExtensionSupportRequired => (-32008, 400, "Extension support required"),
        ErrorKind::VersionNotSupported => (-32009, 400, "Protocol version is not supported"),
        ErrorKind::InputTimeout => (-32050, 504, "Input timeout"),
        ErrorKind::ToolExecutionFailed => (-32051, 500, "Tool execution failed"),
        ErrorKind::ContextNotFound => (-32052, 404, "Context not found"),
        ErrorKind::AgentUnavailable => (-32053, 503, "Agent unavailable"),
        ErrorKind::Unauthenticated => (-32054, 401, "Unauthorized"),
        // 0.x has no number for it; agents say it with -32603, and the status tells it apart.
        ErrorKind::PermissionDenied => (-32603, 403, "Forbidden"),
        ErrorKind::ResourceExhausted => (-32056, 429, "Too many requests"),
        ErrorKind::PayloadTooLarge => (-32057, 413, "Payload too large"),
        ErrorKind::Unavailable => (-32058, 503, "Service unavailable"),
    };
    Row {
        code,
        status,
        title,
    }
}

/// Writes the JSON-RPC error object.
pub(crate) fn jsonrpc(error: &Error, out: &mut Vec<u8>) {
    object(out, |o| members(error, row(error.kind()).code, o));
}

/// Writes the REST body. No schema exists; clients of the official SDKs read `code`, `message` and
/// `data` at the top, that of the Python SDK 1.x the name of the error as `type`, others an `error`
/// with the HTTP status: all of it is there.
pub(crate) fn rest(error: &Error, out: &mut Vec<u8>) {
    let row = row(error.kind());
    object(out, |o| {
        o.str("type", &name(error.kind()));
        members(error, row.code, o);
        o.object("error", |o| members(error, i32::from(row.status), o));
    });
}

fn members(error: &Error, code: i32, o: &mut Members<'_>) {
    let detail = detail(error.message(), row(error.kind()).title);
    o.number("code", code);
    o.str("message", &text(error));
    o.object("data", |o| {
        // `reason` is for machines, `detail` for people.
        o.str("reason", error.kind().reason());
        if let Some(detail) = detail {
            o.str("detail", detail);
        }
        // What an agent told of another error must not be taken for ours.
        let own = |key: &str| matches!(key, "reason" | "detail" | "violations");
        for (key, value) in error.facts().iter().filter(|(key, _)| !own(key)) {
            o.foreign(key, value);
        }
        if !error.violations().is_empty() {
            o.array("violations", error.violations(), |violation, out| {
                object(out, |o| {
                    o.str("field", &violation.field);
                    o.str("description", &violation.description);
                });
            });
        }
    });
}

/// The name of the error: `TaskNotFoundError` for the reason `TASK_NOT_FOUND`.
pub(crate) fn name(kind: ErrorKind) -> String {
    let mut name = String::new();
    for word in kind.reason().split('_') {
        match word {
            "JSON" => name.push_str(word),
            _ => {
                name.push_str(&word[..1]);
                name.push_str(&word[1..].to_ascii_lowercase());
            }
        }
    }
    name + "Error"
}

/// The title, and what the message says beyond it.
pub(crate) fn text(error: &Error) -> String {
    let title = row(error.kind()).title;
    match detail(error.message(), title) {
        Some(detail) => format!("{title}: {detail}"),
        None => title.to_owned(),
    }
}

/// What the message says beyond the title.
fn detail<'a>(message: &'a str, title: &str) -> Option<&'a str> {
    let same = message
        .get(..title.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(title));
    let rest = if same {
        message[title.len()..].trim_start_matches([':', ' '])
    } else {
        message
    };
    (!rest.is_empty()).then_some(rest)
}
