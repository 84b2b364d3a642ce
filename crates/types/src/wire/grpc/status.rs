//! Errors as gRPC says them: a code, a message, and `google.rpc.Status` with details (A2A 1.0 §10.6).

use prost::Message as _;
use prost_types::Any;
use switchboard_proto::rpc;

use super::parse;
use crate::error::{Error, ErrorKind};
use crate::model::Binding;
use crate::version::{Dialect, ProtocolVersion};
use crate::wire::write::{self, Members};
use crate::wire::{fault, v0_3, v1_0};

/// An error in the trailers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The number of the gRPC code.
    pub code: i32,
    /// For people.
    pub message: String,
    /// An encoded `google.rpc.Status`, for `grpc-status-details-bin`.
    pub details: Vec<u8>,
}

/// The names of the codes, each at its number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// An error for the wire.
#[must_use]
pub fn write_status(version: ProtocolVersion, error: &Error) -> Status {
    let code = CODES
        .iter()
        .position(|name| *name == code_name(version, error.kind()));
    let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(2);
    let message = match version {
        ProtocolVersion::V1_0 => error.message().to_owned(),
        // The clients of the Python SDK tell errors apart by the name that theirs begin with.
        ProtocolVersion::V0_3 => {
            let name = v0_3::error::name(error.kind());
            format!("{name}: {}", v0_3::error::text(error))
        }
    };
    let details = rpc::Status {
        code,
        message: message.clone(),
        details: details(error),
    };
    Status {
        code,
        message,
        details: details.encode_to_vec(),
    }
}

/// The code of an error. 0.3 names none; these are the Python SDK's, as far as they tell errors apart.
fn code_name(version: ProtocolVersion, kind: ErrorKind) -> &'static str {
    match (version, kind) {
        (_, ErrorKind::MethodNotFound)
        | (
            ProtocolVersion::V0_3,
            ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation,
        ) => "UNIMPLEMENTED",
        _ => v1_0::error::row(kind).grpc,
    }
}

fn details(error: &Error) -> Vec<Any> {
    let any = |type_url: &str, value| Any {
        type_url: type_url.to_owned(),
        value,
    };
    let info = rpc::ErrorInfo {
        reason: error.kind().reason().to_owned(),
        domain: v1_0::error::domain(error.kind()).to_owned(),
        metadata: error
            .facts()
            .iter()
            .map(|(key, value)| (key.to_string(), value.clone()))
            .collect(),
    };
    let mut all = vec![any(ERROR_INFO, info.encode_to_vec())];
    if !error.violations().is_empty() {
        let each = error.violations().iter();
        let bad = rpc::BadRequest {
            field_violations: each
                .map(|violation| rpc::bad_request::FieldViolation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect(),
        };
        all.push(any(BAD_REQUEST, bad.encode_to_vec()));
    }
    if let Some(seconds) = error.retry_after() {
        let retry = rpc::RetryInfo {
            retry_delay: Some(prost_types::Duration {
                seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
                nanos: 0,
            }),
        };
        all.push(any(RETRY_INFO, retry.encode_to_vec()));
    }
    all
}

/// An error from the wire; `details` is what stood in `grpc-status-details-bin`, empty if nothing did.
///
/// Never fails: what says nothing is told by its code, and an unknown code is `Internal`.
#[must_use]
pub fn read_status(version: ProtocolVersion, code: i32, message: &str, details: &[u8]) -> Error {
    let said = parse::<rpc::Status>(details).unwrap_or_default();
    let name = usize::try_from(code).ok().and_then(|code| CODES.get(code));
    // The same as AIP-193 says in JSON, so that one reader finds the kind.
    let mut json = Vec::new();
    write::object(&mut json, |o| {
        o.str("status", name.unwrap_or(&"UNKNOWN"));
        o.str("message", message);
        if said.details.is_empty() && code == NOT_FOUND {
            o.str("reason", ErrorKind::TaskNotFound.reason());
        }
        o.array("details", &said.details, |detail, out| {
            write::object(out, |o| read_detail(detail, o));
        });
    });
    let json = String::from_utf8(json).unwrap_or_default();
    fault::decode(Dialect::spoken(&Binding::Grpc, version), None, &json)
}

/// Nothing but tasks and what belongs to them can be missing.
const NOT_FOUND: i32 = 5;

fn read_detail(detail: &Any, o: &mut Members<'_>) {
    let value = &detail.value;
    o.str("@type", &detail.type_url);
    match detail.type_url.rsplit('/').next().unwrap_or_default() {
        "google.rpc.ErrorInfo" => {
            let info: rpc::ErrorInfo = parse(value).unwrap_or_default();
            o.str("reason", &info.reason);
            o.object("metadata", |o| {
                for (key, value) in &info.metadata {
                    o.str(key, value);
                }
            });
        }
        "google.rpc.BadRequest" => {
            let bad: rpc::BadRequest = parse(value).unwrap_or_default();
            o.array("fieldViolations", &bad.field_violations, |field, out| {
                write::object(out, |o| {
                    o.str("field", &field.field);
                    o.str("description", &field.description);
                });
            });
        }
        "google.rpc.RetryInfo" => {
            let retry: rpc::RetryInfo = parse(value).unwrap_or_default();
            let seconds = retry.retry_delay.map_or(0, |delay| delay.seconds);
            o.str("retryDelay", &format!("{seconds}s"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_survives_with_its_facts_and_fields() {
        for version in ProtocolVersion::ALL {
            for kind in ErrorKind::ALL {
                let error = Error::new(kind, "it went wrong")
                    .fact("taskId", "t1")
                    .violation("message.parts", "must hold at least one part");
                let status = write_status(version, &error);
                assert!((1..17).contains(&status.code), "{kind:?}");
                let back = read_status(version, status.code, &status.message, &status.details);
                assert_eq!(back.kind(), kind, "{version:?}");
                assert!(back.message().contains("it went wrong"), "{back}");
                assert_eq!(back.facts()[0], ("taskId".into(), "t1".to_owned()));
                assert_eq!(back.violations(), error.violations());
            }
        }
    }

    #[test]
    fn codes_are_those_of_the_specification() {
        for (kind, new, old) in [
            (ErrorKind::TaskNotFound, 5, 5),
            (ErrorKind::TaskNotCancelable, 9, 9),
            (ErrorKind::PushNotificationNotSupported, 9, 12),
            (ErrorKind::UnsupportedOperation, 9, 12),
            (ErrorKind::ContentTypeNotSupported, 3, 3),
            (ErrorKind::InvalidAgentResponse, 13, 13),
            (ErrorKind::ExtendedAgentCardNotConfigured, 9, 9),
            (ErrorKind::ExtensionSupportRequired, 9, 9),
            (ErrorKind::VersionNotSupported, 9, 9),
            (ErrorKind::MethodNotFound, 12, 12),
            (ErrorKind::InvalidParams, 3, 3),
            (ErrorKind::Unauthenticated, 16, 16),
            (ErrorKind::Unavailable, 14, 14),
        ] {
            let error = Error::new(kind, "x");
            assert_eq!(
                write_status(ProtocolVersion::V1_0, &error).code,
                new,
                "{kind:?}"
            );
            assert_eq!(
                write_status(ProtocolVersion::V0_3, &error).code,
                old,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn what_has_no_details_is_told_by_code_and_words() {
        for (code, message, kind) in [
            (5, "gone", ErrorKind::TaskNotFound),
            (3, "bad", ErrorKind::InvalidParams),
            (12, "no", ErrorKind::UnsupportedOperation),
            (16, "who", ErrorKind::Unauthenticated),
            (14, "later", ErrorKind::Unavailable),
            (2, "what", ErrorKind::Internal),
            (99, "", ErrorKind::Internal),
            (-1, "", ErrorKind::Internal),
        ] {
            let error = read_status(ProtocolVersion::V1_0, code, message, b"");
            assert_eq!(error.kind(), kind, "{code}");
            let odd = read_status(ProtocolVersion::V0_3, code, message, b"\xff\xff");
            assert_eq!(odd.kind(), kind, "{code}");
        }
    }
}
