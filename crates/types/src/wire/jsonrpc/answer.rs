//! The envelope of an answer, read leniently: agents forget `jsonrpc`, spell an absent `error` as null, and say
//! ids in their own escapes.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::Id;
use crate::error::{Error, ErrorKind};
use crate::wire::read::{Obj, bare_string, not_json, present};

/// An answer whose envelope was read.
#[derive(Debug)]
pub struct Answered<'a> {
    /// Which call it answers; null if it does not say. Equal to the id of the call if the text or number is.
    pub id: Id,
    /// What it says.
    pub outcome: Outcome<'a>,
}

/// What an answer says.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The result, for `wire::decode_response` or `wire::decode_event`; may be null.
    Result(&'a RawValue),
    /// The error, for `wire::decode_error`; not always an object.
    Error(&'a RawValue),
    /// Neither: the object is no JSON-RPC. With a bad HTTP status it may be an error of another kind.
    Neither,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Raw<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Reads the envelope of an answer, or of one item of a stream.
///
/// # Errors
///
/// `Parse` if it is no JSON, `InvalidAgentResponse` if it is JSON, but no object.
pub fn read_answer(body: &[u8]) -> Result<Answered<'_>, Error> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let raw = match serde_json::from_slice::<Obj<Raw<'_>>>(body) {
        Ok(raw) => raw.0,
        Err(error) => return Err(unreadable(body, &error)),
    };
    let outcome = match (raw.error, raw.result) {
        (Some(error), _) => Outcome::Error(error),
        (None, Some(result)) => Outcome::Result(result),
        (None, None) => Outcome::Neither,
    };
    Ok(Answered {
        id: raw.id.map_or_else(Id::null, id),
        outcome,
    })
}

/// What is no id is none: an answer is not refused for it.
fn id(raw: &RawValue) -> Id {
    match bare_string(raw) {
        Some(text) => Id::text(&text),
        None => Id::read(raw).unwrap_or_else(|_| Id::null()),
    }
}

#[cold]
fn unreadable(body: &[u8], error: &serde_json::Error) -> Error {
    if serde_json::from_slice::<IgnoredAny>(body).is_err() {
        return not_json(&error.to_string());
    }
    Error::new(
        ErrorKind::InvalidAgentResponse,
        "the answer is not a JSON-RPC object",
    )
}
