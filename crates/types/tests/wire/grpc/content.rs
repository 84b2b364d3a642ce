//! What messages hold: free JSON, moments, files, the mark of the last event.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use prost::Message as _;
use switchboard_proto::{v0_3, v1_0};
use switchboard_types::model::{Artifact, Content, Event, Json, Part, Task};
use switchboard_types::wire::grpc::{self, Spoken};

use super::{NEW, OLD, PYTHON, said, whole_view};
use crate::sample;

fn there_and_back(spoken: Spoken, part: Part) -> Part {
    let bytes = grpc::encode_event(spoken, &Event::Message(Arc::new(said(part))), false);
    match grpc::decode_event(spoken, &bytes).unwrap() {
        Event::Message(message) => message.parts[0].clone(),
        other => panic!("no message: {other:?}"),
    }
}

#[test]
fn deep_json_comes_through_every_message() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(29), "1") + &"}".repeat(29);
    for spoken in [NEW, OLD] {
        let back = there_and_back(spoken, Part::data(Json::parse(deep.clone()).unwrap()));
        assert_eq!(
            back.content,
            Content::Data(Json::parse(deep.clone()).unwrap())
        );
        let deeper = format!("[{deep}]");
        let task = Task {
            artifacts: vec![Arc::new(Artifact::new(
                switchboard_types::model::ArtifactId::new("a").unwrap(),
                vec![Part::data(Json::parse(deeper).unwrap())],
            ))],
            ..(*whole_view().task).clone()
        };
        let bytes = grpc::encode_event(spoken, &Event::Task(Arc::new(task)), false);
        grpc::decode_event(spoken, &bytes).expect("as deep as readers go");
    }
}

#[test]
fn moments_are_cut_to_microseconds() {
    let update = v1_0::TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: Some(v1_0::TaskStatus {
            state: 2,
            message: None,
            timestamp: Some(prost_types::Timestamp {
                seconds: 1,
                nanos: 123_456_789,
            }),
        }),
        metadata: None,
    };
    let item = v1_0::StreamResponse {
        payload: Some(v1_0::stream_response::Payload::StatusUpdate(update)),
    };
    match grpc::decode_event(NEW, &item.encode_to_vec()).unwrap() {
        Event::Status(update) => {
            assert_eq!(update.status.timestamp.unwrap().as_micros(), 1_123_456);
        }
        other => panic!("no status: {other:?}"),
    }
}

#[test]
fn files_of_the_python_sdk_are_base64_text() {
    let file = Part::new(Content::Raw("Hi\u{e9}".as_bytes().to_vec().into()));
    let bytes = grpc::encode_event(PYTHON, &Event::Message(Arc::new(said(file.clone()))), false);
    assert!(bytes.windows(8).any(|w| w == b"SGnDqQ=="), "{bytes:?}");
    assert_eq!(there_and_back(PYTHON, file.clone()), file);
    // Read raw it stays as it came; what is no base64 was meant as it stands.
    let Event::Message(raw) = grpc::decode_event(OLD, &bytes).unwrap() else {
        panic!("no message");
    };
    assert_eq!(raw.parts[0].content, Content::Raw("SGnDqQ==".into()));
    let bytes = grpc::encode_event(OLD, &Event::Message(Arc::new(said(file.clone()))), false);
    let Event::Message(odd) = grpc::decode_event(PYTHON, &bytes).unwrap() else {
        panic!("no message");
    };
    assert_eq!(odd.parts[0], file);
}

#[test]
fn only_the_last_status_of_0_3_is_final() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let event = loop {
        let event = sample::event().new_tree(&mut runner).unwrap().current();
        if matches!(event, Event::Status(_)) {
            break event;
        }
    };
    for last in [true, false] {
        let bytes = grpc::encode_event(OLD, &event, last);
        let item = v0_3::StreamResponse::decode(&*bytes).unwrap();
        match item.payload {
            Some(v0_3::stream_response::Payload::StatusUpdate(update)) => {
                assert_eq!(update.r#final, last);
            }
            other => panic!("no status: {other:?}"),
        }
    }
}
