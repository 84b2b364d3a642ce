//! Messages, tasks, events and webhooks of `lf.a2a.v1`, onto the wire.

use std::sync::Arc;

use switchboard_proto::v1_0 as wire;
use wire::part::Content as WireContent;
use wire::stream_response::Payload;

use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Part, PushConfig, StatusUpdate, Task,
    TaskStatus,
};
use crate::operation::TaskView;
use crate::wire::grpc::field;
use crate::wire::grpc::json;

pub(super) fn task(task: &Task) -> wire::Task {
    task_shown(task, &task.history, &task.artifacts)
}

/// As much of a task as the caller wants to see.
pub(super) fn task_view(view: &TaskView) -> wire::Task {
    let artifacts: &[Arc<Artifact>] = if view.artifacts {
        &view.task.artifacts
    } else {
        &[]
    };
    task_shown(&view.task, view.history(), artifacts)
}

fn task_shown(task: &Task, history: &[Arc<Message>], artifacts: &[Arc<Artifact>]) -> wire::Task {
    wire::Task {
        id: task.id.as_str().to_owned(),
        context_id: task.context_id.as_str().to_owned(),
        status: Some(status(&task.status)),
        artifacts: artifacts.iter().map(|one| artifact(one)).collect(),
        history: history.iter().map(|said| message(said)).collect(),
        metadata: json::to_optional_struct(task.metadata.as_ref()),
    }
}

fn status(status: &TaskStatus) -> wire::TaskStatus {
    wire::TaskStatus {
        state: field::state_number(Some(status.state)),
        message: status.message.as_deref().map(message),
        timestamp: status.timestamp.map(field::wire_time),
    }
}

pub(super) fn message(message: &Message) -> wire::Message {
    let references = message.reference_task_ids.iter();
    wire::Message {
        message_id: message.id.as_str().to_owned(),
        context_id: field::unset_id(message.context_id.as_ref()),
        task_id: field::unset_id(message.task_id.as_ref()),
        role: field::role_number(message.role),
        parts: message.parts.iter().map(part).collect(),
        metadata: json::to_optional_struct(message.metadata.as_ref()),
        extensions: message.extensions.clone(),
        reference_task_ids: references.map(|id| id.as_str().to_owned()).collect(),
    }
}

fn part(part: &Part) -> wire::Part {
    let content = match &part.content {
        Content::Text(text) => WireContent::Text(text.to_string()),
        Content::Raw(bytes) => WireContent::Raw(bytes.clone()),
        Content::Url(url) => WireContent::Url(url.clone()),
        Content::Data(data) => WireContent::Data(json::to_value(data)),
    };
    wire::Part {
        content: Some(content),
        metadata: json::to_optional_struct(part.metadata.as_ref()),
        filename: field::unset(part.filename.as_deref()),
        media_type: field::unset(part.media_type.as_deref()),
    }
}

fn artifact(artifact: &Artifact) -> wire::Artifact {
    wire::Artifact {
        artifact_id: artifact.id.as_str().to_owned(),
        name: field::unset(artifact.name.as_deref()),
        description: field::unset(artifact.description.as_deref()),
        parts: artifact.parts.iter().map(part).collect(),
        metadata: json::to_optional_struct(artifact.metadata.as_ref()),
        extensions: artifact.extensions.clone(),
    }
}

/// A stream item.
pub(super) fn event(event: &Event) -> wire::StreamResponse {
    let payload = match event {
        Event::Task(one) => Payload::Task(task(one)),
        Event::Message(said) => Payload::Message(message(said)),
        Event::Status(update) => Payload::StatusUpdate(status_update(update)),
        Event::Artifact(update) => Payload::ArtifactUpdate(artifact_update(update)),
    };
    wire::StreamResponse {
        payload: Some(payload),
    }
}

fn status_update(update: &StatusUpdate) -> wire::TaskStatusUpdateEvent {
    wire::TaskStatusUpdateEvent {
        task_id: update.task_id.as_str().to_owned(),
        context_id: update.context_id.as_str().to_owned(),
        status: Some(status(&update.status)),
        metadata: json::to_optional_struct(update.metadata.as_ref()),
    }
}

fn artifact_update(update: &ArtifactUpdate) -> wire::TaskArtifactUpdateEvent {
    wire::TaskArtifactUpdateEvent {
        task_id: update.task_id.as_str().to_owned(),
        context_id: update.context_id.as_str().to_owned(),
        artifact: Some(artifact(&update.artifact)),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: json::to_optional_struct(update.metadata.as_ref()),
    }
}

/// A webhook, secrets and all.
pub(super) fn push_config(
    config: &PushConfig,
    tenant: Option<&str>,
) -> wire::TaskPushNotificationConfig {
    let secret = config.token.as_ref().map(|token| token.reveal());
    let authentication = config.authentication.as_ref().map(|info| {
        let credentials = info.credentials.as_ref().map(|secret| secret.reveal());
        wire::AuthenticationInfo {
            scheme: info.scheme.clone(),
            credentials: field::unset(credentials),
        }
    });
    wire::TaskPushNotificationConfig {
        tenant: field::unset(tenant),
        id: field::unset_id(config.id.as_ref()),
        task_id: field::unset_id(config.task_id.as_ref()),
        url: config.url.clone(),
        token: field::unset(secret),
        authentication,
    }
}
