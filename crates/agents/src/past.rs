//! What was said in a task before a message.

use std::sync::Arc;

use switchboard_types::model::{Message, MessageId, Task};

/// What was said before the message `now`, oldest first. A question that it answers belongs to it, though the task may
/// still show it as open.
pub(crate) fn said_before<'a>(
    task: &'a Task,
    now: &MessageId,
) -> impl Iterator<Item = &'a Arc<Message>> {
    let before = task.history.iter().take_while(move |m| m.id != *now);
    let asked = task.status.message.as_ref();
    before.chain(asked.filter(|_| task.status.state.is_interrupted()))
}
