//! Identifiers of tasks, contexts and messages.

use switchboard_types::model::Id;
use uuid::Uuid;

/// A fresh identifier. Version 7: they grow with time, so stores add at the end.
pub(crate) fn fresh_id<K>() -> Id<K> {
    named(Uuid::now_v7())
}

/// A UUID as an identifier.
pub(crate) fn named<K>(uuid: Uuid) -> Id<K> {
    let mut text = Uuid::encode_buffer();
    let text: &str = uuid.hyphenated().encode_lower(&mut text);
    match Id::new(text) {
        Ok(id) => id,
        Err(_) => unreachable!("a UUID is a valid identifier"),
    }
}
