//! The JSON-RPC envelope and the negotiation of versions.

use serde_json::Value;
use switchboard_types::operation::{Method, Response};
use switchboard_types::wire::jsonrpc::{self, Id, Refusal};
use switchboard_types::{Dialect, ErrorKind, VersionHeader};

fn refused(body: &[u8]) -> Refusal {
    jsonrpc::read(body).unwrap_err()
}

#[test]
fn ids_are_echoed_to_the_letter() {
    for id in [
        "0",
        "\"0\"",
        "1.5",
        "-7",
        "123456789012345678901234567890",
        "null",
        r#""a\u0062\"""#,
        "\"\"",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get"}}"#);
        let envelope = jsonrpc::read(body.as_bytes()).unwrap();
        assert_eq!(envelope.id.as_str(), id);
        let mut out = Vec::new();
        jsonrpc::write_response(&mut out, &envelope.id, Dialect::V0Json, &Response::Deleted);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#);
        assert_eq!(String::from_utf8(out).unwrap(), answer);
    }
}

#[test]
fn what_is_no_json_is_a_parse_error_with_a_null_id() {
    for body in [
        &b""[..],
        b"   ",
        b"{\"jsonrpc\":\"2.0\",\"id\":1",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} trailing",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\0b\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":\"\x01\"}}",
        b"{'jsonrpc':'2.0'}",
        b"[1,2",
        b"\xef\xbb\xbf{}",
    ] {
        let refusal = refused(body);
        assert_eq!(refusal.error.kind(), ErrorKind::Parse, "{body:?}");
        assert_eq!(refusal.id, Id::null(), "{body:?}");
        assert!(!refusal.not_jsonrpc, "{body:?}");
    }
}

#[test]
fn a_call_without_an_id_is_told_of_its_other_faults_first() {
    let body = br#"{"jsonrpc":"2.0","method":"tasks/get","params":{}}"#;
    let envelope = jsonrpc::read(body).unwrap();
    assert_eq!(
        (&envelope.id, &*envelope.method),
        (&Id::null(), "tasks/get")
    );
    let error = envelope.require_id().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let null = jsonrpc::read(br#"{"jsonrpc":"2.0","id":null,"method":"tasks/get"}"#).unwrap();
    assert_eq!(null.require_id(), Ok(()));
    let params = refused(br#"{"jsonrpc":"2.0","method":"tasks/get","params":7}"#);
    assert_eq!(params.error.kind(), ErrorKind::InvalidParams);
}

#[test]
fn what_is_no_call_is_an_invalid_request() {
    for (body, id) in [
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, "null"),
        ("[]", "null"),
        ("7", "null"),
        ("null", "null"),
        ("\"x\"", "null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "1"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"x"}"#, "1"),
        (r#"{"jsonrpc":null,"id":1,"method":"x"}"#, "1"),
        (r#"{"id":"a","method":"x"}"#, "\"a\""),
        (r#"{"jsonrpc":"2.0","id":1}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "1"),
        (r#"{"jsonrpc":"2.0"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, "null"),
    ] {
        let refusal = refused(body.as_bytes());
        assert_eq!(refusal.error.kind(), ErrorKind::InvalidRequest, "{body}");
        assert_eq!(refusal.id.as_str(), id, "{body}");
        assert!(
            refusal
                .error
                .message()
                .contains("must be valid JSON-RPC 2.0")
        );
    }
}

#[test]
fn an_object_that_does_not_claim_to_be_a_call_is_told_apart() {
    assert!(refused(br#"{"input":{"messages":[]},"stream_mode":"values"}"#).not_jsonrpc);
    assert!(!refused(br#"{"jsonrpc":"2.0"}"#).not_jsonrpc);
    assert!(!refused(br#"{"method":"message/send"}"#).not_jsonrpc);
}

#[test]
fn params_must_be_an_object() {
    for params in ["[1]", "7", "\"x\"", "true"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"x","params":{params}}}"#);
        let refusal = refused(body.as_bytes());
        assert_eq!(refusal.error.kind(), ErrorKind::InvalidParams, "{params}");
        assert_eq!(refusal.id.as_str(), "3");
    }
    let body = br#"{"jsonrpc":"2.0","id":3,"method":"x","params":null}"#;
    assert!(jsonrpc::read(body).unwrap().params.is_none());
}

#[test]
fn the_method_tells_the_dialect_and_the_version_whether_it_is_welcome() {
    for (method, version, expected) in [
        ("message/send", "", Ok((Dialect::V0Json, Method::Send))),
        ("message/send", "0.3.0", Ok((Dialect::V0Json, Method::Send))),
        (
            "message/stream",
            "0.2",
            Ok((Dialect::V0Json, Method::Stream)),
        ),
        ("tasks/list", "", Ok((Dialect::V0Json, Method::List))),
        ("SendMessage", "1.0", Ok((Dialect::V1, Method::Send))),
        ("ListTasks", "1.0.1", Ok((Dialect::V1, Method::List))),
        ("SendMessage", "", Ok((Dialect::V1, Method::Send))),
        ("GetTask", "  ", Ok((Dialect::V1, Method::Get))),
        (
            "SendMessage",
            "0.3",
            Err((Dialect::V1, ErrorKind::VersionNotSupported)),
        ),
        (
            "SendMessage",
            "99.0",
            Err((Dialect::V1, ErrorKind::VersionNotSupported)),
        ),
        (
            "message/send",
            "99.0",
            Err((Dialect::V0Json, ErrorKind::VersionNotSupported)),
        ),
        (
            "message/send",
            "1.0",
            Err((Dialect::V0Json, ErrorKind::MethodNotFound)),
        ),
        (
            "tasks/send",
            "",
            Err((Dialect::V0Json, ErrorKind::MethodNotFound)),
        ),
        (
            "Nonsense",
            "",
            Err((Dialect::V0Json, ErrorKind::MethodNotFound)),
        ),
        (
            "Nonsense",
            "1.0",
            Err((Dialect::V1, ErrorKind::MethodNotFound)),
        ),
    ] {
        let got = jsonrpc::negotiate(method, version, VersionHeader::Optional);
        let got = got.map_err(|(dialect, error)| (dialect, error.kind()));
        assert_eq!(got, expected, "{method} {version:?}");
    }
}

#[test]
fn every_operation_has_a_method_in_both_versions() {
    for method in Method::ALL {
        let found = jsonrpc::negotiate(method.name(), "1.0", VersionHeader::Required).unwrap();
        assert_eq!(found, (Dialect::V1, method));
    }
    let old = [
        "message/send",
        "message/stream",
        "tasks/get",
        "tasks/list",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/pushNotificationConfig/set",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/delete",
        "agent/getAuthenticatedExtendedCard",
    ];
    assert_eq!(
        old.map(|name| {
            let found = jsonrpc::negotiate(name, "", VersionHeader::Required);
            found.unwrap().1
        }),
        Method::ALL
    );
    let other = "agent/authenticatedExtendedCard";
    let other = jsonrpc::negotiate(other, "", VersionHeader::Required).unwrap();
    assert_eq!(other.1, Method::ExtendedCard);
}

#[test]
fn a_required_version_makes_an_unversioned_1_0_method_unknown() {
    let (_, error) = jsonrpc::negotiate("SendMessage", "", VersionHeader::Required).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MethodNotFound);
    assert!(error.message().contains("send A2A-Version: 1.0"), "{error}");
}

#[test]
fn a_1_0_method_in_an_older_version_names_the_supported_ones() {
    for header in [VersionHeader::Optional, VersionHeader::Required] {
        let (_, error) = jsonrpc::negotiate("SendMessage", "0.3", header).unwrap_err();
        assert!(error.message().contains("send A2A-Version: 1.0"), "{error}");
        assert_eq!(
            error.facts()[0],
            ("supportedVersions".into(), "1.0,0.3".to_owned())
        );
    }
}

#[test]
fn an_unknown_method_is_named_but_not_at_length() {
    let (_, error) = jsonrpc::negotiate(&"é".repeat(500), "", VersionHeader::Optional).unwrap_err();
    assert_eq!(error.facts()[0].0, "method");
    assert!(error.facts()[0].1.len() <= 100);
}

#[test]
fn events_are_wrapped_as_they_are() {
    let mut out = Vec::new();
    jsonrpc::write_event(&mut out, &Id::null(), br#"{"a":1}"#);
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["result"]["a"], 1);
    assert_eq!(out, br#"{"jsonrpc":"2.0","id":null,"result":{"a":1}}"#);
}
