//! What agents answer and stores keep: events, tasks, messages, webhooks, cards.

use std::fmt::Debug;

use switchboard_types::model::{AgentCard, ContextId, TaskId};
use switchboard_types::wire::card::{CardShape, canonical_card, decode_card, encode_card};
use switchboard_types::{Dialect, Error, wire};

use crate::{in_dialect, must_be_a_json_line};

pub(crate) fn event(data: &[u8]) {
    round_trip(data, wire::decode_event, |dialect, event, out| {
        wire::encode_event(dialect, event, false, out);
    });
}

pub(crate) fn task(data: &[u8]) {
    round_trip(data, wire::decode_task, wire::encode_task);
}

pub(crate) fn message(data: &[u8]) {
    round_trip(data, wire::decode_message, wire::encode_message);
}

pub(crate) fn push_config(data: &[u8]) {
    round_trip(data, wire::decode_push_config, wire::encode_push_config);
}

/// The lines of a stored row: events, and after `<` the message that caused the next one. Stores read and write
/// them by these functions.
pub(crate) fn stored(data: &[u8]) {
    for line in data.split(|b| *b == b'\n') {
        match line {
            // The first byte picks the dialect: 0 is that of the rows.
            [b'<', json @ ..] => message(&[&[0], json].concat()),
            json => stored_event(json),
        }
    }
}

fn stored_event(json: &[u8]) {
    let (Ok(task), Ok(context)) = (TaskId::new("t"), ContextId::new("c")) else {
        unreachable!("both are valid");
    };
    let Some(event) = std::str::from_utf8(json)
        .ok()
        .and_then(|json| wire::decode_stored(json, &task, &context).ok())
    else {
        return;
    };
    let mut out = Vec::new();
    wire::encode_stored(&event, &task, &context, &mut out);
    let text = must_be_a_json_line(&out);
    let again = wire::decode_stored(text, &task, &context).expect("our own row");
    assert_eq!(event, again, "{text}");
}

/// A card of any version: once a shape has lost what it cannot say, it stays as it is.
pub(crate) fn card(data: &[u8]) {
    let Ok(card) = decode_card(data) else {
        return;
    };
    must_be_a_json_line(&canonical_card(&card));
    for shape in [CardShape::V1, CardShape::V0, CardShape::Union] {
        let second = rewrite(shape, &rewrite(shape, &card));
        assert_eq!(second, rewrite(shape, &second), "{shape:?}");
    }
}

/// A card after it was written and read.
fn rewrite(shape: CardShape, card: &AgentCard) -> AgentCard {
    let mut out = Vec::new();
    encode_card(shape, card, &mut out);
    decode_card(must_be_a_json_line(&out).as_bytes()).expect("our own card")
}

/// What was read must be the same after it was written and read again.
fn round_trip<T: Debug + PartialEq>(
    data: &[u8],
    decode: fn(Dialect, &str) -> Result<T, Error>,
    encode: fn(Dialect, &T, &mut Vec<u8>),
) {
    let Some((dialect, json)) = in_dialect(data) else {
        return;
    };
    let Ok(mut model) = decode(dialect, json) else {
        return;
    };
    let mut out = Vec::new();
    encode(dialect, &model, &mut out);
    // In ProtoJSON of 0.3 more is read than is written: references to tasks, names of files, metadata of parts.
    if dialect.files().is_some() {
        let Ok(less) = decode(dialect, must_be_a_json_line(&out)) else {
            return;
        };
        model = less;
        out.clear();
        encode(dialect, &model, &mut out);
    }
    let text = must_be_a_json_line(&out);
    match decode(dialect, text) {
        Ok(again) => assert_eq!(model, again, "{dialect:?} {text}"),
        // 0.x wraps data that is no object, one level deeper.
        Err(error) if error.message().contains("nested deeper") => {}
        Err(error) => panic!("{error}: {text}"),
    }
}
