//! How many pieces a message has, counted before it is read.
//!
//! Two bytes make a part or a value, and in memory each is many times as large: a body within its limit could fill the
//! machine. Only large messages are counted, and only what holds lists or free JSON.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::error::{Error, ErrorKind};
use crate::operation::Method;
use crate::version::ProtocolVersion;

/// The most fields of a request, at all levels.
const MOST: usize = 100_000;

/// The most fields of an answer, which may be a page of tasks with all that was said in them.
const MOST_ANSWERED: usize = 1_000_000;

/// Messages up to this size are not counted: they cannot hold as many fields as matter.
const SMALL: usize = 64 << 10;

/// How deep messages nest; readers stop there as well.
const DEEPEST: usize = 100;

/// What a message is made of, as far as it matters here. Numbers of fields differ between versions.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// `SendMessageRequest`.
    Send(ProtocolVersion),
    /// `CancelTaskRequest` of 1.0.
    CancelV1,
    /// `SendMessageConfiguration`.
    Configuration,
    /// `StreamResponse`, and `SendMessageResponse`, which is a part of it.
    Item(ProtocolVersion),
    /// `ListTasksResponse` of 1.0.
    Tasks,
    Task(ProtocolVersion),
    Status(ProtocolVersion),
    StatusUpdate(ProtocolVersion),
    ArtifactUpdate(ProtocolVersion),
    Artifact(ProtocolVersion),
    Message(ProtocolVersion),
    Part(ProtocolVersion),
    DataV0,
    Struct,
    Entry,
    Value,
    List,
    /// Anything else: only its own fields are counted.
    Other,
}

impl Shape {
    /// The answer to `method`.
    fn answering(version: ProtocolVersion, method: Method) -> Self {
        match method {
            Method::Send | Method::Stream | Method::Subscribe => Self::Item(version),
            Method::Get | Method::Cancel => Self::Task(version),
            Method::List => Self::Tasks,
            Method::CreatePushConfig
            | Method::GetPushConfig
            | Method::ListPushConfigs
            | Method::DeletePushConfig
            | Method::ExtendedCard => Self::Other,
        }
    }

    /// What a field of that number holds, if it is a message that matters.
    fn field(self, number: u32) -> Option<Self> {
        use ProtocolVersion::{V0_3, V1_0};
        match (self, number) {
            (Self::Send(V1_0), 2) => Some(Self::Message(V1_0)),
            (Self::Send(V0_3), 1) => Some(Self::Message(V0_3)),
            (Self::Send(V1_0), 3) | (Self::Send(V0_3), 2) => Some(Self::Configuration),
            (Self::Item(version), 1) => Some(Self::Task(version)),
            (Self::Tasks, 1) => Some(Self::Task(V1_0)),
            (Self::Item(version) | Self::Status(version), 2) | (Self::Task(version), 5) => {
                Some(Self::Message(version))
            }
            (Self::Item(version), 3) => Some(Self::StatusUpdate(version)),
            (Self::Item(version), 4) => Some(Self::ArtifactUpdate(version)),
            (Self::Task(version) | Self::StatusUpdate(version), 3) => Some(Self::Status(version)),
            (Self::Task(version), 4) | (Self::ArtifactUpdate(version), 3) => {
                Some(Self::Artifact(version))
            }
            (Self::Artifact(V1_0), 4) => Some(Self::Part(V1_0)),
            (Self::Artifact(V0_3), 5) => Some(Self::Part(V0_3)),
            (Self::Message(version), 5) => Some(Self::Part(version)),
            (Self::Send(V1_0), 4)
            | (Self::Send(V0_3) | Self::CancelV1, 3)
            | (Self::Task(_) | Self::ArtifactUpdate(_) | Self::Message(_), 6)
            | (Self::StatusUpdate(V1_0), 4)
            | (Self::StatusUpdate(V0_3), 5)
            | (Self::Artifact(V1_0), 5)
            | (Self::Artifact(V0_3), 6)
            | (Self::Part(V1_0), 5)
            | (Self::Part(V0_3), 4)
            | (Self::DataV0, 1) => Some(Self::Struct),
            (Self::Part(V1_0), 4) => Some(Self::Value),
            (Self::Part(V0_3), 3) => Some(Self::DataV0),
            (Self::Struct, 1) => Some(Self::Entry),
            (Self::Entry, 2) | (Self::List, 1) => Some(Self::Value),
            (Self::Value, 5) => Some(Self::Struct),
            (Self::Value, 6) => Some(Self::List),
            _ => None,
        }
    }
}

/// Checks a request of that shape.
///
/// # Errors
///
/// If it has too many fields. What is no message at all is left to the decoder.
pub(super) fn check(shape: Shape, bytes: &[u8]) -> Result<(), Error> {
    if holds_more(MOST, shape, bytes) {
        return Err(Error::invalid_params("params", too_many(MOST)));
    }
    Ok(())
}

/// Checks the answer to `method`, or an event of its stream.
///
/// # Errors
///
/// As [`check`].
pub(super) fn check_answer(
    version: ProtocolVersion,
    method: Method,
    bytes: &[u8],
) -> Result<(), Error> {
    if holds_more(MOST_ANSWERED, Shape::answering(version, method), bytes) {
        let message = format!("the answer {}", too_many(MOST_ANSWERED));
        return Err(Error::new(ErrorKind::Parse, message));
    }
    Ok(())
}

fn too_many(most: usize) -> String {
    format!("must not hold more than {most} fields")
}

fn holds_more(most: usize, shape: Shape, bytes: &[u8]) -> bool {
    let mut left = most;
    bytes.len() > SMALL && count(shape, bytes, &mut left, DEEPEST).is_none()
}

/// Counts down; `None` once there are too many. Stops where it cannot read.
fn count(shape: Shape, mut bytes: &[u8], left: &mut usize, depth: usize) -> Option<()> {
    while !bytes.is_empty() {
        *left = left.checked_sub(1)?;
        let Ok((number, wire_type)) = decode_key(&mut bytes) else {
            return Some(());
        };
        match shape.field(number) {
            Some(inner) if wire_type == WireType::LengthDelimited && depth > 0 => {
                let length = decode_varint(&mut bytes).ok();
                let length = length.and_then(|length| usize::try_from(length).ok());
                let Some((field, rest)) = length.and_then(|length| bytes.split_at_checked(length))
                else {
                    return Some(());
                };
                count(inner, field, left, depth - 1)?;
                bytes = rest;
            }
            _ => {
                if skip_field(wire_type, number, &mut bytes, DecodeContext::default()).is_err() {
                    return Some(());
                }
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use switchboard_proto::{v0_3, v1_0};

    use super::*;

    #[test]
    fn many_parts_are_refused_before_they_are_read() {
        let many = |n| v1_0::SendMessageRequest {
            message: Some(v1_0::Message {
                parts: vec![v1_0::Part::default(); n],
                ..Default::default()
            }),
            ..Default::default()
        };
        assert!(
            check(
                Shape::Send(ProtocolVersion::V1_0),
                &many(90_000).encode_to_vec()
            )
            .is_ok()
        );
        assert!(
            check(
                Shape::Send(ProtocolVersion::V1_0),
                &many(100_000).encode_to_vec()
            )
            .is_err()
        );
    }

    #[test]
    fn many_values_are_refused_wherever_they_stand() {
        let list = prost_types::ListValue {
            values: vec![prost_types::Value::default(); 100_000],
        };
        let value = prost_types::Value {
            kind: Some(prost_types::value::Kind::ListValue(list)),
        };
        let metadata = prost_types::Struct {
            fields: [("a".to_owned(), value)].into(),
        };
        let data = v0_3::DataPart {
            data: Some(metadata.clone()),
        };
        let part = v0_3::Part {
            part: Some(v0_3::part::Part::Data(data)),
            ..Default::default()
        };
        let send = v0_3::SendMessageRequest {
            request: Some(v0_3::Message {
                content: vec![part],
                ..Default::default()
            }),
            ..Default::default()
        };
        assert!(check(Shape::Send(ProtocolVersion::V0_3), &send.encode_to_vec()).is_err());
        let cancel = v1_0::CancelTaskRequest {
            metadata: Some(metadata),
            ..Default::default()
        };
        assert!(check(Shape::CancelV1, &cancel.encode_to_vec()).is_err());
    }

    /// Parts wherever they stand in an answer: what the decoder would make of them is many times as large.
    #[test]
    fn answers_are_counted_as_well() {
        const MANY: usize = MOST_ANSWERED;
        let task = v1_0::Task {
            artifacts: vec![v1_0::Artifact {
                parts: vec![v1_0::Part::default(); MANY],
                ..Default::default()
            }],
            ..Default::default()
        };
        let update = v1_0::TaskArtifactUpdateEvent {
            artifact: task.artifacts.first().cloned(),
            ..Default::default()
        };
        let item = v1_0::StreamResponse {
            payload: Some(v1_0::stream_response::Payload::ArtifactUpdate(update)),
        };
        let said = v0_3::Message {
            content: vec![v0_3::Part::default(); MANY],
            ..Default::default()
        };
        let older = v0_3::Task {
            status: Some(v0_3::TaskStatus {
                update: Some(said),
                ..Default::default()
            }),
            ..Default::default()
        };
        let (v1, v0) = (ProtocolVersion::V1_0, ProtocolVersion::V0_3);
        for (version, method, bytes) in [
            (v1, Method::Get, task.encode_to_vec()),
            (v1, Method::Stream, item.encode_to_vec()),
            (v0, Method::Get, older.encode_to_vec()),
        ] {
            assert!(check_answer(version, method, &bytes).is_err(), "{method:?}");
        }
        let page = v1_0::ListTasksResponse {
            tasks: vec![task],
            ..Default::default()
        };
        assert!(check_answer(v1, Method::List, &page.encode_to_vec()).is_err());
        let few = v1_0::Task {
            history: vec![v1_0::Message::default(); 100_000],
            ..Default::default()
        };
        assert!(check_answer(v1, Method::Get, &few.encode_to_vec()).is_ok());
    }

    #[test]
    fn a_large_text_is_one_field() {
        let part = v1_0::Part {
            content: Some(v1_0::part::Content::Text("x".repeat(1 << 20))),
            ..Default::default()
        };
        let send = v1_0::SendMessageRequest {
            message: Some(v1_0::Message {
                parts: vec![part],
                ..Default::default()
            }),
            ..Default::default()
        };
        assert!(check(Shape::Send(ProtocolVersion::V1_0), &send.encode_to_vec()).is_ok());
        assert!(check(Shape::Send(ProtocolVersion::V1_0), &vec![0xff; 1 << 20]).is_ok());
    }
}
