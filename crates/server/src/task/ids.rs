//! Identifiers of tasks, contexts and messages.

use switchboard_types::model::{ContextId, Id, TaskId};
use uuid::Uuid;

/// A fresh identifier. Version 7: they grow with time, so stores add at the end.
pub(crate) fn fresh_id<K>() -> Id<K> {
    named(Uuid::now_v7())
}

/// Fresh identifiers for a task and the conversation it begins. They differ in one bit, so that a store
/// that knows the one need not keep the other.
pub(crate) fn fresh_ids() -> (TaskId, ContextId) {
    let task = Uuid::now_v7();
    (named(task), named(Uuid::from_u128(task.as_u128() ^ 1)))
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
