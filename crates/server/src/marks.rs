//! Members of a message's metadata that are ours: they come along wherever messages go.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use switchboard_types::model::{Json, Message, Object};

/// What is read of a member at most, in bytes.
const LONGEST: usize = 16 << 10;

/// A member that is too long to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The member of that name, if there is one.
///
/// # Errors
///
/// If it cannot be read: it must not pass for none.
pub(crate) fn get(message: &Message, name: &str) -> Result<Option<Value>, TooLong> {
    let metadata = message.metadata.as_ref();
    // Most messages have none, and are not read through. Where something is escaped, the name may be, too.
    let may_have = |metadata: &&Object| {
        let text = metadata.as_str();
        text.contains(name) || text.contains('\\')
    };
    let Some(metadata) = metadata.filter(may_have) else {
        return Ok(None);
    };
    match metadata.get::<Box<RawValue>>(name) {
        Some(found) if found.get().len() > LONGEST => Err(TooLong),
        _ => Ok(metadata.get::<Value>(name)),
    }
}

/// Metadata with that member. What else stands there stays as it is written.
pub(crate) fn set(metadata: Option<&Object>, name: &str, value: Value) -> Object {
    let before = metadata.map_or("{}", Object::as_str).trim();
    let is_marked = metadata.is_some_and(|m| m.get::<Value>(name).is_some());
    let added = before.strip_suffix('}').filter(|_| !is_marked).map(|open| {
        let comma = if open.trim_end() == "{" { "" } else { "," };
        format!("{open}{comma}{}:{value}}}", Value::from(name))
    });
    let added = added.and_then(|text| Json::parse(text).ok());
    added
        .and_then(|json| Object::try_from(json).ok())
        .unwrap_or_else(|| {
            let members = metadata.and_then(|metadata| metadata.as_json().read());
            let mut members: Map<String, Value> = members.unwrap_or_default();
            members.insert(name.to_owned(), value);
            Object::from(&members)
        })
}
