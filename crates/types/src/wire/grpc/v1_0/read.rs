//! Messages, tasks, events and webhooks of `lf.a2a.v1`, from the wire.

use std::sync::Arc;

use switchboard_proto::v1_0 as wire;
use wire::part::Content as WireContent;
use wire::stream_response::Payload;

use crate::error::Error;
use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Part, PushConfig, Secret, StatusUpdate,
    Task, TaskId, TaskStatus,
};
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::json;
use crate::wire::path::Path;

pub(super) fn task(task: wire::Task, at: &Path<'_>, how: How) -> Result<Task, Error> {
    let id: TaskId = field::id(task.id, &at.field("id"))?;
    Ok(Task {
        context_id: field::context(task.context_id, &id, &at.field("contextId"))?,
        status: required_status(task.status, &at.field("status"), how)?,
        artifacts: field::each(task.artifacts, &at.field("artifacts"), |one, at| {
            artifact(one, at).map(Arc::new)
        })?,
        history: field::each(task.history, &at.field("history"), |one, at| {
            message(one, at, how).map(Arc::new)
        })?,
        metadata: json::from_optional_struct(task.metadata.as_ref(), &at.field("metadata"))?,
        id,
    })
}

fn required_status(
    status: Option<wire::TaskStatus>,
    at: &Path<'_>,
    how: How,
) -> Result<TaskStatus, Error> {
    let status = status.ok_or_else(|| at.missing())?;
    let said = status
        .message
        .map(|said| message(said, &at.field("message"), how));
    field::status(status.state, said, status.timestamp.as_ref())
}

pub(super) fn message(message: wire::Message, at: &Path<'_>, how: How) -> Result<Message, Error> {
    let parts = field::parts(message.parts, &at.field("parts"), how, part)?;
    Ok(Message {
        id: field::message_id(message.message_id, &parts, &at.field("messageId"), how)?,
        role: field::role(message.role, &at.field("role"), how)?,
        parts,
        context_id: field::optional_id(message.context_id, &at.field("contextId"))?,
        task_id: field::optional_id(message.task_id, &at.field("taskId"))?,
        reference_task_ids: field::task_ids(
            message.reference_task_ids,
            &at.field("referenceTaskIds"),
        )?,
        extensions: message.extensions,
        metadata: json::from_optional_struct(message.metadata.as_ref(), &at.field("metadata"))?,
    })
}

fn part(part: wire::Part, at: &Path<'_>) -> Result<Part, Error> {
    let content = match part.content {
        Some(WireContent::Text(text)) => Content::Text(text.into()),
        Some(WireContent::Raw(bytes)) => Content::Raw(bytes),
        Some(WireContent::Url(url)) => Content::Url(url),
        Some(WireContent::Data(data)) => Content::Data(json::from_value(&data, &at.field("data"))?),
        None => return Err(at.error("must have exactly one of text, raw, url and data")),
    };
    Ok(Part {
        content,
        media_type: field::set(part.media_type),
        filename: field::set(part.filename),
        metadata: json::from_optional_struct(part.metadata.as_ref(), &at.field("metadata"))?,
    })
}

fn artifact(artifact: wire::Artifact, at: &Path<'_>) -> Result<Artifact, Error> {
    Ok(Artifact {
        id: field::id(artifact.artifact_id, &at.field("artifactId"))?,
        name: field::set(artifact.name),
        description: field::set(artifact.description),
        parts: field::each(artifact.parts, &at.field("parts"), part)?,
        extensions: artifact.extensions,
        metadata: json::from_optional_struct(artifact.metadata.as_ref(), &at.field("metadata"))?,
    })
}

/// A stream item.
pub(super) fn event(item: wire::StreamResponse, at: &Path<'_>, how: How) -> Result<Event, Error> {
    match item.payload {
        Some(Payload::Task(one)) => task(one, &at.field("task"), how)
            .map(Arc::new)
            .map(Event::Task),
        Some(Payload::Message(one)) => {
            let said = message(one, &at.field("message"), how)?;
            Ok(Event::Message(Arc::new(said)))
        }
        Some(Payload::StatusUpdate(update)) => {
            status_update(update, &at.field("statusUpdate"), how).map(Event::Status)
        }
        Some(Payload::ArtifactUpdate(update)) => {
            artifact_update(update, &at.field("artifactUpdate")).map(Event::Artifact)
        }
        None => Err(field::no_item(at)),
    }
}

fn status_update(
    update: wire::TaskStatusUpdateEvent,
    at: &Path<'_>,
    how: How,
) -> Result<StatusUpdate, Error> {
    let task_id: TaskId = field::id(update.task_id, &at.field("taskId"))?;
    Ok(StatusUpdate {
        context_id: field::context(update.context_id, &task_id, &at.field("contextId"))?,
        status: required_status(update.status, &at.field("status"), how)?,
        metadata: json::from_optional_struct(update.metadata.as_ref(), &at.field("metadata"))?,
        task_id,
    })
}

fn artifact_update(
    update: wire::TaskArtifactUpdateEvent,
    at: &Path<'_>,
) -> Result<ArtifactUpdate, Error> {
    let task_id: TaskId = field::id(update.task_id, &at.field("taskId"))?;
    let at_artifact = at.field("artifact");
    let piece = update.artifact.ok_or_else(|| at_artifact.missing())?;
    Ok(ArtifactUpdate {
        context_id: field::context(update.context_id, &task_id, &at.field("contextId"))?,
        artifact: Arc::new(artifact(piece, &at_artifact)?),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: json::from_optional_struct(update.metadata.as_ref(), &at.field("metadata"))?,
        task_id,
    })
}

/// A webhook; its tenant is the request's.
pub(super) fn push_config(
    config: wire::TaskPushNotificationConfig,
    at: &Path<'_>,
) -> Result<PushConfig, Error> {
    let info = config
        .authentication
        .filter(|info| !info.scheme.is_empty() || !info.credentials.is_empty());
    let authentication = info.map(|info| {
        let at = at.field("authentication");
        let scheme = field::set(info.scheme);
        field::authentication(scheme, info.credentials, &at.field("scheme"))
    });
    Ok(PushConfig {
        id: field::optional_id(config.id, &at.field("id"))?,
        task_id: field::optional_id(config.task_id, &at.field("taskId"))?,
        url: field::set(config.url).ok_or_else(|| at.field("url").missing())?,
        token: field::set(config.token).map(Secret::new),
        authentication: authentication.transpose()?,
    })
}
