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

/// Metadata with that member. All other members keep their text.
pub(crate) fn set(metadata: Option<&Object>, name: &str, value: Value) -> Object {
    let others = metadata.map(|metadata| metadata.without(&[name]));
    let open = others.as_ref().map_or("{}", Object::as_str).trim_end();
    let open = open.strip_suffix('}').unwrap_or("{");
    let comma = if open.trim_end() == "{" { "" } else { "," };
    let text = format!("{open}{comma}{}:{value}}}", Value::from(name));
    let added = Json::parse_answer(text).and_then(Object::try_from);
    // It nests too deep with the new member: that one is needed.
    added.unwrap_or_else(|_| Object::from(&Map::from_iter([(name.to_owned(), value)])))
}
