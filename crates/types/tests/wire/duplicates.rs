//! No member of a request may be given twice, whichever it is and wherever: a policy would judge one of the two, and the
//! backend act on the other. In answers the last one stays.

use serde_json::{Value, json};
use switchboard_types::model::Event;
use switchboard_types::operation::{Method, Operation};
use switchboard_types::wire::{self, jsonrpc, rest};
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes};

/// One step to a value: a member, or an element of an array.
type Step = (Option<String>, usize);

fn metadata() -> Value {
    json!({"skillId": "haiku", "deep": {"list": [1, {"x": true}, [{"y": null}]]}})
}

fn v1() -> Value {
    json!({
        "tenant": "t",
        "message": {
            "messageId": "m", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
            "referenceTaskIds": ["r"], "extensions": ["e"], "metadata": metadata(),
            "parts": [
                {"text": "x", "mediaType": "text/plain", "filename": "f", "metadata": metadata()},
                {"data": metadata()},
                {"data": [metadata()]},
                {"raw": "AAAA"},
                {"url": "https://x.example/"},
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 1, "returnImmediately": true,
            "taskPushNotificationConfig": {
                "id": "p", "url": "https://x.example/", "token": "t",
                "authentication": {"scheme": "Bearer", "credentials": "c"},
            },
        },
        "metadata": metadata(),
    })
}

fn v0_json() -> Value {
    json!({
        "message": {
            "kind": "message", "messageId": "m", "role": "user", "contextId": "c", "taskId": "t",
            "referenceTaskIds": ["r"], "extensions": ["e"], "metadata": metadata(),
            "inputRequest": metadata(),
            "parts": [
                {"kind": "text", "text": "x", "metadata": metadata()},
                {"kind": "data", "data": metadata()},
                {"kind": "file", "file": {"bytes": "AAAA", "mimeType": "a/b", "name": "n"}},
                {"kind": "file", "file": {"uri": "https://x.example/"}},
                {"kind": "tool-result", "toolUseId": "i", "result": metadata()},
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 1, "blocking": true,
            "pushNotificationConfig": {
                "id": "p", "url": "https://x.example/", "token": "t",
                "authentication": {"schemes": ["Bearer"], "credentials": "c"},
            },
        },
        "metadata": metadata(),
    })
}

fn v0_proto() -> Value {
    json!({
        "message": {
            "messageId": "m", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
            "extensions": ["e"], "metadata": metadata(),
            "content": [
                {"text": "x", "metadata": metadata()},
                {"data": {"data": metadata()}},
                {"data": metadata()},
                {"file": {"fileWithBytes": "AAAA", "mimeType": "a/b"}},
            ],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 1, "blocking": true,
        },
        "metadata": metadata(),
    })
}

/// The paths of all members below a value.
fn members(value: &Value, here: &mut Vec<Step>, all: &mut Vec<Vec<Step>>) {
    match value {
        Value::Object(object) => {
            for (index, (name, member)) in object.iter().enumerate() {
                here.push((Some(name.clone()), index));
                all.push(here.clone());
                members(member, here, all);
                here.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                here.push((None, index));
                members(item, here, all);
                here.pop();
            }
        }
        _ => {}
    }
}

/// Writes a value with the member at `path` given twice, first with another value.
fn doubled(value: &Value, path: &[Step], escaped: bool) -> String {
    let Some(((_, at), below)) = path.split_first() else {
        return value.to_string();
    };
    match value {
        Value::Object(object) => {
            let mut written = Vec::new();
            for (index, (name, member)) in object.iter().enumerate() {
                let key = Value::from(name.as_str()).to_string();
                if index == *at && below.is_empty() {
                    let first = name.chars().next().unwrap();
                    let other = match escaped {
                        true => format!("\"\\u{:04x}{}\"", u32::from(first), &name[1..]),
                        false => key.clone(),
                    };
                    written.push(format!("{other}:{member}"));
                }
                let below = if index == *at { below } else { &[] };
                written.push(format!("{key}:{}", doubled(member, below, escaped)));
            }
            format!("{{{}}}", written.join(","))
        }
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                let below = if index == *at { below } else { &[] };
                doubled(item, below, escaped)
            });
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn require_named(error: &Error, path: &[Step], text: &str) {
    let name = path.last().unwrap().0.as_deref().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{text}: {error}");
    let said = error.to_string();
    // The parser knows a member by one of its spellings.
    let is_known = said.contains("has a duplicate field");
    assert!(
        is_known || said.contains(&format!("{name} is given twice")),
        "{said} does not name {name}: {text}"
    );
}

fn decode(dialect: Dialect, text: &str) -> Result<Operation, Error> {
    if dialect != Dialect::V0Proto(FileBytes::Raw) {
        let params = serde_json::from_str(text).unwrap();
        let request = wire::decode_params(dialect, Method::Send, Some(params));
        return request.map(|request| request.operation);
    }
    let route = rest::route("POST", "/v1/message:send").unwrap();
    let request = rest::decode(&route, FileBytes::Raw, None, text.as_bytes());
    request
        .map(|(_, request)| request.operation)
        .map_err(|(_, error)| error)
}

#[test]
fn no_member_of_a_request_may_be_given_twice() {
    for (dialect, request) in [
        (Dialect::V1, v1()),
        (Dialect::V0Json, v0_json()),
        (Dialect::V0Proto(FileBytes::Raw), v0_proto()),
    ] {
        let once = decode(dialect, &request.to_string());
        assert!(once.is_ok(), "{dialect:?}: {once:?}");
        let mut all = Vec::new();
        members(&request, &mut Vec::new(), &mut all);
        assert!(all.len() > 40);
        for path in &all {
            for escaped in [false, true] {
                let text = doubled(&request, path, escaped);
                match decode(dialect, &text) {
                    Err(error) => require_named(&error, path, &text),
                    Ok(_) => panic!("{dialect:?} takes {path:?} twice: {text}"),
                }
            }
        }
    }
}

#[test]
fn the_full_path_of_a_duplicate_member_is_told() {
    let text = r#"{"message":{"messageId":"m","role":"ROLE_USER",
        "parts":[{"text":"x"},{"data":{"a":[{},{"b c":1,"b\u0020c":2}]}}]}}"#;
    let error = decode(Dialect::V1, text).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"invalid params: message.parts[1].data.a[1]["b c"] is given twice"#
    );
    let text = r#"{"id":"t","metadata":{"a":1,"a":2}}"#;
    for dialect in [Dialect::V1, Dialect::V0Json] {
        let params = serde_json::from_str(text).unwrap();
        let error = wire::decode_params(dialect, Method::Cancel, Some(params)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid params: metadata.a is given twice"
        );
    }
}

#[test]
fn no_member_of_an_envelope_may_be_given_twice() {
    for (member, value) in [
        ("jsonrpc", "\"2.0\""),
        ("id", "1"),
        ("method", "\"GetTask\""),
        ("params", "{}"),
    ] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{}},"{member}":{value}}}"#
        );
        let refusal = jsonrpc::read(text.as_bytes()).unwrap_err();
        let said = refusal.error.to_string();
        assert!(
            said.ends_with(&format!("{member} is given twice")),
            "{said}"
        );
    }
}

#[test]
fn in_answers_the_last_of_duplicate_members_stays() {
    let status = r#"{"statusUpdate":{"taskId":"t","contextId":"c",
        "status":{"state":"TASK_STATE_WORKING"},"metadata":{"a":1e400,"b":{"c":1,"c":2},"b":{"c":3,"c":4}}}}"#;
    let Event::Status(update) = wire::decode_event(Dialect::V1, status).unwrap() else {
        panic!("not a status");
    };
    let metadata = update.metadata.unwrap();
    assert_eq!(metadata.as_str(), r#"{"a":1e400,"b":{"c":4}}"#);
    let message = r#"{"kind":"message","role":"agent","messageId":"m","parts":[
        {"kind":"x-new","data":{"a":1,"a":2}},{"kind":"tool-call","name":"n","input":{"a":1,"a":2}}]}"#;
    let message = wire::decode_message(Dialect::V0Json, message).unwrap();
    let told: Vec<String> = message.parts.iter().map(|p| format!("{p:?}")).collect();
    assert!(
        told.iter().all(|part| !part.contains("\"a\":1")),
        "{told:?}"
    );
}

/// Protobuf maps may name a key twice; the last counts, and only that one is passed on.
#[cfg(feature = "grpc")]
#[test]
fn over_grpc_the_last_of_duplicate_keys_is_the_only_one_passed_on() {
    use prost::Message as _;
    use switchboard_types::ProtocolVersion;
    use switchboard_types::wire::grpc::{self, Spoken};

    let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},
        "metadata":{"skillId":"epic"}}"#;
    let send = decode(Dialect::V1, params).unwrap();
    let haiku = prost_types::Struct {
        fields: [("skillId".to_owned(), "haiku".into())].into(),
    };
    let haiku = haiku.encode_to_vec();
    // The tag of SendMessageRequest.metadata; of a field that is there twice, protobuf merges the values.
    for (version, tag) in [(ProtocolVersion::V1_0, 4), (ProtocolVersion::V0_3, 3)] {
        let files = FileBytes::Raw;
        let spoken = Spoken { version, files };
        let mut request = grpc::encode_request(spoken, &send, None).unwrap();
        request.extend([tag << 3 | 2, u8::try_from(haiku.len()).unwrap()]);
        request.extend(&haiku);
        let read = grpc::decode_request(spoken, Method::Send, &request).unwrap();
        let Operation::Send(read) = read.operation else {
            panic!("not a send");
        };
        let metadata = read.metadata.as_ref().unwrap();
        assert_eq!(metadata.as_str(), r#"{"skillId":"haiku"}"#);
    }
}
