//! The table of errors, and their bodies.

use serde_json::{Value, json};
use switchboard_types::wire::jsonrpc::{self, Id};
use switchboard_types::wire::{self, rest};
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes};

/// Kind, code and status in 1.0, code and status in 0.x.
const TABLE: [(ErrorKind, i32, u16, i32, u16); 23] = [
    (ErrorKind::Parse, -32700, 400, -32700, 400),
    (ErrorKind::InvalidRequest, -32600, 400, -32600, 400),
    (ErrorKind::MethodNotFound, -32601, 404, -32601, 404),
    (ErrorKind::InvalidParams, -32602, 400, -32602, 400),
    (ErrorKind::Internal, -32603, 500, -32603, 500),
    (ErrorKind::TaskNotFound, -32001, 404, -32001, 404),
    (ErrorKind::TaskNotCancelable, -32002, 400, -32002, 409),
    (
        ErrorKind::PushNotificationNotSupported,
        -32003,
        400,
        -32003,
        501,
    ),
    (ErrorKind::UnsupportedOperation, -32004, 400, -32004, 501),
    (ErrorKind::ContentTypeNotSupported, -32005, 400, -32005, 415),
    (ErrorKind::InvalidAgentResponse, -32006, 500, -32006, 502),
    (
        ErrorKind::ExtendedAgentCardNotConfigured,
        -32007,
        400,
        -32007,
        404,
    ),
    (
        ErrorKind::ExtensionSupportRequired,
        -32008,
        400,
        -32008,
        400,
    ),
    (ErrorKind::VersionNotSupported, -32009, 400, -32009, 400),
    (ErrorKind::InputTimeout, -32050, 504, -32050, 504),
    (ErrorKind::ToolExecutionFailed, -32051, 500, -32051, 500),
    (ErrorKind::ContextNotFound, -32052, 404, -32052, 404),
    (ErrorKind::AgentUnavailable, -32053, 503, -32053, 503),
    (ErrorKind::Unauthenticated, -32054, 401, -32054, 401),
    (ErrorKind::PermissionDenied, -32055, 403, -32603, 403),
    (ErrorKind::ResourceExhausted, -32056, 429, -32056, 429),
    (ErrorKind::PayloadTooLarge, -32057, 413, -32057, 413),
    (ErrorKind::Unavailable, -32058, 503, -32058, 503),
];

fn told(dialect: Dialect, error: &Error) -> Value {
    let mut out = Vec::new();
    jsonrpc::write_error(&mut out, &Id::null(), dialect, error);
    serde_json::from_slice::<Value>(&out).unwrap()["error"].take()
}

#[test]
fn numbers_and_statuses_are_those_of_the_specification() {
    assert_eq!(TABLE.map(|row| row.0), ErrorKind::ALL);
    for (kind, code, status, old_code, old_status) in TABLE {
        assert_eq!(wire::error_code(Dialect::V1, kind), code, "{kind:?}");
        assert_eq!(wire::error_status(Dialect::V1, kind), status, "{kind:?}");
        for dialect in [Dialect::V0Json, Dialect::V0Proto(FileBytes::Base64)] {
            assert_eq!(wire::error_code(dialect, kind), old_code, "{kind:?}");
            assert_eq!(wire::error_status(dialect, kind), old_status, "{kind:?}");
        }
    }
}

#[test]
fn numbers_are_unique_within_1_0() {
    let mut codes = TABLE.map(|row| row.1);
    codes.sort_unstable();
    assert!(codes.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn in_1_0_an_error_carries_error_info() {
    assert_eq!(
        told(Dialect::V1, &Error::task_not_found("t1")),
        json!({
            "code": -32001,
            "message": "task not found",
            "data": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
                "metadata": {"taskId": "t1"},
            }],
        })
    );
}

#[test]
fn in_1_0_bad_fields_are_named_in_bad_request() {
    let error = told(
        Dialect::V1,
        &Error::invalid_params("pageSize", "must be small"),
    );
    assert_eq!(error["data"][0]["reason"], "INVALID_PARAMS");
    assert_eq!(
        error["data"][1],
        json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": "pageSize", "description": "must be small"}],
        })
    );
}

#[test]
fn own_errors_have_their_own_domain() {
    let domain = |kind| told(Dialect::V1, &Error::new(kind, "x"))["data"][0]["domain"].take();
    assert_eq!(domain(ErrorKind::AgentUnavailable), "switchboard");
    assert_eq!(domain(ErrorKind::Parse), "a2a-protocol.org");
    assert_eq!(domain(ErrorKind::VersionNotSupported), "a2a-protocol.org");
}

#[test]
fn in_0_x_messages_begin_with_the_default_and_reasons_are_for_machines() {
    assert_eq!(
        told(Dialect::V0Json, &Error::task_not_found("t1")),
        json!({
            "code": -32001,
            "message": "Task not found",
            "data": {"reason": "TASK_NOT_FOUND", "taskId": "t1"},
        })
    );
    assert_eq!(
        told(
            Dialect::V0Json,
            &Error::invalid_params("message.kind", "must be 'message'")
        ),
        json!({
            "code": -32602,
            "message": "Invalid params: message.kind must be 'message'",
            "data": {
                "reason": "INVALID_PARAMS",
                "detail": "message.kind must be 'message'",
                "violations": [{"field": "message.kind", "description": "must be 'message'"}],
            },
        })
    );
    let denied = Error::new(
        ErrorKind::PermissionDenied,
        "insufficient permissions for skill",
    );
    let denied = told(Dialect::V0Json, &denied);
    assert_eq!(denied["code"], -32603);
    assert_eq!(
        denied["message"],
        "Forbidden: insufficient permissions for skill"
    );
}

#[test]
fn rest_of_1_0_answers_in_the_envelope_of_aip_193() {
    let (status, body) = rest::write_error(Dialect::V1, &Error::task_not_found("t1"));
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 404);
    assert_eq!(body["error"]["code"], 404);
    assert_eq!(body["error"]["status"], "NOT_FOUND");
    assert_eq!(body["error"]["details"][0]["reason"], "TASK_NOT_FOUND");
}

#[test]
fn rest_of_0_x_answers_in_both_known_forms() {
    let (status, body) = rest::write_error(
        Dialect::V0Proto(FileBytes::Base64),
        &Error::task_not_found("t1"),
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 404);
    assert_eq!(body["code"], -32001);
    assert_eq!(body["message"], "Task not found");
    assert_eq!(body["data"]["taskId"], "t1");
    assert_eq!(body["error"]["code"], 404);
    assert_eq!(body["error"]["message"], "Task not found");
    assert_eq!(body["error"]["data"]["taskId"], "t1");
    assert_eq!(body["type"], "TaskNotFoundError");
}

#[test]
fn rest_of_0_x_names_errors_as_the_official_sdk_does() {
    let name = |kind| {
        let (_, body) =
            rest::write_error(Dialect::V0Proto(FileBytes::Base64), &Error::new(kind, "x"));
        serde_json::from_slice::<Value>(&body).unwrap()["type"].take()
    };
    assert_eq!(name(ErrorKind::Parse), "JSONParseError");
    assert_eq!(name(ErrorKind::InvalidParams), "InvalidParamsError");
    assert_eq!(
        name(ErrorKind::PushNotificationNotSupported),
        "PushNotificationNotSupportedError"
    );
}
