//! A task in the 1.0 form: the shape is fixed, ids and the client's words are not.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The time of everything: making and writing one is work the gateway does and this server does not.
const TIME: &str = "2026-01-01T00:00:00.000Z";

/// What the agent says.
const WORDS: &str = "hello from the bench agent";

/// A message.
#[derive(Debug, Default, Clone, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Message {
    message_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    context_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    task_id: String,
    role: String,
    parts: Vec<Part>,
}

/// A part: text only.
#[derive(Debug, Default, Clone, Deserialize, Serialize)]
pub(crate) struct Part {
    text: String,
}

/// An artifact.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Artifact {
    artifact_id: &'static str,
    name: &'static str,
    parts: Vec<Part>,
}

/// Where a task stands.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Status {
    state: &'static str,
    timestamp: &'static str,
}

/// A task.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    id: String,
    context_id: String,
    status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact>,
    history: Vec<Message>,
}

/// The result of a send, and the first event of a stream.
#[derive(Debug, Serialize)]
pub(crate) struct Sent {
    pub(crate) task: Task,
}

/// An event of a stream.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Event {
    Task(Task),
    #[serde(rename_all = "camelCase")]
    StatusUpdate {
        task_id: String,
        context_id: String,
        status: Status,
    },
    #[serde(rename_all = "camelCase")]
    ArtifactUpdate {
        task_id: String,
        context_id: String,
        artifact: Artifact,
        last_chunk: bool,
    },
}

/// A task that `message` began and that is done.
pub(crate) fn completed(message: Message) -> Task {
    Task {
        status: status("TASK_STATE_COMPLETED"),
        artifacts: vec![artifact()],
        ..begun(message)
    }
}

/// The task of that id.
pub(crate) fn stored(id: String) -> Task {
    let message = Message {
        message_id: "m-1".to_owned(),
        role: "ROLE_USER".to_owned(),
        parts: vec![Part {
            text: "hello there".to_owned(),
        }],
        ..Message::default()
    };
    Task {
        id,
        ..completed(message)
    }
}

/// The four events of a task from its beginning to its end.
pub(crate) fn story(message: Message) -> [Event; 4] {
    let task = begun(message);
    let (id, context) = (task.id.clone(), task.context_id.clone());
    let update = |state| Event::StatusUpdate {
        task_id: id.clone(),
        context_id: context.clone(),
        status: status(state),
    };
    let result = Event::ArtifactUpdate {
        task_id: id.clone(),
        context_id: context.clone(),
        artifact: artifact(),
        last_chunk: true,
    };
    [
        Event::Task(task),
        update("TASK_STATE_WORKING"),
        result,
        update("TASK_STATE_COMPLETED"),
    ]
}

fn begun(message: Message) -> Task {
    let id = Uuid::now_v7().to_string();
    let context_id = Uuid::now_v7().to_string();
    let message = Message {
        task_id: id.clone(),
        context_id: context_id.clone(),
        ..message
    };
    Task {
        id,
        context_id,
        status: status("TASK_STATE_SUBMITTED"),
        artifacts: Vec::new(),
        history: vec![message],
    }
}

fn artifact() -> Artifact {
    let text = WORDS.to_owned();
    Artifact {
        artifact_id: "answer",
        name: "answer",
        parts: vec![Part { text }],
    }
}

fn status(state: &'static str) -> Status {
    Status {
        state,
        timestamp: TIME,
    }
}
