//! How many pieces a request has, counted before it is read.
//!
//! Two bytes make a part or a value, and in memory each is many times as large: a body within its limit could fill the
//! machine. Only large requests are counted, and only those that hold lists or free JSON.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::error::Error;

/// The most fields of a request, at all levels.
const MOST: usize = 100_000;

/// Requests up to this size are not counted: they cannot hold as many fields as matter.
const SMALL: usize = 64 << 10;

/// How deep messages nest; readers stop there as well.
const DEEPEST: usize = 100;

/// What a message is made of, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// `SendMessageRequest` of 1.0.
    SendV1,
    /// `SendMessageRequest` of 0.3.
    SendV0,
    /// `CancelTaskRequest` of 1.0.
    CancelV1,
    /// `SendMessageConfiguration`, of both.
    Configuration,
    MessageV1,
    MessageV0,
    PartV1,
    PartV0,
    DataV0,
    Struct,
    Entry,
    Value,
    List,
}

impl Shape {
    /// What a field of that number holds, if it is a message that matters.
    fn field(self, number: u32) -> Option<Self> {
        match (self, number) {
            (Self::SendV1, 2) => Some(Self::MessageV1),
            (Self::SendV0, 1) => Some(Self::MessageV0),
            (Self::SendV1, 3) | (Self::SendV0, 2) => Some(Self::Configuration),
            (Self::SendV1, 4) | (Self::SendV0 | Self::CancelV1, 3) => Some(Self::Struct),
            (Self::MessageV1, 5) => Some(Self::PartV1),
            (Self::MessageV0, 5) => Some(Self::PartV0),
            (Self::MessageV1 | Self::MessageV0, 6) => Some(Self::Struct),
            (Self::PartV1, 4) => Some(Self::Value),
            (Self::PartV1, 5) | (Self::PartV0, 4) | (Self::DataV0, 1) => Some(Self::Struct),
            (Self::PartV0, 3) => Some(Self::DataV0),
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
    let mut left = MOST;
    if bytes.len() > SMALL && count(shape, bytes, &mut left, DEEPEST).is_none() {
        return Err(Error::invalid_params(
            "params",
            format!("must not hold more than {MOST} fields"),
        ));
    }
    Ok(())
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
        assert!(check(Shape::SendV1, &many(90_000).encode_to_vec()).is_ok());
        assert!(check(Shape::SendV1, &many(100_000).encode_to_vec()).is_err());
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
        assert!(check(Shape::SendV0, &send.encode_to_vec()).is_err());
        let cancel = v1_0::CancelTaskRequest {
            metadata: Some(metadata),
            ..Default::default()
        };
        assert!(check(Shape::CancelV1, &cancel.encode_to_vec()).is_err());
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
        assert!(check(Shape::SendV1, &send.encode_to_vec()).is_ok());
        assert!(check(Shape::SendV1, &vec![0xff; 1 << 20]).is_ok());
    }
}
