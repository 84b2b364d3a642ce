//! How the engine words events and makes ids.

use std::sync::Arc;

use serde_json::json;
use switchboard_types::model::{
    ContextId, Event, Id, Message, Object, Part, Role, StatusUpdate, Task, TaskId, TaskState,
    TaskStatus,
};
use uuid::Uuid;

use crate::agent::Said;
use crate::clock;
use crate::log::Origin;
use crate::marks;

/// A fresh identifier. Version 7: they grow with time, so stores add at the end.
pub(crate) fn fresh_id<K>() -> Id<K> {
    named(Uuid::now_v7())
}

/// Fresh identifiers for a task and the conversation it begins. They differ in one bit, so that a store
/// that knows the one need not keep the other.
pub(super) fn fresh_ids() -> (TaskId, ContextId) {
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

/// A status that begins now.
pub(super) fn status(state: TaskState, message: Option<Arc<Message>>) -> TaskStatus {
    TaskStatus {
        state,
        message,
        timestamp: Some(clock::now()),
    }
}

/// The task goes to `state`, and the agent says something to it.
pub(super) fn status_event(origin: &Origin, state: TaskState, mut said: Said) -> Event {
    let metadata = said.metadata.take();
    // Without parts there is no message.
    let message = (!said.parts.is_empty()).then(|| {
        Arc::new(Message {
            task_id: Some(origin.id.clone()),
            ..bare_message(&origin.context, said)
        })
    });
    Event::Status(StatusUpdate {
        task_id: origin.id.clone(),
        context_id: origin.context.clone(),
        status: status(state, message),
        metadata,
    })
}

/// A bare answer: a message of the agent without a task.
pub(super) fn bare_message(context: &ContextId, said: Said) -> Message {
    Message {
        context_id: Some(context.clone()),
        metadata: said.message_metadata,
        reference_task_ids: said.references,
        ..Message::new(fresh_id(), Role::Agent, said.parts)
    }
}

/// What a failed task says: the text as message, and as `metadata.error` for machines, with a reason.
pub(super) fn failure(text: &str, reason: &str) -> Said {
    let mut metadata = serde_json::Map::new();
    metadata.insert("error".to_owned(), text.into());
    metadata.insert("reason".to_owned(), reason.into());
    Said {
        metadata: Some(Object::from(&metadata)),
        ..Said::text(text)
    }
}

/// The member of a status's and its message's metadata which says that the upstream may go on with a task that is over.
const UPSTREAM: &str = "switchboard/upstream";

/// What a task says at its end if the upstream refused to stop: that it may go on, and why; beside what it says anyway.
pub(super) fn with_refused_cancel(said: Said, refused: Option<String>) -> Said {
    let Some(reason) = refused else {
        return said;
    };
    let text = format!("the upstream refused to cancel and may go on: {reason}");
    let upstream = json!({ "mayContinue": true, "reason": reason });
    let mut parts = said.parts;
    parts.push(Part::text(text));
    Said {
        parts,
        metadata: Some(marks::set(
            said.metadata.as_ref(),
            UPSTREAM,
            upstream.clone(),
        )),
        message_metadata: Some(marks::set(
            said.message_metadata.as_ref(),
            UPSTREAM,
            upstream,
        )),
        ..said
    }
}

/// Why the upstream of a canceled task refused to stop, if it did.
#[must_use]
pub fn refused_cancel(task: &Task) -> Option<String> {
    let message = task.status.message.as_ref();
    let message = message.filter(|_| task.status.state == TaskState::Canceled)?;
    let upstream = marks::get(message, UPSTREAM).ok()??;
    Some(upstream["reason"].as_str()?.to_owned())
}

/// The message as it goes into the task's history.
pub(super) fn addressed(message: Message, origin: &Origin) -> Arc<Message> {
    Arc::new(Message {
        task_id: Some(origin.id.clone()),
        context_id: Some(origin.context.clone()),
        ..message
    })
}

/// The task with one message more.
pub(super) fn with_message(task: &Task, message: &Arc<Message>) -> Task {
    let mut task = task.clone();
    task.history.push(Arc::clone(message));
    task
}
