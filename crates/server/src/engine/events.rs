//! What the engine itself says of a task, and messages as they go into its history.

use std::sync::Arc;

use serde_json::json;
use switchboard_types::model::{Message, Object, Part, Task, TaskState};

use crate::agent::Said;
use crate::metadata;
use crate::task::Origin;

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
        metadata: Some(metadata::set(
            said.metadata.as_ref(),
            UPSTREAM,
            upstream.clone(),
        )),
        message_metadata: Some(metadata::set(
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
    let upstream = metadata::get(message, UPSTREAM).ok()??;
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
