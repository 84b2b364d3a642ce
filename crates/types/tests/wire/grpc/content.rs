//! What messages hold: free JSON, moments, files, the mark of the last event.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use prost::Message as _;
use switchboard_proto::{v0_3, v1_0};
use switchboard_types::Error;
use switchboard_types::model::{Artifact, Content, Event, Json, Part, Task};
use switchboard_types::wire::grpc::{self, Spoken};

use super::{NEW, OLD, STRICT, said, whole_view};
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

/// What the field holds in the message that is written.
fn field(spoken: Spoken, file: &Part) -> bytes::Bytes {
    let bytes = grpc::encode_event(spoken, &Event::Message(Arc::new(said(file.clone()))), false);
    let item = v0_3::StreamResponse::decode(&*bytes).unwrap();
    let Some(v0_3::stream_response::Payload::Msg(mut said)) = item.payload else {
        panic!("no message");
    };
    match said.content.remove(0).part {
        Some(v0_3::part::Part::File(v0_3::FilePart {
            file: Some(v0_3::file_part::File::FileWithBytes(field)),
            ..
        })) => field,
        other => panic!("no file: {other:?}"),
    }
}

/// The part that is read from a message whose field holds this.
fn read_field(spoken: Spoken, field: &'static [u8]) -> Result<Part, Error> {
    let file = v0_3::FilePart {
        file: Some(v0_3::file_part::File::FileWithBytes(field.into())),
        ..Default::default()
    };
    let said = v0_3::Message {
        message_id: "m".into(),
        role: v0_3::Role::User.into(),
        content: vec![v0_3::Part {
            part: Some(v0_3::part::Part::File(file)),
            metadata: None,
        }],
        ..Default::default()
    };
    let item = v0_3::StreamResponse {
        payload: Some(v0_3::stream_response::Payload::Msg(said)),
    };
    match grpc::decode_event(spoken, &item.encode_to_vec())? {
        Event::Message(said) => Ok(said.parts[0].clone()),
        other => panic!("no message: {other:?}"),
    }
}

/// `deadbeef` is a file that is base64 text by chance.
#[test]
fn the_field_for_the_bytes_of_a_file_holds_base64_text_or_the_file() {
    let file = |bytes: &'static [u8]| Part::new(Content::Raw(bytes.into()));
    for (content, text) in [
        (&b""[..], &b""[..]),
        (b"deadbeef", b"ZGVhZGJlZWY="),
        (b"\x00\x01\xfe\xff", b"AAH+/w=="),
    ] {
        assert_eq!(field(OLD, &file(content)), text);
        assert_eq!(read_field(OLD, text), Ok(file(content)));
        assert_eq!(field(STRICT, &file(content)), content);
        assert_eq!(read_field(STRICT, content), Ok(file(content)));
    }
    let error = read_field(OLD, b"\x00\x01\xfe\xff").unwrap_err();
    assert_eq!(
        error.violations()[0].field,
        "message.content[0].file.fileWithBytes"
    );
    assert!(error.message().contains("`file_bytes: raw`"), "{error}");
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
