//! Messages, tasks, events and webhooks of `a2a.v1`, onto the wire.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use switchboard_proto::v0_3 as wire;
use wire::file_part::File;
use wire::part::Part as WirePart;
use wire::stream_response::Payload;

use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Json, Message, Part, PushConfig, StatusUpdate, Task,
    TaskStatus,
};
use crate::operation::TaskView;
use crate::version::FileBytes;
use crate::wire::grpc::field;
use crate::wire::grpc::json;
use crate::wire::v0_3::free;

/// Writes for a peer with this form of files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer(pub(super) FileBytes);

impl Writer {
    fn task(self, task: &Task) -> wire::Task {
        self.task_shown(task, &task.history, &task.artifacts)
    }

    /// As much of a task as the caller wants to see.
    pub(super) fn task_view(self, view: &TaskView) -> wire::Task {
        let artifacts: &[Arc<Artifact>] = if view.artifacts {
            &view.task.artifacts
        } else {
            &[]
        };
        self.task_shown(&view.task, view.history(), artifacts)
    }

    fn task_shown(
        self,
        task: &Task,
        history: &[Arc<Message>],
        artifacts: &[Arc<Artifact>],
    ) -> wire::Task {
        wire::Task {
            id: task.id.as_str().to_owned(),
            context_id: task.context_id.as_str().to_owned(),
            status: Some(self.status(&task.status)),
            artifacts: artifacts.iter().map(|one| self.artifact(one)).collect(),
            history: history.iter().map(|said| self.message(said)).collect(),
            metadata: json::to_optional_struct(task.metadata.as_ref()),
        }
    }

    fn status(self, status: &TaskStatus) -> wire::TaskStatus {
        wire::TaskStatus {
            state: field::state_number(Some(status.state)),
            update: status.message.as_deref().map(|said| self.message(said)),
            timestamp: status.timestamp.map(field::wire_time),
        }
    }

    pub(super) fn message(self, message: &Message) -> wire::Message {
        let references = message.reference_task_ids.iter();
        wire::Message {
            message_id: message.id.as_str().to_owned(),
            context_id: field::unset_id(message.context_id.as_ref()),
            task_id: field::unset_id(message.task_id.as_ref()),
            role: field::role_number(message.role),
            content: message.parts.iter().map(|part| self.part(part)).collect(),
            metadata: json::to_optional_struct(message.metadata.as_ref()),
            extensions: message.extensions.clone(),
            reference_task_ids: references.map(|id| id.as_str().to_owned()).collect(),
        }
    }

    fn part(self, part: &Part) -> wire::Part {
        let file_part = |file| {
            WirePart::File(wire::FilePart {
                file: Some(file),
                mime_type: field::unset(part.media_type.as_deref()),
                name: field::unset(part.filename.as_deref()),
            })
        };
        let metadata = json::to_optional_struct(part.metadata.as_ref());
        let (content, metadata) = match &part.content {
            Content::Text(text) => (WirePart::Text(text.to_string()), metadata),
            Content::Raw(bytes) => {
                let field = file_field(bytes, self.0);
                (file_part(File::FileWithBytes(field)), metadata)
            }
            Content::Url(url) => (file_part(File::FileWithUri(url.clone())), metadata),
            Content::Data(data) => {
                let (data, marked) = object_data(data, part);
                (WirePart::Data(wire::DataPart { data }), marked)
            }
        };
        wire::Part {
            part: Some(content),
            metadata,
        }
    }

    fn artifact(self, artifact: &Artifact) -> wire::Artifact {
        wire::Artifact {
            artifact_id: artifact.id.as_str().to_owned(),
            name: field::unset(artifact.name.as_deref()),
            description: field::unset(artifact.description.as_deref()),
            parts: artifact.parts.iter().map(|part| self.part(part)).collect(),
            metadata: json::to_optional_struct(artifact.metadata.as_ref()),
            extensions: artifact.extensions.clone(),
        }
    }

    /// A stream item. `last` becomes `final`: nothing follows on this response.
    pub(super) fn event(self, event: &Event, last: bool) -> wire::StreamResponse {
        let payload = match event {
            Event::Task(task) => Payload::Task(self.task(task)),
            Event::Message(said) => Payload::Msg(self.message(said)),
            Event::Status(update) => Payload::StatusUpdate(self.status_update(update, last)),
            Event::Artifact(update) => Payload::ArtifactUpdate(self.artifact_update(update)),
        };
        wire::StreamResponse {
            payload: Some(payload),
        }
    }

    fn status_update(self, update: &StatusUpdate, last: bool) -> wire::TaskStatusUpdateEvent {
        wire::TaskStatusUpdateEvent {
            task_id: update.task_id.as_str().to_owned(),
            context_id: update.context_id.as_str().to_owned(),
            status: Some(self.status(&update.status)),
            r#final: last,
            metadata: json::to_optional_struct(update.metadata.as_ref()),
        }
    }

    fn artifact_update(self, update: &ArtifactUpdate) -> wire::TaskArtifactUpdateEvent {
        wire::TaskArtifactUpdateEvent {
            task_id: update.task_id.as_str().to_owned(),
            context_id: update.context_id.as_str().to_owned(),
            artifact: Some(self.artifact(&update.artifact)),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: json::to_optional_struct(update.metadata.as_ref()),
        }
    }
}

/// 0.3 takes only objects: everything else is wrapped, and marked as such.
fn object_data(
    data: &Json,
    part: &Part,
) -> (Option<prost_types::Struct>, Option<prost_types::Struct>) {
    let kind = match json::to_value(data).kind {
        Some(prost_types::value::Kind::StructValue(object)) => {
            let metadata = json::to_optional_struct(part.metadata.as_ref());
            return (Some(object), metadata);
        }
        kind => kind,
    };
    let wrapper = prost_types::Struct {
        fields: [("value".to_owned(), prost_types::Value { kind })].into(),
    };
    let marked = free::wrap(part.metadata.as_ref());
    (Some(wrapper), json::to_optional_struct(marked.as_ref()))
}

/// A webhook under the name that says its task.
pub(super) fn named_config(config: &PushConfig) -> wire::TaskPushNotificationConfig {
    let task = config.task_id.as_ref().map_or("", |id| id.as_str());
    let id = config.id.as_ref().map_or("", |id| id.as_str());
    wire::TaskPushNotificationConfig {
        name: config_name(task, id),
        push_notification_config: Some(push_config(config)),
    }
}

/// The name of a webhook.
pub(super) fn config_name(task: &str, id: &str) -> String {
    format!("tasks/{task}/pushNotificationConfigs/{id}")
}

/// A webhook, secrets and all.
pub(super) fn push_config(config: &PushConfig) -> wire::PushNotificationConfig {
    let secret = config.token.as_ref().map(|token| token.reveal());
    let authentication = config.authentication.as_ref().map(|info| {
        let credentials = info.credentials.as_ref().map(|secret| secret.reveal());
        wire::AuthenticationInfo {
            schemes: vec![info.scheme.clone()],
            credentials: field::unset(credentials),
        }
    });
    wire::PushNotificationConfig {
        id: field::unset_id(config.id.as_ref()),
        url: config.url.clone(),
        token: field::unset(secret),
        authentication,
    }
}

/// What `file_with_bytes` holds for that file.
fn file_field(file: &Bytes, files: FileBytes) -> Bytes {
    match files {
        FileBytes::Raw => file.clone(),
        FileBytes::Base64 => STANDARD.encode(file).into(),
    }
}
