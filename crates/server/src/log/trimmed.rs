//! Tasks without their content, for callers whose calls have been executed when there is no room for all of the task:
//! an error would make them try again, and what they asked for would be done twice.

use switchboard_types::model::{Task, TaskStatus};

use crate::task::LARGE;

/// The ids of a task and its status; the message of the status is left out if it is large. The caller can read the rest
/// later.
pub(crate) fn trimmed(task: &Task) -> Task {
    let status = &task.status;
    let message = status.message.as_ref();
    Task {
        id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: TaskStatus {
            message: message
                .filter(|message| message.weight() < LARGE / 2)
                .cloned(),
            ..status.clone()
        },
        history: Vec::new(),
        artifacts: Vec::new(),
        metadata: None,
    }
}
