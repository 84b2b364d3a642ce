//! One test for each row of `LOSSES`, and one that counts them.

use switchboard_types::model::{
    Content, Event, Json, Message, Object, Part, Role, TaskId, TaskState,
};
use switchboard_types::operation::{CancelTask, Method, Operation, PushConfigPage, Response};
use switchboard_types::wire::{self, rest, v0_3::LOSSES};
use switchboard_types::{Dialect, FileBytes};

const PROTO: Dialect = Dialect::V0Proto(FileBytes::Base64);
const ZERO: [Dialect; 2] = [Dialect::V0Json, PROTO];

fn there_and_back(dialect: Dialect, part: Part) -> (String, Part) {
    let id = switchboard_types::model::MessageId::new("m").unwrap();
    let mut out = Vec::new();
    wire::encode_message(dialect, &Message::new(id, Role::User, vec![part]), &mut out);
    let text = String::from_utf8(out).unwrap();
    let mut message = wire::decode_message(dialect, &text).unwrap();
    (text, message.parts.remove(0))
}

fn data(text: &str) -> Part {
    Part::data(Json::parse(text).unwrap())
}

fn params(text: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn every_row_is_tested_here() {
    assert_eq!(LOSSES.len(), 11);
}

#[test]
fn media_types_of_text_and_data_are_dropped() {
    for dialect in ZERO {
        for mut part in [Part::text("x"), data("{}")] {
            part.media_type = Some("text/markdown".into());
            let (text, back) = there_and_back(dialect, part);
            assert_eq!(back.media_type, None);
            assert!(!text.contains("markdown"), "{text}");
        }
    }
}

#[test]
fn file_names_of_text_and_data_are_dropped() {
    for dialect in ZERO {
        for mut part in [Part::text("x"), data("{}")] {
            part.filename = Some("notes.md".into());
            assert_eq!(there_and_back(dialect, part).1.filename, None);
        }
    }
    for mut file in files() {
        file.filename = Some("notes.md".into());
        assert_eq!(there_and_back(Dialect::V0Json, file.clone()).1, file);
    }
}

fn files() -> [Part; 2] {
    let bytes = Content::Raw("some bytes".into());
    let url = Content::Url("https://files.example/a".into());
    [Part::new(bytes), Part::new(url)]
}

#[test]
fn names_of_files_are_dropped_in_proto_json() {
    for mut file in files() {
        file.filename = Some("notes.md".into());
        let (text, back) = there_and_back(PROTO, file.clone());
        assert!(!text.contains("notes.md"), "{text}");
        file.filename = None;
        assert_eq!(back, file);
    }
}

#[test]
fn metadata_of_parts_are_dropped_in_proto_json() {
    let [bytes, url] = files();
    for mut part in [Part::text("x"), data("{}"), bytes, url] {
        part.metadata = Some(Object::try_from(Json::parse(r#"{"a":1}"#).unwrap()).unwrap());
        assert_eq!(there_and_back(Dialect::V0Json, part.clone()).1, part);
        let (text, back) = there_and_back(PROTO, part.clone());
        assert!(!text.contains("metadata"), "{text}");
        part.metadata = None;
        assert_eq!(back, part);
    }
}

#[test]
fn data_that_is_no_object_is_wrapped_and_unwrapped() {
    let mut part = data("[1,2]");
    part.metadata = Some(Object::try_from(Json::parse(r#"{"a":1}"#).unwrap()).unwrap());
    let (text, back) = there_and_back(Dialect::V0Json, part.clone());
    let sent =
        r#"{"kind":"data","data":{"value":[1,2]},"metadata":{"a":1,"data_part_compat":true}}"#;
    assert!(text.contains(sent), "{text}");
    assert_eq!(back, part);
    for scalar in ["null", "7", "\"x\"", "false"] {
        let (_, back) = there_and_back(Dialect::V0Json, data(scalar));
        assert_eq!(back, data(scalar));
    }
    // Without metadata of parts there is no mark.
    let (text, back) = there_and_back(PROTO, data("[1,2]"));
    assert!(
        text.contains(r#"{"data":{"data":{"value":[1,2]}}}"#),
        "{text}"
    );
    assert_eq!(back, data(r#"{"value":[1,2]}"#));
}

#[test]
fn of_several_schemes_the_first_is_kept() {
    let sent = r#"{"taskId":"t","pushNotificationConfig":{"url":"https://a.example/",
        "authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}}"#;
    let config = wire::decode_push_config(Dialect::V0Json, sent).unwrap();
    assert_eq!(config.authentication.unwrap().scheme, "Bearer");
}

#[test]
fn an_array_of_webhooks_has_no_next_page() {
    let page = Response::PushConfigs(PushConfigPage {
        configs: Vec::new(),
        next_page_token: "more".into(),
    });
    let mut out = Vec::new();
    wire::encode_response(Dialect::V0Json, &page, &mut out);
    assert_eq!(out, b"[]");
    out.clear();
    wire::encode_response(PROTO, &page, &mut out);
    assert_eq!(out, br#"{"configs":[],"nextPageToken":"more"}"#);
}

#[test]
fn only_cancel_keeps_the_metadata_of_a_request_about_a_task() {
    let params = params(r#"{"id":"t","metadata":{"why":"late"}}"#);
    let ask = |method| {
        wire::decode_params(Dialect::V0Json, method, Some(&params))
            .unwrap()
            .operation
    };
    let Operation::Cancel(cancel) = ask(Method::Cancel) else {
        panic!("not a cancel");
    };
    assert_eq!(cancel.metadata.unwrap().as_str(), r#"{"why":"late"}"#);
    assert!(matches!(ask(Method::Get), Operation::Get(_)));
    assert!(matches!(ask(Method::Subscribe), Operation::Subscribe(_)));
}

#[test]
fn metadata_of_a_cancel_are_dropped_over_rest() {
    let metadata = Object::try_from(Json::parse(r#"{"why":"late"}"#).unwrap()).unwrap();
    let cancel = Operation::Cancel(CancelTask {
        id: TaskId::new("t").unwrap(),
        metadata: Some(metadata),
    });
    let body = |dialect| rest::write_request(dialect, &cancel, None).body.unwrap();
    assert_eq!(body(PROTO), b"{}");
    assert_eq!(body(Dialect::V0Json), br#"{"metadata":{"why":"late"}}"#);
}

#[test]
fn unknown_is_unspecified_in_proto_json() {
    let sent = r#"{"kind":"status-update","taskId":"t","contextId":"c",
        "status":{"state":"unknown"},"final":false}"#;
    let event = wire::decode_event(Dialect::V0Json, sent).unwrap();
    let mut out = Vec::new();
    wire::encode_event(PROTO, &event, false, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("TASK_STATE_UNSPECIFIED"), "{text}");
    let Event::Status(update) = wire::decode_event(PROTO, &text).unwrap() else {
        panic!("not a status");
    };
    assert_eq!(update.status.state, TaskState::Unknown);
}

#[test]
fn references_to_other_tasks_are_dropped_in_proto_json() {
    let id = switchboard_types::model::MessageId::new("m").unwrap();
    let mut message = Message::new(id, Role::User, vec![Part::text("x")]);
    message.reference_task_ids = vec![switchboard_types::model::TaskId::new("t").unwrap()];
    for (dialect, kept) in [(Dialect::V0Json, 1), (PROTO, 0)] {
        let mut out = Vec::new();
        wire::encode_message(dialect, &message, &mut out);
        let text = String::from_utf8(out).unwrap();
        let back = wire::decode_message(dialect, &text).unwrap();
        assert_eq!(back.reference_task_ids.len(), kept, "{text}");
    }
}
