//! How what an agent says becomes events.

use std::sync::Arc;

use switchboard_types::model::{
    ContextId, Event, Message, Role, StatusUpdate, TaskState, TaskStatus,
};

use super::Said;
use crate::clock;
use crate::task::{Origin, fresh_id};

/// A status that begins now.
pub(crate) fn status(state: TaskState, message: Option<Arc<Message>>) -> TaskStatus {
    TaskStatus {
        state,
        message,
        timestamp: Some(clock::now()),
    }
}

/// The task goes to `state`, and the agent says something to it.
pub(crate) fn status_event(origin: &Origin, state: TaskState, mut said: Said) -> Event {
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
pub(crate) fn bare_message(context: &ContextId, said: Said) -> Message {
    Message {
        context_id: Some(context.clone()),
        metadata: said.message_metadata,
        reference_task_ids: said.references,
        ..Message::new(fresh_id(), Role::Agent, said.parts)
    }
}
