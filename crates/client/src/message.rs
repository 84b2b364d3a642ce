//! What to send: a message of the user with an id of its own.

use switchboard_types::model::{ContextId, Message, MessageId, Part, Role, Task, TaskId};
use switchboard_types::operation::{SendConfiguration, SendMessage};
use uuid::Uuid;

/// A message of one text part.
pub fn text(text: impl Into<String>) -> SendMessage {
    parts(vec![Part::text(text)])
}

/// A message of these parts.
#[must_use]
pub fn parts(parts: Vec<Part>) -> SendMessage {
    SendMessage {
        message: Message::new(fresh_id(), Role::User, parts),
        configuration: SendConfiguration::default(),
        metadata: None,
    }
}

/// An answer to a task that waits for one. It names task and conversation: there are agents that take a message
/// with the conversation alone for a new task.
#[must_use]
pub fn reply(task: &Task, answer: Vec<Part>) -> SendMessage {
    in_task(parts(answer), &task.id, Some(&task.context_id))
}

/// The same message, said in a task.
#[must_use]
pub fn in_task(mut send: SendMessage, task: &TaskId, context: Option<&ContextId>) -> SendMessage {
    send.message.task_id = Some(task.clone());
    send.message.context_id = context.cloned();
    send
}

/// Never given twice: there are agents that take a known id for a correction of what was said.
pub(crate) fn fresh_id() -> MessageId {
    let text = Uuid::new_v4().to_string();
    #[expect(clippy::expect_used, reason = "a UUID is a valid id")]
    MessageId::new(text).expect("a UUID")
}
