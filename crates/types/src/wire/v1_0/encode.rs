//! Everything that leaves in 1.0.
//!
//! Presence follows the proto (A2A 1.0 §5.7): REQUIRED members are always written, implicit
//! defaults are left out.

use std::sync::Arc;

use crate::model::{
    Artifact, ArtifactUpdate, Content, ContextId, Event, Message, Part, PushConfig, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus,
};
use crate::operation::{PushConfigPage, TaskPage, TaskView};
use crate::wire::rendering::{Elements, Value};
use crate::wire::write::{Members, Out, array, object};

/// Which members of a task to write.
#[derive(Clone, Copy)]
struct Shown<'a> {
    history: &'a [Arc<Message>],
    /// `None`: the member is absent. An empty slice is written only when `even_empty`.
    artifacts: Option<&'a [Arc<Artifact>]>,
    even_empty: bool,
}

/// A whole task.
pub(crate) fn task<O: Out>(task: &Task, out: &mut O) {
    let shown = Shown {
        history: &task.history,
        artifacts: Some(&task.artifacts),
        even_empty: false,
    };
    task_shown(task, shown, out);
}

/// As much of a task as the caller wants to see.
pub(crate) fn task_view<O: Out>(view: &TaskView, out: &mut O) {
    if !out.leaves_out(|| Value::Task(view.clone())) {
        task_shown(&view.task, shown(view, false), out);
    }
}

/// The members of a task that is rendered piece by piece; in a page, artifacts that were asked for are present even
/// when empty.
pub(crate) fn task_outline<O: Out>(view: &TaskView, in_page: bool, out: &mut O) {
    task_shown(&view.task, shown(view, in_page), out);
}

/// A page of tasks. Artifacts were asked for: present even when empty; else absent from every task
/// (A2A 1.0 §3.1.4).
pub(crate) fn task_page<O: Out>(page: &TaskPage, out: &mut O) {
    object(out, |o| {
        o.elements("tasks", Elements::Tasks, &page.tasks, |view, out| {
            task_shown(&view.task, shown(view, true), out);
        });
        o.str("nextPageToken", &page.next_page_token);
        o.number("pageSize", page.page_size);
        o.number("totalSize", page.total_size);
    });
}

fn shown(view: &TaskView, even_empty: bool) -> Shown<'_> {
    Shown {
        history: view.history(),
        artifacts: view.artifacts.then_some(&view.task.artifacts),
        even_empty,
    }
}

fn task_shown<O: Out>(task: &Task, shown: Shown<'_>, out: &mut O) {
    object(out, |o| {
        o.str("id", task.id.as_str());
        o.str("contextId", task.context_id.as_str());
        status(&task.status, o.value("status"));
        if let Some(artifacts) = shown.artifacts
            && (shown.even_empty || !artifacts.is_empty())
        {
            o.elements("artifacts", Elements::Artifacts, artifacts, |piece, out| {
                artifact(piece, out);
            });
        }
        if !shown.history.is_empty() {
            o.elements("history", Elements::History, shown.history, |said, out| {
                message(said, out);
            });
        }
        o.opt_json("metadata", task.metadata.as_ref());
    });
}

fn status<O: Out>(status: &TaskStatus, out: &mut O) {
    object(out, |o| {
        o.str("state", state_name(status.state));
        if let Some(said) = &status.message {
            shared_message(said, o.value("message"));
        }
        if let Some(time) = status.timestamp {
            o.time("timestamp", time);
        }
    });
}

/// A message that can be rendered later.
pub(crate) fn shared_message<O: Out>(said: &Arc<Message>, out: &mut O) {
    if !out.leaves_out(|| Value::Message(Arc::clone(said))) {
        message(said, out);
    }
}

/// A message.
pub(crate) fn message<O: Out>(message: &Message, out: &mut O) {
    object(out, |o| {
        o.str("messageId", message.id.as_str());
        if let Some(context) = &message.context_id {
            o.str("contextId", context.as_str());
        }
        if let Some(task) = &message.task_id {
            o.str("taskId", task.as_str());
        }
        o.str("role", role_name(message.role));
        o.elements("parts", Elements::Parts, &message.parts, part);
        o.opt_json("metadata", message.metadata.as_ref());
        o.strings("extensions", &message.extensions);
        if !message.reference_task_ids.is_empty() {
            o.elements(
                "referenceTaskIds",
                Elements::References,
                &message.reference_task_ids,
                |id, out| {
                    crate::wire::write::string(id.as_str(), out);
                },
            );
        }
    });
}

/// A part.
pub(crate) fn part<O: Out>(part: &Part, out: &mut O) {
    object(out, |o| {
        match &part.content {
            Content::Text(text) => o.str("text", text),
            Content::Raw(bytes) => o.raw("raw", bytes, false),
            Content::Url(url) => o.str("url", url),
            Content::Data(data) => o.json("data", data),
        }
        o.opt_json("metadata", part.metadata.as_ref());
        o.opt_str("filename", part.filename.as_deref());
        o.opt_str("mediaType", part.media_type.as_deref());
    });
}

/// An artifact.
pub(crate) fn artifact<O: Out>(artifact: &Artifact, out: &mut O) {
    object(out, |o| {
        o.str("artifactId", artifact.id.as_str());
        o.opt_str("name", artifact.name.as_deref());
        o.opt_str("description", artifact.description.as_deref());
        o.elements("parts", Elements::Parts, &artifact.parts, part);
        o.opt_json("metadata", artifact.metadata.as_ref());
        o.strings("extensions", &artifact.extensions);
    });
}

/// A stream item: one member names what it is. 1.0 has no mark for the last one.
pub(crate) fn event<O: Out>(event: &Event, out: &mut O) {
    object(out, |o| item(event, o));
}

fn item<O: Out>(event: &Event, o: &mut Members<'_, O>) {
    match event {
        Event::Task(whole) => {
            let out = o.value("task");
            if !out.leaves_out(|| Value::Task(TaskView::whole(Arc::clone(whole)))) {
                task(whole, out);
            }
        }
        Event::Message(said) => shared_message(said, o.value("message")),
        Event::Status(update) => o.object("statusUpdate", |o| status_update(update, o)),
        Event::Artifact(update) => o.object("artifactUpdate", |o| artifact_update(update, o)),
    }
}

/// An event as rows keep it: without the ids that its task has anyway.
pub(crate) fn stored_event(event: &Event, task: &TaskId, context: &ContextId, out: &mut Vec<u8>) {
    let own = |t: &TaskId, c: &ContextId| t == task && c == context;
    object(out, |o| match event {
        Event::Status(update) if own(&update.task_id, &update.context_id) => {
            o.object("statusUpdate", |o| change_of_status(update, o));
        }
        Event::Artifact(update) if own(&update.task_id, &update.context_id) => {
            o.object("artifactUpdate", |o| piece_of_artifact(update, o));
        }
        other => item(other, o),
    });
}

fn status_update<O: Out>(update: &StatusUpdate, o: &mut Members<'_, O>) {
    o.str("taskId", update.task_id.as_str());
    o.str("contextId", update.context_id.as_str());
    change_of_status(update, o);
}

fn change_of_status<O: Out>(update: &StatusUpdate, o: &mut Members<'_, O>) {
    status(&update.status, o.value("status"));
    o.opt_json("metadata", update.metadata.as_ref());
}

fn artifact_update<O: Out>(update: &ArtifactUpdate, o: &mut Members<'_, O>) {
    o.str("taskId", update.task_id.as_str());
    o.str("contextId", update.context_id.as_str());
    piece_of_artifact(update, o);
}

fn piece_of_artifact<O: Out>(update: &ArtifactUpdate, o: &mut Members<'_, O>) {
    let (piece, out) = (&update.artifact, o.value("artifact"));
    if !out.leaves_out(|| Value::Artifact(Arc::clone(piece))) {
        artifact(piece, out);
    }
    if update.append {
        o.bool("append", true);
    }
    if update.last_chunk {
        o.bool("lastChunk", true);
    }
    o.opt_json("metadata", update.metadata.as_ref());
}

/// A webhook.
pub(crate) fn push_config(config: &PushConfig, out: &mut Vec<u8>) {
    object(out, |o| push_config_members(config, o));
}

pub(crate) fn push_config_members(config: &PushConfig, o: &mut Members<'_>) {
    if let Some(id) = &config.id {
        o.str("id", id.as_str());
    }
    if let Some(task) = &config.task_id {
        o.str("taskId", task.as_str());
    }
    o.str("url", &config.url);
    o.opt_str("token", config.token.as_ref().map(|token| token.reveal()));
    if let Some(info) = &config.authentication {
        o.object("authentication", |o| {
            o.str("scheme", &info.scheme);
            let credentials = info.credentials.as_ref();
            o.opt_str("credentials", credentials.map(|secret| secret.reveal()));
        });
    }
}

/// A page of webhooks. `configs` is written even when empty: it costs nothing and spares readers
/// without `ProtoJSON` a missing array.
pub(crate) fn push_config_page(page: &PushConfigPage, out: &mut Vec<u8>) {
    object(out, |o| {
        array(o.value("configs"), &page.configs, push_config);
        o.opt_str("nextPageToken", Some(&page.next_page_token));
    });
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "ROLE_USER",
        Role::Agent => "ROLE_AGENT",
    }
}

/// The state in the enum of the proto.
#[must_use]
pub fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::Unknown => "TASK_STATE_UNSPECIFIED",
    }
}
