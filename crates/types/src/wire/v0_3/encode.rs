//! Everything that leaves in 0.x, in both spellings.
//!
//! JSON: `kind` stands first in every object that has one. `ProtoJSON`: no `kind`,
//! unions by member name, `content` in messages, upper-case enums, `CANCELLED` with two L.

use std::sync::Arc;

use super::free;
use super::object::role_name;
use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Json, Message, Object, Part, PushConfig, Role,
    StatusUpdate, Task, TaskState, TaskStatus,
};
use crate::operation::{PushConfigPage, TaskPage, TaskView};
use crate::version::{Dialect, FileBytes};
use crate::wire::rendering::{Elements, Value};
use crate::wire::v1_0::encode::state_name as proto_state_name;
use crate::wire::write::{Members, Out, array, object, string};

/// Writes in one of the two spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writer {
    proto: bool,
    /// What `fileWithBytes` holds; only for `ProtoJSON`.
    files: FileBytes,
}

impl Writer {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            proto: dialect.files().is_some(),
            files: dialect.files().unwrap_or_default(),
        }
    }

    fn kind<O: Out>(self, o: &mut Members<'_, O>, kind: &str) {
        if !self.proto {
            o.str("kind", kind);
        }
    }

    /// A whole task.
    pub(crate) fn task<O: Out>(self, task: &Task, out: &mut O) {
        self.task_shown(task, &task.history, Some(&task.artifacts), out);
    }

    /// As much of a task as the caller wants to see.
    pub(crate) fn task_view<O: Out>(self, view: &TaskView, out: &mut O) {
        if !out.leaves_out(|| Value::Task(view.clone())) {
            self.task_outline(view, out);
        }
    }

    /// The members of a task that is rendered piece by piece.
    pub(crate) fn task_outline<O: Out>(self, view: &TaskView, out: &mut O) {
        let artifacts = view.artifacts.then_some(view.task.artifacts.as_slice());
        self.task_shown(&view.task, view.history(), artifacts, out);
    }

    fn task_shown<O: Out>(
        self,
        task: &Task,
        history: &[Arc<Message>],
        artifacts: Option<&[Arc<Artifact>]>,
        out: &mut O,
    ) {
        object(out, |o| {
            self.kind(o, "task");
            o.str("id", task.id.as_str());
            o.str("contextId", task.context_id.as_str());
            self.status(&task.status, o.value("status"));
            if let Some(artifacts) = artifacts.filter(|artifacts| !artifacts.is_empty()) {
                o.elements(
                    "artifacts",
                    Elements::Artifacts,
                    artifacts,
                    |artifact, out| {
                        self.artifact(artifact, out);
                    },
                );
            }
            if !history.is_empty() {
                o.elements("history", Elements::History, history, |said, out| {
                    self.message(said, out);
                });
            }
            o.opt_json("metadata", task.metadata.as_ref());
        });
    }

    /// A page of tasks, in the form of the drafts that followed 0.3: with the token, so that a
    /// caller can turn the page.
    pub(crate) fn task_page<O: Out>(self, page: &TaskPage, out: &mut O) {
        object(out, |o| {
            o.elements("tasks", Elements::Tasks, &page.tasks, |view, out| {
                self.task_outline(view, out);
            });
            o.str("nextPageToken", &page.next_page_token);
            o.number("pageSize", page.page_size);
            o.number("totalSize", page.total_size);
        });
    }

    fn status<O: Out>(self, status: &TaskStatus, out: &mut O) {
        object(out, |o| {
            o.str("state", self.state_name(status.state));
            if let Some(said) = &status.message {
                self.shared_message(said, o.value("message"));
            }
            if let Some(time) = status.timestamp {
                o.time("timestamp", time);
            }
        });
    }

    /// A message that can be rendered later.
    pub(crate) fn shared_message<O: Out>(self, said: &Arc<Message>, out: &mut O) {
        if !out.leaves_out(|| Value::Message(Arc::clone(said))) {
            self.message(said, out);
        }
    }

    /// A message.
    pub(crate) fn message<O: Out>(self, message: &Message, out: &mut O) {
        object(out, |o| {
            self.kind(o, "message");
            o.str("role", self.role_name(message.role));
            let parts = if self.proto { "content" } else { "parts" };
            o.elements(parts, Elements::Parts, &message.parts, |part, out| {
                self.part(part, out);
            });
            o.str("messageId", message.id.as_str());
            if let Some(task) = &message.task_id {
                o.str("taskId", task.as_str());
            }
            if let Some(context) = &message.context_id {
                o.str("contextId", context.as_str());
            }
            // Readers of ProtoJSON refuse a whole message for a member that their proto does not have.
            if !self.proto && !message.reference_task_ids.is_empty() {
                o.elements(
                    "referenceTaskIds",
                    Elements::References,
                    &message.reference_task_ids,
                    |id, out| {
                        string(id.as_str(), out);
                    },
                );
            }
            o.strings("extensions", &message.extensions);
            o.opt_json("metadata", message.metadata.as_ref());
        });
    }

    /// A part.
    pub(crate) fn part<O: Out>(self, part: &Part, out: &mut O) {
        object(out, |o| match &part.content {
            Content::Text(text) => {
                self.kind(o, "text");
                o.str("text", text);
                self.part_metadata(part.metadata.as_ref(), o);
            }
            Content::Raw(bytes) => {
                self.kind(o, "file");
                o.object("file", |o| {
                    self.file_members(part, o);
                    if self.proto {
                        let twice = self.files == FileBytes::Base64;
                        o.raw("fileWithBytes", bytes, twice);
                    } else {
                        o.raw("bytes", bytes, false);
                    }
                });
                self.part_metadata(part.metadata.as_ref(), o);
            }
            Content::Url(url) => {
                self.kind(o, "file");
                let member = if self.proto { "fileWithUri" } else { "uri" };
                o.object("file", |o| {
                    self.file_members(part, o);
                    o.str(member, url);
                });
                self.part_metadata(part.metadata.as_ref(), o);
            }
            Content::Data(data) => {
                self.kind(o, "data");
                self.data(data, part, o);
            }
        });
    }

    /// The proto of 0.3 has no name of a file, and readers of `ProtoJSON` refuse what their proto does not have.
    fn file_members<O: Out>(self, part: &Part, o: &mut Members<'_, O>) {
        if !self.proto {
            o.opt_str("name", part.filename.as_deref());
        }
        o.opt_str("mimeType", part.media_type.as_deref());
    }

    /// The proto of 0.3 has no metadata of parts either.
    fn part_metadata<O: Out>(self, metadata: Option<&Object>, o: &mut Members<'_, O>) {
        if !self.proto {
            o.opt_json("metadata", metadata);
        }
    }

    /// 0.x takes only objects: everything else is wrapped, and marked as such where parts have metadata.
    fn data<O: Out>(self, data: &Json, part: &Part, o: &mut Members<'_, O>) {
        let wrapped = !data.is_object();
        let fill = |o: &mut Members<'_, O>| {
            if wrapped {
                o.object("data", |o| o.json("value", data));
            } else {
                o.json("data", data);
            }
        };
        if self.proto {
            o.object("data", fill);
        } else {
            fill(o);
        }
        if wrapped && !self.proto {
            o.opt_json("metadata", free::wrap(part.metadata.as_ref()).as_ref());
        } else {
            self.part_metadata(part.metadata.as_ref(), o);
        }
    }

    /// An artifact.
    pub(crate) fn artifact<O: Out>(self, artifact: &Artifact, out: &mut O) {
        object(out, |o| {
            o.str("artifactId", artifact.id.as_str());
            o.opt_str("name", artifact.name.as_deref());
            o.opt_str("description", artifact.description.as_deref());
            o.elements("parts", Elements::Parts, &artifact.parts, |part, out| {
                self.part(part, out);
            });
            o.strings("extensions", &artifact.extensions);
            o.opt_json("metadata", artifact.metadata.as_ref());
        });
    }

    /// A stream item. `last` becomes `final`: nothing follows on this response.
    pub(crate) fn event<O: Out>(self, event: &Event, last: bool, out: &mut O) {
        if self.proto {
            object(out, |o| match event {
                Event::Task(task) => self.shared_task(task, o.value("task")),
                Event::Message(said) => self.shared_message(said, o.value("message")),
                Event::Status(update) => self.status_update(update, last, o.value("statusUpdate")),
                Event::Artifact(update) => self.artifact_update(update, o.value("artifactUpdate")),
            });
        } else {
            match event {
                Event::Task(task) => self.shared_task(task, out),
                Event::Message(said) => self.shared_message(said, out),
                Event::Status(update) => self.status_update(update, last, out),
                Event::Artifact(update) => self.artifact_update(update, out),
            }
        }
    }

    fn shared_task<O: Out>(self, task: &Arc<Task>, out: &mut O) {
        if !out.leaves_out(|| Value::Task(TaskView::whole(Arc::clone(task)))) {
            self.task(task, out);
        }
    }

    fn status_update<O: Out>(self, update: &StatusUpdate, last: bool, out: &mut O) {
        object(out, |o| {
            self.kind(o, "status-update");
            o.str("taskId", update.task_id.as_str());
            o.str("contextId", update.context_id.as_str());
            self.status(&update.status, o.value("status"));
            o.bool("final", last);
            o.opt_json("metadata", update.metadata.as_ref());
        });
    }

    fn artifact_update<O: Out>(self, update: &ArtifactUpdate, out: &mut O) {
        object(out, |o| {
            self.kind(o, "artifact-update");
            o.str("taskId", update.task_id.as_str());
            o.str("contextId", update.context_id.as_str());
            let (piece, out) = (&update.artifact, o.value("artifact"));
            if !out.leaves_out(|| Value::Artifact(Arc::clone(piece))) {
                self.artifact(piece, out);
            }
            // Written even when false, as every example of 0.x does.
            o.bool("append", update.append);
            o.bool("lastChunk", update.last_chunk);
            o.opt_json("metadata", update.metadata.as_ref());
        });
    }

    /// A webhook and its task: named by id in JSON, by resource name in `ProtoJSON`.
    pub(crate) fn push_config(self, config: &PushConfig, out: &mut Vec<u8>) {
        object(out, |o| self.push_config_members(config, o));
    }

    pub(crate) fn push_config_members(self, config: &PushConfig, o: &mut Members<'_>) {
        let task = config.task_id.as_ref().map_or("", |id| id.as_str());
        if self.proto {
            let id = config.id.as_ref().map_or("", |id| id.as_str());
            let name = format!("tasks/{task}/pushNotificationConfigs/{id}");
            o.str("name", &name);
        } else {
            o.opt_str("taskId", Some(task));
        }
        o.object("pushNotificationConfig", |o| {
            self.bare_push_config(config, o);
        });
    }

    /// A webhook without its task, as it stands in a send.
    pub(crate) fn bare_push_config(self, config: &PushConfig, o: &mut Members<'_>) {
        o.opt_str("id", config.id.as_ref().map(|id| id.as_str()));
        o.str("url", &config.url);
        o.opt_str("token", config.token.as_ref().map(|token| token.reveal()));
        if let Some(info) = &config.authentication {
            o.object("authentication", |o| {
                o.array("schemes", [&info.scheme], |scheme, out| string(scheme, out));
                let credentials = info.credentials.as_ref();
                o.opt_str("credentials", credentials.map(|secret| secret.reveal()));
            });
        }
    }

    /// What the webhook in a send is called.
    pub(crate) fn inline_push_config(self) -> &'static str {
        if self.proto {
            "pushNotification"
        } else {
            "pushNotificationConfig"
        }
    }

    /// All webhooks of a task.
    pub(crate) fn push_config_page(self, page: &PushConfigPage, out: &mut Vec<u8>) {
        let each = |config: &PushConfig, out: &mut Vec<u8>| self.push_config(config, out);
        if self.proto {
            object(out, |o| {
                o.array("configs", &page.configs, each);
                o.opt_str("nextPageToken", Some(&page.next_page_token));
            });
        } else {
            array(out, &page.configs, each);
        }
    }

    fn role_name(self, role: Role) -> &'static str {
        match role {
            Role::User if self.proto => "ROLE_USER",
            Role::Agent if self.proto => "ROLE_AGENT",
            Role::User | Role::Agent => role_name(role),
        }
    }

    fn state_name(self, state: TaskState) -> &'static str {
        match state {
            TaskState::Canceled if self.proto => "TASK_STATE_CANCELLED",
            state if self.proto => proto_state_name(state),
            state => state.name(),
        }
    }
}
