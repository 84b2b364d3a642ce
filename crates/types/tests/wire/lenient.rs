//! What is taken although no specification of its version says so, and what is not.

use serde_json::value::RawValue;
use switchboard_types::model::{Content, Message, Role, TaskState};
use switchboard_types::operation::{ListTasks, Method, Operation, SendMessage};
use switchboard_types::wire::{self, Request};
use switchboard_types::{Dialect, Error, FileBytes};

fn ask(dialect: Dialect, method: Method, params: &str) -> Result<Request, Error> {
    let params = RawValue::from_string(params.to_owned()).unwrap();
    wire::decode_params(dialect, method, Some(&params))
}

fn send(dialect: Dialect, params: &str) -> SendMessage {
    match ask(dialect, Method::Send, params).unwrap().operation {
        Operation::Send(send) => *send,
        other => panic!("{other:?}"),
    }
}

/// Why a message of these parts is refused.
fn refused(dialect: Dialect, parts: &str) -> String {
    let params = format!(r#"{{"message":{{"messageId":"m","role":"user","parts":{parts}}}}}"#);
    ask(dialect, Method::Send, &params).unwrap_err().to_string()
}

fn parts(dialect: Dialect, parts: &str) -> Message {
    let params = format!(r#"{{"message":{{"messageId":"m","role":"user","parts":{parts}}}}}"#);
    send(dialect, &params).message
}

#[test]
fn both_spellings_of_1_0_are_read() {
    let camel = r#"{"tenant":"acme","message":{"messageId":"m","contextId":"c","taskId":"t","role":1,
        "parts":[{"raw":"AA==","mediaType":"a/b"}],"referenceTaskIds":["r"]},
        "configuration":{"acceptedOutputModes":["a/b"],"historyLength":"3","returnImmediately":true,
        "taskPushNotificationConfig":{"url":"https://h.example/"}},"unknown":[1]}"#;
    let snake = r#"{"tenant":"acme","message":{"message_id":"m","context_id":"c","task_id":"t",
        "role":"ROLE_USER","parts":[{"raw":"AA","media_type":"a/b","kind":"file"}],
        "reference_task_ids":["r"]},
        "configuration":{"accepted_output_modes":["a/b"],"history_length":3,
        "return_immediately":true,
        "task_push_notification_config":{"url":"https://h.example/"}}}"#;
    let camel = ask(Dialect::V1, Method::Send, camel).unwrap();
    assert_eq!(camel, ask(Dialect::V1, Method::Send, snake).unwrap());
    assert_eq!(camel.tenant.as_deref(), Some("acme"));
    let Operation::Send(send) = camel.operation else {
        panic!("not a send");
    };
    assert_eq!(send.configuration.history_length, Some(3));
    assert!(send.configuration.return_immediately);
    assert!(send.configuration.push.is_some());
}

#[test]
fn null_is_unset_but_for_data() {
    let message = parts(
        Dialect::V1,
        r#"[{"data":null},{"text":"x","data":null,"raw":null,"url":null,"metadata":null}]"#,
    );
    let Content::Data(data) = &message.parts[0].content else {
        panic!("not data");
    };
    assert_eq!(data.as_str(), "null");
    assert_eq!(message.parts[1].as_text(), Some("x"));
}

#[test]
fn a_part_of_1_0_holds_exactly_one_thing() {
    let expected = "message.parts[0] must have exactly one of text, raw, url and data";
    for part in [
        r#"{"text":"a","url":"b"}"#,
        r#"{"data":1,"raw":""}"#,
        "{}",
        r#"{"kind":"text"}"#,
    ] {
        let error = refused(Dialect::V1, &format!("[{part}]"));
        assert!(error.contains(expected), "{part}: {error}");
    }
    let error = refused(Dialect::V1, r#"[{"text":"a"},{"raw":"***"}]"#);
    assert!(
        error.contains("message.parts[1].raw must be base64"),
        "{error}"
    );
    assert!(refused(Dialect::V1, "[]").contains("message.parts must hold at least one part"));
}

#[test]
fn free_json_passes_untouched() {
    let raw = r#"{"z":9223372036854775807,"a":18446744073709551616,"u":"\ud83d\ude00","d":1.0}"#;
    for dialect in [Dialect::V1, Dialect::V0Json] {
        let params = format!(
            r#"{{"message":{{"messageId":"m","role":"user","metadata":{raw},
                "parts":[{{"kind":"data","data":{raw}}}]}},"metadata":{raw}}}"#
        );
        let send = send(dialect, &params);
        assert_eq!(send.metadata.unwrap().as_str(), raw);
        assert_eq!(send.message.metadata.as_ref().unwrap().as_str(), raw);
        let mut out = Vec::new();
        wire::encode_message(dialect, &send.message, &mut out);
        assert_eq!(String::from_utf8(out).unwrap().matches(raw).count(), 2);
    }
}

#[test]
fn metadata_must_be_an_object_and_not_too_deep() {
    let error = refused(Dialect::V1, r#"[{"text":"x","metadata":[]}]"#);
    assert!(
        error.contains("message.parts[0].metadata must be an object"),
        "{error}"
    );
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let error = refused(Dialect::V1, &format!(r#"[{{"data":{deep}}}]"#));
    assert!(
        error.contains("message.parts[0].data is nested deeper"),
        "{error}"
    );
}

#[test]
fn a_message_of_0_x_may_be_sloppy() {
    let send = send(
        Dialect::V0Json,
        r#"{"message":{"role":"user","parts":[{"type":"text","text":"a"},{"text":"b"},
            {"kind":"file","file":{"data":"AA=="}},{"kind":"file","file":{"url":"https://f.example"}},
            {"kind":"file","file":{"fileWithBytes":"AA==","mimeType":"a/b","name":"n"}},
            {"kind":"file","file":{"fileWithUri":"https://f.example"}}]},
            "messageId":"m1","thread":{"threadId":"th"}}"#,
    );
    assert_eq!(send.message.id.as_str(), "m1");
    assert_eq!(send.message.context_id.unwrap().as_str(), "th");
    assert_eq!(send.message.parts[0].as_text(), Some("a"));
    assert_eq!(send.message.parts[1].as_text(), Some("b"));
    assert_eq!(send.message.parts[2].content, Content::Raw(vec![0].into()));
    assert_eq!(
        send.message.parts[3].content,
        Content::Url("https://f.example".into())
    );
    assert_eq!(send.message.parts[4].filename.as_deref(), Some("n"));
}

#[test]
fn a_context_wins_over_a_thread() {
    let params = r#"{"message":{"messageId":"m","contextId":"c","role":"user",
        "parts":[{"kind":"text","text":"x"}]},"thread":{"threadId":"th"},"messageId":"beside"}"#;
    let message = send(Dialect::V0Json, params).message;
    assert_eq!(message.context_id.unwrap().as_str(), "c");
    assert_eq!(message.id.as_str(), "m");
}

#[test]
fn content_is_text_or_parts() {
    let content = |content: &str| {
        let params =
            format!(r#"{{"message":{{"messageId":"m","role":"user","content":{content}}}}}"#);
        send(Dialect::V0Proto(FileBytes::Base64), &params).message
    };
    assert_eq!(content("\"hi\"").text(), "hi");
    let message = content(
        r#"[{"text":"a"},{"data":{"data":{"k":1}}},
            {"file":{"file_with_uri":"https://f.example","mime_type":"a/b"}}]"#,
    );
    let Content::Data(data) = &message.parts[1].content else {
        panic!("not data");
    };
    assert_eq!(data.as_str(), r#"{"k":1}"#);
    assert_eq!(message.parts[2].media_type.as_deref(), Some("a/b"));
}

#[test]
fn tool_parts_become_data() {
    let message = parts(
        Dialect::V0Json,
        r#"[{"kind":"tool-result","toolUseId":"u1","result":{"v":1}},
            {"kind":"tool-use","toolUseId":"u2","name":"search","input":{"q":"x"}}]"#,
    );
    let data = |index: usize| match &message.parts[index].content {
        Content::Data(data) => data.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        data(0),
        r#"{"type":"tool-result","id":"u1","result":{"v":1}}"#
    );
    assert_eq!(
        data(1),
        r#"{"type":"tool-call","id":"u2","name":"search","arguments":{"q":"x"}}"#
    );
}

#[test]
fn parts_of_0_x_are_refused_at_their_place() {
    for (part, expected) in [
        (
            r#"{"kind":"video","text":"x"}"#,
            "message.parts[0].kind must be",
        ),
        (
            r#"{"type":"unsupported","text":"x"}"#,
            "message.parts[0].kind must be",
        ),
        (r#"{"kind":"text"}"#, "message.parts[0].text is required"),
        (
            r#"{"kind":"data","data":7}"#,
            "message.parts[0].data must be an object",
        ),
        (
            r#"{"kind":"file","file":{}}"#,
            "message.parts[0].file must have exactly one of",
        ),
        (
            r#"{"kind":"file","file":{"bytes":"AA==","uri":"x"}}"#,
            "message.parts[0].file must have exactly one of",
        ),
        (
            r#"{"kind":"file","file":{"bytes":"*"}}"#,
            "message.parts[0].file.bytes must be base64",
        ),
        ("{}", "message.parts[0] must have a kind"),
        ("7", "message.parts[0] must be an object"),
    ] {
        let error = refused(Dialect::V0Json, &format!("[{part}]"));
        assert!(error.contains(expected), "{part}: {error}");
    }
}

#[test]
fn who_speaks_must_be_said_in_requests_and_is_guessed_in_answers() {
    let message = r#"{"messageId":"m","parts":[{"text":"x"}]}"#;
    for dialect in [Dialect::V0Json, Dialect::V1] {
        let params = format!(r#"{{"message":{message}}}"#);
        let error = ask(dialect, Method::Send, &params).unwrap_err();
        assert_eq!(error.violations()[0].field, "message.role");
        let answer = wire::decode_message(dialect, message).unwrap();
        assert_eq!(answer.role, Role::Agent);
    }
    let life_of_a_task = parts(Dialect::V1, r#"[{"kind":"text","text":"x"}]"#);
    assert_eq!(life_of_a_task.role, Role::User);
}

#[test]
fn a_task_may_be_called_task_id() {
    for method in [Method::Get, Method::Cancel, Method::Subscribe] {
        let by_id = ask(Dialect::V0Json, method, r#"{"id":"t"}"#).unwrap();
        assert_eq!(
            ask(Dialect::V0Json, method, r#"{"taskId":"t"}"#).unwrap(),
            by_id
        );
        let error = ask(Dialect::V0Json, method, "{}").unwrap_err();
        assert_eq!(error.violations()[0].field, "id");
    }
}

#[test]
fn history_cannot_be_negative() {
    for dialect in [Dialect::V0Json, Dialect::V1] {
        let error = ask(dialect, Method::Get, r#"{"id":"t","historyLength":-1}"#).unwrap_err();
        assert_eq!(error.violations()[0].field, "historyLength");
    }
}

#[test]
fn blocking_is_the_opposite_of_returning_immediately() {
    for (blocking, immediately) in [("true", false), ("false", true), ("null", false)] {
        let params = format!(
            r#"{{"message":{{"messageId":"m","role":"user","parts":[{{"kind":"text","text":"x"}}]}},
                "configuration":{{"blocking":{blocking}}}}}"#
        );
        let configuration = send(Dialect::V0Json, &params).configuration;
        assert_eq!(configuration.return_immediately, immediately);
    }
}

#[test]
fn listing_is_strict_about_its_filters() {
    let list = |params: &str| ask(Dialect::V1, Method::List, params);
    for (params, field) in [
        (r#"{"pageSize":0}"#, "pageSize"),
        (r#"{"pageSize":101}"#, "pageSize"),
        (r#"{"page_size":-1}"#, "pageSize"),
        (r#"{"status":"TASK_STATE_DANCING"}"#, "status"),
        (r#"{"status":9}"#, "status"),
        (
            r#"{"statusTimestampAfter":"yesterday"}"#,
            "statusTimestampAfter",
        ),
        (r#"{"historyLength":-1}"#, "historyLength"),
    ] {
        let error = list(params).unwrap_err();
        assert_eq!(error.violations()[0].field, field, "{params}");
    }
    let unspecified = list(r#"{"status":"TASK_STATE_UNSPECIFIED","contextId":"","pageToken":""}"#);
    assert_eq!(
        unspecified.unwrap().operation,
        Operation::List(ListTasks::default())
    );
    let Operation::List(full) = list(
        r#"{"status":3,"page_size":"100","include_artifacts":true,
            "status_timestamp_after":"2025-10-30T10:00:00"}"#,
    )
    .unwrap()
    .operation
    else {
        panic!("not a list");
    };
    assert_eq!(full.status, Some(TaskState::Completed));
    assert_eq!(full.page_size, Some(100));
    assert!(full.include_artifacts);
    assert!(full.status_timestamp_after.is_some());
}

#[test]
fn states_of_the_future_do_not_end_a_stream() {
    let event = r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_PAUSED"}}}"#;
    let switchboard_types::model::Event::Status(update) =
        wire::decode_event(Dialect::V1, event).unwrap()
    else {
        panic!("not a status");
    };
    assert_eq!(update.status.state, TaskState::Unknown);
    assert_eq!(update.context_id.as_str(), "t");
}

#[test]
fn a_webhook_of_0_x_without_an_id_is_the_default_one_of_its_task() {
    let id = |dialect, params: &str| match ask(dialect, Method::CreatePushConfig, params) {
        Ok(request) => match request.operation {
            Operation::CreatePushConfig(config) => config.id.map(|id| id.to_string()),
            other => panic!("{other:?}"),
        },
        Err(error) => panic!("{params}: {error}"),
    };
    let old = r#"{"taskId":"t","pushNotificationConfig":{"url":"https://h.example/"}}"#;
    assert_eq!(id(Dialect::V0Json, old).as_deref(), Some("default"));
    assert_eq!(
        id(Dialect::V0Proto(FileBytes::Base64), old).as_deref(),
        Some("default")
    );
    let new = r#"{"taskId":"t","url":"https://h.example/"}"#;
    assert_eq!(id(Dialect::V1, new), None);
}

#[test]
fn an_empty_token_and_an_empty_authentication_are_none() {
    let config = r#"{"taskId":"t","url":"https://h.example/","token":"","authentication":{}}"#;
    for dialect in [
        Dialect::V0Json,
        Dialect::V0Proto(FileBytes::Base64),
        Dialect::V1,
    ] {
        let request = ask(dialect, Method::CreatePushConfig, config).unwrap();
        let Operation::CreatePushConfig(config) = request.operation else {
            panic!("not a webhook");
        };
        assert_eq!((config.token, config.authentication), (None, None));
    }
    let half = r#"{"taskId":"t","url":"https://h.example/","authentication":{"credentials":"c"}}"#;
    let error = ask(Dialect::V1, Method::CreatePushConfig, half).unwrap_err();
    assert_eq!(error.violations()[0].field, "authentication.scheme");
}

#[test]
fn webhooks_come_in_every_shape_of_0_x() {
    let config = |dialect, params: &str| match ask(dialect, Method::CreatePushConfig, params) {
        Ok(request) => match request.operation {
            Operation::CreatePushConfig(config) => config,
            other => panic!("{other:?}"),
        },
        Err(error) => panic!("{params}: {error}"),
    };
    let plain = config(
        Dialect::V0Json,
        r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://h.example/"}}"#,
    );
    for shape in [
        r#"{"taskId":"t","config":{"pushNotificationConfig":{"id":"p","url":"https://h.example/"},"taskId":"t"}}"#,
        r#"{"parent":"tasks/t","configId":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"https://h.example/"}}}"#,
        r#"{"name":"tasks/t/pushNotificationConfigs/p","push_notification_config":{"url":"https://h.example/"}}"#,
        r#"{"parent":"tasks/t","config_id":"p","config":{"url":"https://h.example/"}}"#,
        r#"{"taskId":"t","id":"p","url":"https://h.example/"}"#,
    ] {
        assert_eq!(
            config(Dialect::V0Proto(FileBytes::Base64), shape),
            plain,
            "{shape}"
        );
    }
    let error = ask(
        Dialect::V0Json,
        Method::CreatePushConfig,
        r#"{"taskId":"t"}"#,
    )
    .unwrap_err();
    assert_eq!(error.violations()[0].field, "pushNotificationConfig");
    let deleted = ask(Dialect::V0Json, Method::DeletePushConfig, r#"{"id":"t"}"#).unwrap_err();
    assert_eq!(deleted.violations()[0].field, "pushNotificationConfigId");
    assert!(ask(Dialect::V0Json, Method::GetPushConfig, r#"{"id":"t"}"#).is_ok());
}

#[test]
fn only_the_extended_card_needs_no_params() {
    for dialect in [Dialect::V0Json, Dialect::V1] {
        for method in Method::ALL {
            let answer = wire::decode_params(dialect, method, None);
            let enough = matches!(method, Method::ExtendedCard | Method::List);
            assert_eq!(answer.is_ok(), enough, "{dialect:?} {method:?}");
        }
    }
}
