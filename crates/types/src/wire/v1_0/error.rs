//! Numbers, statuses and bodies of errors in 1.0 (A2A 1.0.1 §5.4, §9.5, §11.6).

use crate::error::{Error, ErrorKind};
use crate::wire::write::{Members, object};

/// The domain of errors that A2A or JSON-RPC define (A2A 1.0 §5.4).
pub const DOMAIN: &str = "a2a-protocol.org";

/// The domain of the errors that only Switchboard has.
pub const OWN_DOMAIN: &str = "switchboard";

/// The numbers that only Switchboard has: the end of the range the protocol leaves to servers.
const OWN_CODES: std::ops::RangeInclusive<i32> = -32099..=-32050;

/// How one kind of error looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The number in JSON-RPC.
    pub code: i32,
    /// The HTTP status in REST.
    pub status: u16,
    /// The name of the gRPC code, which REST repeats.
    pub grpc: &'static str,
}

/// The table (A2A 1.0.1 §5.4); from -32050 down the numbers are Switchboard's own.
#[must_use]
pub fn row(kind: ErrorKind) -> Row {
    let (code, status, grpc) = match kind {
        ErrorKind::Parse => (-32700, 400, "INVALID_ARGUMENT"),
        ErrorKind::InvalidRequest => (-32600, 400, "INVALID_ARGUMENT"),
        ErrorKind::MethodNotFound => (-32601, 404, "NOT_FOUND"),
        ErrorKind::InvalidParams => (-32602, 400, "INVALID_ARGUMENT"),
        ErrorKind::Internal => (-32603, 500, "INTERNAL"),
        ErrorKind::TaskNotFound => (-32001, 404, "NOT_FOUND"),
        ErrorKind::TaskNotCancelable => (-32002, 400, "FAILED_PRECONDITION"),
        ErrorKind::PushNotificationNotSupported => (-32003, 400, "FAILED_PRECONDITION"),
        ErrorKind::UnsupportedOperation => (-32004, 400, "FAILED_PRECONDITION"),
        ErrorKind::ContentTypeNotSupported => (-32005, 400, "INVALID_ARGUMENT"),
        ErrorKind::InvalidAgentResponse => (-32006, 500, "INTERNAL"),
        ErrorKind::ExtendedAgentCardNotConfigured => (-32007, 400, "FAILED_PRECONDITION"),
        ErrorKind::ExtensionSupportRequired => (-32008, 400, "FAILED_PRECONDITION"),
        ErrorKind::VersionNotSupported => (-32009, 400, "FAILED_PRECONDITION"),
        ErrorKind::InputTimeout => (-32050, 504, "DEADLINE_EXCEEDED"),
        ErrorKind::ToolExecutionFailed => (-32051, 500, "INTERNAL"),
        ErrorKind::ContextNotFound => (-32052, 404, "NOT_FOUND"),
        ErrorKind::AgentUnavailable => (-32053, 503, "UNAVAILABLE"),
        ErrorKind::Unauthenticated => (-32054, 401, "UNAUTHENTICATED"),
        ErrorKind::PermissionDenied => (-32055, 403, "PERMISSION_DENIED"),
        ErrorKind::ResourceExhausted => (-32056, 429, "RESOURCE_EXHAUSTED"),
        ErrorKind::PayloadTooLarge => (-32057, 413, "RESOURCE_EXHAUSTED"),
        ErrorKind::Unavailable => (-32058, 503, "UNAVAILABLE"),
    };
    Row { code, status, grpc }
}

/// Whether only Switchboard has this error.
pub(crate) fn is_own(kind: ErrorKind) -> bool {
    OWN_CODES.contains(&row(kind).code)
}

/// The domain an error belongs to.
pub(crate) fn domain(kind: ErrorKind) -> &'static str {
    if is_own(kind) { OWN_DOMAIN } else { DOMAIN }
}

/// Writes the JSON-RPC error object.
pub(crate) fn jsonrpc(error: &Error, out: &mut Vec<u8>) {
    object(out, |o| {
        o.number("code", row(error.kind()).code);
        o.str("message", error.message());
        details(error, "data", o);
    });
}

/// Writes the REST body, in the envelope of AIP-193.
pub(crate) fn rest(error: &Error, out: &mut Vec<u8>) {
    let row = row(error.kind());
    object(out, |o| {
        o.object("error", |o| {
            o.number("code", row.status);
            o.str("status", row.grpc);
            o.str("message", error.message());
            details(error, "details", o);
        });
    });
}

/// `ErrorInfo`, and `BadRequest` where fields are to blame.
fn details(error: &Error, name: &str, o: &mut Members<'_>) {
    let bad = (!error.violations().is_empty()).then_some(Detail::BadRequest);
    o.array(
        name,
        [Some(Detail::Info), bad].into_iter().flatten(),
        |detail, out| {
            object(out, |o| match detail {
                Detail::Info => error_info(error, o),
                Detail::BadRequest => bad_request(error, o),
            });
        },
    );
}

enum Detail {
    Info,
    BadRequest,
}

fn error_info(error: &Error, o: &mut Members<'_>) {
    o.str("@type", "type.googleapis.com/google.rpc.ErrorInfo");
    o.str("reason", error.kind().reason());
    o.str("domain", domain(error.kind()));
    if !error.facts().is_empty() {
        o.object("metadata", |o| {
            for (key, value) in error.facts() {
                o.foreign(key, value);
            }
        });
    }
}

fn bad_request(error: &Error, o: &mut Members<'_>) {
    o.str("@type", "type.googleapis.com/google.rpc.BadRequest");
    o.array("fieldViolations", error.violations(), |violation, out| {
        object(out, |o| {
            o.str("field", &violation.field);
            o.str("description", &violation.description);
        });
    });
}
