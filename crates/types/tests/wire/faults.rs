//! Errors of agents, read back.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_types::wire::jsonrpc::{self, Id, Outcome};
use switchboard_types::wire::{self, rest};
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes};

fn kind(dialect: Dialect, status: u16, body: &Value) -> ErrorKind {
    wire::decode_error(dialect, Some(status), &body.to_string()).kind()
}

/// The error after it went over the wire by JSON-RPC.
fn over_jsonrpc(dialect: Dialect, error: &Error) -> Error {
    let mut out = Vec::new();
    jsonrpc::write_error(&mut out, &Id::null(), dialect, error);
    let answer = jsonrpc::read_answer(&out).unwrap();
    let Outcome::Error(raw) = answer.outcome else {
        panic!("an error");
    };
    wire::decode_error(dialect, Some(200), raw.get())
}

/// The error after it went over the wire by REST.
fn over_rest(dialect: Dialect, error: &Error) -> Error {
    let (status, body) = rest::write_error(dialect, error);
    wire::decode_error(dialect, Some(status), std::str::from_utf8(&body).unwrap())
}

#[test]
fn every_kind_survives_every_way() {
    for kind in ErrorKind::ALL {
        let error = Error::new(kind, "something went wrong")
            .fact("taskId", "t1")
            .fact("hint", "try again");
        for way in [over_jsonrpc, over_rest] {
            assert_eq!(way(Dialect::V1, &error), error);
            for dialect in [Dialect::V0Json, Dialect::V0Proto(FileBytes::Base64)] {
                let again = way(dialect, &error);
                assert_eq!(again.kind(), kind);
                assert_eq!(again.facts(), error.facts(), "{again}");
                assert!(
                    again.message().ends_with(": something went wrong"),
                    "{again}"
                );
            }
        }
    }
}

#[test]
fn bad_fields_survive_every_way() {
    let error = Error::invalid_params("message.parts[0].text", "must be a string");
    for dialect in Dialect::ALL {
        for way in [over_jsonrpc, over_rest] {
            assert_eq!(way(dialect, &error).violations(), error.violations());
        }
    }
}

#[test]
fn a_reason_says_more_than_number_and_status() {
    let info = |reason: &str| json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]);
    let body = json!({"code": -32603, "message": "x", "data": info("TASK_NOT_CANCELABLE")});
    assert_eq!(kind(Dialect::V1, 500, &body), ErrorKind::TaskNotCancelable);
    let body = json!({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "x",
        "details": info("VERSION_NOT_SUPPORTED")}});
    assert_eq!(
        kind(Dialect::V1, 400, &body),
        ErrorKind::VersionNotSupported
    );
}

#[test]
fn a_reason_that_nobody_knows_is_a_fact() {
    let body = json!({"code": -32050, "message": "no quota", "data": [{"reason": "QUOTA", "metadata": {"left": "0"}}]});
    let error = wire::decode_error(Dialect::V1, None, &body.to_string());
    assert_eq!(error.kind(), ErrorKind::Internal);
    let facts = [("reason", "QUOTA"), ("left", "0"), ("code", "-32050")];
    let facts = facts.map(|(key, value)| (key.into(), value.to_owned()));
    assert_eq!(error.facts(), facts);
}

#[test]
fn facts_of_others_can_be_told_again_whatever_their_names() {
    let data = json!({"a\"b\n": "c", "reason": "QUOTA", "detail": "more", "violations": "none"});
    let body = json!({"code": -32001, "message": "x", "data": data});
    let error = wire::decode_error(Dialect::V0Json, None, &body.to_string());
    assert_eq!(error.facts().len(), 4);
    assert_eq!(over_jsonrpc(Dialect::V1, &error), error);
    assert_eq!(over_rest(Dialect::V1, &error), error);
    for way in [over_jsonrpc, over_rest] {
        let again = way(Dialect::V0Json, &error);
        assert_eq!(again.kind(), ErrorKind::TaskNotFound);
        assert_eq!(again.facts(), [("a\"b\n".into(), "c".to_owned())]);
    }
}

#[test]
fn numbers_that_a2a_leaves_to_servers_mean_nothing_by_themselves() {
    for code in [-32050, -32058, -32000, -32099, 7, 0] {
        let body = json!({"code": code, "message": "x"});
        assert_eq!(kind(Dialect::V1, 200, &body), ErrorKind::Internal, "{code}");
    }
}

/// Statuses of 1.0.0 and of 1.0.1, and what the official SDKs of 0.3 answer over REST.
#[test]
fn without_a_reason_the_status_and_the_text_tell() {
    for (status, text, expected) in [
        (404, "Task not found", ErrorKind::TaskNotFound),
        (404, "Not Found", ErrorKind::MethodNotFound),
        (405, "Method Not Allowed", ErrorKind::MethodNotFound),
        (409, "Task cannot be canceled", ErrorKind::TaskNotCancelable),
        (400, "Task cannot be canceled", ErrorKind::TaskNotCancelable),
        (409, "conflict", ErrorKind::TaskNotCancelable),
        (
            415,
            "Incompatible content types",
            ErrorKind::ContentTypeNotSupported,
        ),
        (
            400,
            "Incompatible content types",
            ErrorKind::ContentTypeNotSupported,
        ),
        (
            502,
            "Invalid agent response",
            ErrorKind::InvalidAgentResponse,
        ),
        (
            501,
            "Push Notification is not supported",
            ErrorKind::PushNotificationNotSupported,
        ),
        (
            501,
            "This operation is not supported",
            ErrorKind::UnsupportedOperation,
        ),
        (501, "no", ErrorKind::UnsupportedOperation),
        (
            400,
            "Authenticated Extended Card is not configured",
            ErrorKind::ExtendedAgentCardNotConfigured,
        ),
        (
            400,
            "Protocol version 9.9 is not supported",
            ErrorKind::VersionNotSupported,
        ),
        (400, "bad page size", ErrorKind::InvalidParams),
        (422, "unprocessable", ErrorKind::InvalidParams),
        (401, "Task not found", ErrorKind::Unauthenticated),
        (403, "no", ErrorKind::PermissionDenied),
        (413, "too much", ErrorKind::PayloadTooLarge),
        (429, "slow down", ErrorKind::ResourceExhausted),
        (406, "no", ErrorKind::InvalidRequest),
        (500, "boom", ErrorKind::Internal),
        (503, "later", ErrorKind::Unavailable),
        (504, "gateway timeout", ErrorKind::AgentUnavailable),
    ] {
        for body in [
            json!({"message": text}),
            json!({"detail": text}),
            json!({"error": text}),
            json!({"error": {"message": text}}),
            json!({"error": {"code": status, "message": text}}),
            json!({"code": status, "message": text}),
        ] {
            let error = wire::decode_error(
                Dialect::V0Proto(FileBytes::Base64),
                Some(status),
                &body.to_string(),
            );
            assert_eq!(error.kind(), expected, "{status} {body}");
            assert_eq!(error.message(), text, "{body}");
        }
    }
}

#[test]
fn bodies_that_say_nothing_are_told_by_their_status() {
    for (body, message) in [
        ("", "the agent answered with HTTP status 502"),
        ("{}", "the agent answered with HTTP status 502"),
        (
            "<html>Bad Gateway</html>",
            "the agent answered with HTTP status 502",
        ),
        ("null", "the agent answered with HTTP status 502"),
    ] {
        let error = wire::decode_error(Dialect::V1, Some(502), body);
        assert_eq!(error.kind(), ErrorKind::AgentUnavailable, "{body}");
        assert_eq!(error.message(), message);
    }
    let error = wire::decode_error(Dialect::V1, Some(500), "Internal Server Error\n  at x\n");
    assert_eq!(error.message(), "Internal Server Error");
    let error = wire::decode_error(Dialect::V1, None, "");
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(
        error.message(),
        "the agent answered with an error that says nothing"
    );
}

#[test]
fn an_error_in_a_stream_has_its_status_inside() {
    let body = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no such task"}});
    let error = wire::decode_error(Dialect::V1, Some(200), &body.to_string());
    assert_eq!(error.kind(), ErrorKind::MethodNotFound);
    let body = json!({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "no"}});
    assert_eq!(
        kind(Dialect::V1, 200, &body),
        ErrorKind::UnsupportedOperation
    );
}

#[test]
fn problem_json_is_read() {
    let body = json!({
        "type": "https://a2a-protocol.org/errors/version-not-supported",
        "title": "Protocol Version Not Supported",
        "status": 400,
        "detail": "the requested version 0.5 is not served here",
        "supportedVersions": ["0.3", "1.0"],
    });
    let error = wire::decode_error(Dialect::V1, Some(400), &body.to_string());
    assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
    assert_eq!(
        error.message(),
        "the requested version 0.5 is not served here"
    );
    assert_eq!(
        error.facts(),
        [("supportedVersions".into(), r#"["0.3","1.0"]"#.to_owned())]
    );
    let body = json!({"type": "about:blank", "title": "Forbidden", "status": 403});
    let error = wire::decode_error(Dialect::V1, None, &body.to_string());
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::PermissionDenied, "Forbidden")
    );
}

#[test]
fn complaints_of_validators_become_bad_fields() {
    let complaint = json!([{"type": "missing", "loc": ["params", "message", 0], "msg": "Field required", "input": {}}]);
    for body in [
        json!({"code": -32602, "message": "Invalid parameters", "data": complaint}),
        json!({"detail": complaint}),
    ] {
        let error = wire::decode_error(Dialect::V0Json, Some(422), &body.to_string());
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{body}");
        let [violation] = error.violations() else {
            panic!("one field: {error:?}");
        };
        assert_eq!(violation.field, "params.message.0");
        assert_eq!(violation.description, "Field required");
    }
}

/// Seed 002 gives other meanings to the numbers of 0.x.
#[test]
fn in_0_x_the_name_of_an_error_says_more_than_its_number() {
    for (code, text, expected) in [
        (-32001, "Input timeout", ErrorKind::InputTimeout),
        (
            -32002,
            "Tool execution failed: sql",
            ErrorKind::ToolExecutionFailed,
        ),
        (-32003, "Context not found", ErrorKind::ContextNotFound),
        (-32004, "Task not found", ErrorKind::TaskNotFound),
        (-32603, "Forbidden: not yours", ErrorKind::PermissionDenied),
        (-32004, "cannot do that", ErrorKind::UnsupportedOperation),
        (
            -32007,
            "no extended card",
            ErrorKind::ExtendedAgentCardNotConfigured,
        ),
    ] {
        let body = json!({"code": code, "message": text});
        assert_eq!(kind(Dialect::V0Json, 200, &body), expected, "{body}");
    }
    let swapped = json!({"code": -32001, "message": "Input timeout"});
    assert_eq!(kind(Dialect::V1, 200, &swapped), ErrorKind::TaskNotFound);
    let told = wire::decode_error(Dialect::V0Json, None, &swapped.to_string());
    assert_eq!(told.facts(), [("code".into(), "-32001".to_owned())]);
}

#[test]
fn an_internal_error_with_a_telling_status_is_what_the_status_says() {
    let body = json!({"code": -32603, "message": "nope"});
    assert_eq!(
        kind(Dialect::V0Json, 403, &body),
        ErrorKind::PermissionDenied
    );
    assert_eq!(kind(Dialect::V1, 401, &body), ErrorKind::Unauthenticated);
    assert_eq!(kind(Dialect::V1, 500, &body), ErrorKind::Internal);
}

#[test]
fn a_flood_of_facts_is_cut() {
    let many: Vec<Value> = (0..1000)
        .map(|n| json!({"loc": [n], "msg": "x".repeat(5000)}))
        .collect();
    let free: serde_json::Map<String, Value> =
        (0..1000).map(|n| (n.to_string(), json!(n))).collect();
    for data in [json!(many), json!(free)] {
        let body = json!({"code": -32602, "message": "x".repeat(5000), "data": data});
        let error = wire::decode_error(Dialect::V0Json, None, &body.to_string());
        assert!(error.facts().len() <= 33 && error.violations().len() <= 32);
        assert!(error.message().len() < 1100);
    }
}

#[test]
fn answers_are_read_by_their_envelope() {
    let outcome = |body: &str| match jsonrpc::read_answer(body.as_bytes()).map(|a| a.outcome) {
        Ok(Outcome::Result(raw)) => format!("result {}", raw.get()),
        Ok(Outcome::Error(raw)) => format!("error {}", raw.get()),
        Ok(Outcome::Neither) => "neither".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    for (body, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#,
            r#"result {"a":1}"#,
        ),
        (r#"{"id":1,"result":null}"#, "result null"),
        (r#"{"id":1,"result":5,"error":null}"#, "result 5"),
        (
            r#"{"id":1,"result":null,"error":{"code":1}}"#,
            r#"error {"code":1}"#,
        ),
        (r#"{"error":"text"}"#, r#"error "text""#),
        ("{\"detail\":\"x\"}", "neither"),
        ("\u{feff}{\"result\":{}}", "result {}"),
        ("[]", "InvalidAgentResponse"),
        ("\"x\"", "InvalidAgentResponse"),
        ("<html>", "Parse"),
        ("", "Parse"),
        ("{\"result\":", "Parse"),
    ] {
        assert_eq!(outcome(body), expected, "{body}");
    }
}

#[test]
fn ids_are_the_same_in_other_escapes() {
    let id = |json: &str| {
        let body = format!(r#"{{"id":{json},"result":1}}"#);
        jsonrpc::read_answer(body.as_bytes()).unwrap().id
    };
    assert_eq!(id(r#""a\u0062\/""#), Id::text("ab/"));
    assert_eq!(id("7"), Id::number(7));
    assert_ne!(id("\"7\""), Id::number(7));
    for odd in ["null", "{}", "[1]", "true"] {
        assert_eq!(id(odd), Id::null(), "{odd}");
    }
}

proptest! {
    #[test]
    fn no_error_is_too_odd_to_be_read(
        status in prop::option::of(0..1000_u16),
        body in "(\\{|\\}|\\[|\\]|:|,|\"(code|message|data|details|error|reason|status|loc|msg|detail)\"|-32001|404|\"x\"|null){0,16}",
    ) {
        for dialect in Dialect::ALL {
            let _ = wire::decode_error(dialect, status, &body);
        }
        let _ = jsonrpc::read_answer(body.as_bytes());
    }
}
