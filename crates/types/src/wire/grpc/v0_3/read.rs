//! Messages, tasks, events and webhooks of `a2a.v1`, from the wire.

use std::sync::Arc;

use switchboard_proto::v0_3 as wire;
use wire::file_part::File;
use wire::part::Part as WirePart;
use wire::stream_response::Payload;

use crate::error::Error;
use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Part, PushConfig, Secret, StatusUpdate,
    Task, TaskId, TaskStatus,
};
use crate::wire::grpc::field::{self, How};
use crate::wire::grpc::json;
use crate::wire::path::Path;
use crate::wire::v0_3::{file, object, push};

pub(super) fn task(task: wire::Task, at: &Path<'_>, how: How) -> Result<Task, Error> {
    let id: TaskId = field::id(task.id, &at.field("id"))?;
    Ok(Task {
        context_id: field::context(task.context_id, &id, &at.field("contextId"))?,
        status: required_status(task.status, &at.field("status"), how)?,
        artifacts: field::each(task.artifacts, &at.field("artifacts"), |one, at| {
            artifact(one, at, how).map(Arc::new)
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
        .update
        .map(|said| message(said, &at.field("message"), how));
    field::status(status.state, said, status.timestamp.as_ref())
}

pub(super) fn message(message: wire::Message, at: &Path<'_>, how: How) -> Result<Message, Error> {
    let at_parts = at.field("content");
    let parts = field::parts(message.content, &at_parts, how, |one, at| {
        part(one, at, how)
    })?;
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

fn part(part: wire::Part, at: &Path<'_>, how: How) -> Result<Part, Error> {
    let metadata = json::from_optional_struct(part.metadata.as_ref(), &at.field("metadata"))?;
    let mut model = match part.part {
        Some(WirePart::Text(text)) => Part::text(text),
        Some(WirePart::File(file)) => file_part(file, &at.field("file"), how)?,
        Some(WirePart::Data(data)) => {
            let at = at.field("data");
            let data = data.data.unwrap_or_default();
            let data = json::from_struct(&data, &at)?;
            return Ok(object::data_part(data.into(), metadata));
        }
        None => return Err(at.error("must have exactly one of text, file and data")),
    };
    model.metadata = metadata;
    Ok(model)
}

fn file_part(file: wire::FilePart, at: &Path<'_>, how: How) -> Result<Part, Error> {
    let content = match file.file {
        Some(File::FileWithUri(url)) => Content::Url(url),
        Some(File::FileWithBytes(field)) => {
            Content::Raw(file::read(field, how.files, &at.field("fileWithBytes"))?)
        }
        None => return Err(at.error("must have exactly one of fileWithUri and fileWithBytes")),
    };
    let mut part = Part::new(content);
    part.media_type = field::set(file.mime_type);
    part.filename = field::set(file.name);
    Ok(part)
}

fn artifact(artifact: wire::Artifact, at: &Path<'_>, how: How) -> Result<Artifact, Error> {
    Ok(Artifact {
        id: field::id(artifact.artifact_id, &at.field("artifactId"))?,
        name: field::set(artifact.name),
        description: field::set(artifact.description),
        parts: field::each(artifact.parts, &at.field("parts"), |one, at| {
            part(one, at, how)
        })?,
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
        Some(Payload::Msg(one)) => {
            let said = message(one, &at.field("message"), how)?;
            Ok(Event::Message(Arc::new(said)))
        }
        Some(Payload::StatusUpdate(update)) => {
            status_update(update, &at.field("statusUpdate"), how).map(Event::Status)
        }
        Some(Payload::ArtifactUpdate(update)) => {
            artifact_update(update, &at.field("artifactUpdate"), how).map(Event::Artifact)
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
    how: How,
) -> Result<ArtifactUpdate, Error> {
    let task_id: TaskId = field::id(update.task_id, &at.field("taskId"))?;
    let at_artifact = at.field("artifact");
    let piece = update.artifact.ok_or_else(|| at_artifact.missing())?;
    Ok(ArtifactUpdate {
        context_id: field::context(update.context_id, &task_id, &at.field("contextId"))?,
        artifact: Arc::new(artifact(piece, &at_artifact, how)?),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: json::from_optional_struct(update.metadata.as_ref(), &at.field("metadata"))?,
        task_id,
    })
}

/// A webhook, and the task in its name.
pub(super) fn named_config(
    named: wire::TaskPushNotificationConfig,
    at: &Path<'_>,
) -> Result<PushConfig, Error> {
    let at_config = at.field("pushNotificationConfig");
    let inner = named.push_notification_config;
    let mut config = push_config(inner.ok_or_else(|| at_config.missing())?, &at_config)?;
    let at_name = at.field("name");
    let known = config.id.as_ref().map_or("", |id| id.as_str());
    let (task, id) = push::split_name(&named.name, known);
    config.task_id = push::task_of(task, &at_name)?;
    if config.id.is_none() {
        config.id = field::optional_id(id.to_owned(), &at_name)?;
    }
    Ok(config)
}

/// A webhook. Of several schemes the first is kept: the model has room for one.
pub(super) fn push_config(
    config: wire::PushNotificationConfig,
    at: &Path<'_>,
) -> Result<PushConfig, Error> {
    let info = config
        .authentication
        .filter(|info| !info.schemes.is_empty() || !info.credentials.is_empty());
    let authentication = info.map(|info| {
        let first = info.schemes.into_iter().next().and_then(field::set);
        let at = at.field("authentication");
        field::authentication(first, info.credentials, &at.field("schemes"))
    });
    Ok(PushConfig {
        id: field::optional_id(config.id, &at.field("id"))?,
        task_id: None,
        url: field::set(config.url).ok_or_else(|| at.field("url").missing())?,
        token: field::set(config.token).map(Secret::new),
        authentication: authentication.transpose()?,
    })
}
