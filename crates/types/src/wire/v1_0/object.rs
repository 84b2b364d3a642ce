//! Messages, parts and stream items of 1.0, from the wire.
//!
//! Members are read in camelCase and in the proto's snake_case; unknown ones are ignored, so a part
//! that also carries a 0.x `kind` is fine.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::model::{self, Content};
use crate::version::Dialect;
use crate::wire::member;
use crate::wire::object::{self, IntoModel, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Maybe, Obj, Text, Word};
use crate::wire::v0_3;

/// A task of 1.0.
pub(crate) type Task<'a> = object::Task<'a, Message<'a>, Part<'a>>;

/// One turn of conversation.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Message<'a> {
    #[serde(default, borrow, rename = "messageId", alias = "message_id")]
    message_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    context_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    role: Option<Word<'a>>,
    #[serde(default, borrow)]
    parts: Option<Vec<Maybe<Part<'a>>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    extensions: Option<Vec<Text<'a>>>,
    #[serde(
        default,
        borrow,
        rename = "referenceTaskIds",
        alias = "reference_task_ids"
    )]
    reference_task_ids: Option<Vec<Text<'a>>>,
}

/// One piece of content.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Part<'a> {
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default, borrow)]
    raw: Option<Text<'a>>,
    #[serde(default, borrow)]
    url: Option<Text<'a>>,
    /// The one member whose `null` is a value (A2A 1.0 §5.5: `google.protobuf.Value`).
    #[serde(default, borrow, deserialize_with = "read::present")]
    data: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    filename: Option<Text<'a>>,
    #[serde(default, borrow, rename = "mediaType", alias = "media_type")]
    media_type: Option<Text<'a>>,
}

/// One item of a stream, or the answer to a send: exactly one member.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct StreamResponse<'a> {
    #[serde(default, borrow)]
    task: Option<Obj<Task<'a>>>,
    #[serde(default, borrow)]
    message: Option<Obj<Message<'a>>>,
    #[serde(default, borrow, rename = "statusUpdate", alias = "status_update")]
    status_update: Option<Obj<object::StatusUpdate<'a, Message<'a>>>>,
    #[serde(default, borrow, rename = "artifactUpdate", alias = "artifact_update")]
    artifact_update: Option<Obj<object::ArtifactUpdate<'a, Part<'a>>>>,
}

impl IntoModel for Message<'_> {
    type Model = model::Message;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Message, Error> {
        let parts = member::parts(self.parts, &at.field("parts"), how)?;
        Ok(model::Message {
            id: member::message_id(self.message_id, &parts, &at.field("messageId"), how)?,
            role: member::role(self.role.as_ref(), &at.field("role"), how)?,
            parts,
            context_id: member::optional_id(self.context_id, &at.field("contextId"))?,
            task_id: member::optional_id(self.task_id, &at.field("taskId"))?,
            reference_task_ids: member::task_ids(
                self.reference_task_ids,
                &at.field("referenceTaskIds"),
            )?,
            extensions: member::strings(self.extensions),
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
        })
    }
}

impl IntoModel for Part<'_> {
    type Model = model::Part;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Part, Error> {
        // Callers that print every member send `data: null` beside the one they mean.
        let others = self.text.is_some() || self.raw.is_some() || self.url.is_some();
        let data = self.data.filter(|raw| !others || raw.get() != "null");
        let content = match (self.text, self.raw, self.url, data) {
            (Some(text), None, None, None) => Content::Text(text.into_string().into()),
            (None, Some(raw), None, None) => {
                let bytes = read::base64(raw.as_str())
                    .ok_or_else(|| at.field("raw").error("must be base64"))?;
                Content::Raw(Bytes::from(bytes))
            }
            (None, None, Some(url), None) => Content::Url(url.into_string()),
            (None, None, None, Some(data)) => {
                Content::Data(member::free(data, &at.field("data"), how)?)
            }
            _ => return Err(at.error("must have exactly one of text, raw, url and data")),
        };
        Ok(model::Part {
            content,
            media_type: member::not_empty(self.media_type),
            filename: member::not_empty(self.filename),
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
        })
    }
}

/// An item that says what it is by `kind`, as in 0.x: LangGraph sends those in 1.0 streams.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Bare<'a> {
    #[serde(default, borrow)]
    kind: Option<Text<'a>>,
}

/// Reads one stream item, or the answer to a send. Some agents have the methods of 1.0 and the shapes of 0.x: what
/// makes no sense in the one is read as the other.
pub(crate) fn decode_event(json: &str, how: Reading) -> Result<model::Event, Error> {
    let item: Result<StreamResponse<'_>, Error> = read::decode(json);
    if item.as_ref().is_ok_and(StreamResponse::is_ambiguous) {
        return Err(no_event());
    }
    item.and_then(|item| into_event(item, json, how))
        .or_else(|error| older(json).ok_or(error))
}

impl StreamResponse<'_> {
    fn is_ambiguous(&self) -> bool {
        let members = [
            self.task.is_some(),
            self.message.is_some(),
            self.status_update.is_some(),
            self.artifact_update.is_some(),
        ];
        members.into_iter().filter(|there| *there).count() > 1
    }
}

/// The item in the shape of 0.x. That reader takes any object for a message; one that says nothing is none.
#[cold]
fn older(json: &str) -> Option<model::Event> {
    let how = Reading {
        dialect: Dialect::V0Json,
        request: false,
    };
    v0_3::event::decode(json, how)
        .ok()
        .filter(|event| !matches!(event, model::Event::Message(said) if said.parts.is_empty()))
}

/// Reads an event as rows keep it: ids that are missing are those of its task.
pub(crate) fn decode_stored(
    json: &str,
    task: &model::TaskId,
    context: &model::ContextId,
    how: Reading,
) -> Result<model::Event, Error> {
    let mut item: StreamResponse<'_> = read::decode(json)?;
    if let Some(update) = &mut item.status_update {
        update.0.belongs_to(task, context);
    }
    if let Some(update) = &mut item.artifact_update {
        update.0.belongs_to(task, context);
    }
    into_event(item, json, how)
}

fn into_event(item: StreamResponse<'_>, json: &str, how: Reading) -> Result<model::Event, Error> {
    let at = Path::ROOT;
    match (
        item.task,
        item.message,
        item.status_update,
        item.artifact_update,
    ) {
        (Some(task), None, None, None) => {
            let task = task.0.into_model(&at.field("task"), how)?;
            Ok(model::Event::Task(Arc::new(task)))
        }
        (None, Some(message), None, None) => {
            let message = message.0.into_model(&at.field("message"), how)?;
            Ok(model::Event::Message(Arc::new(message)))
        }
        (None, None, Some(update), None) => {
            let update = update.0.into_model(&at.field("statusUpdate"), how)?;
            Ok(model::Event::Status(update))
        }
        (None, None, None, Some(update)) => {
            let update = update.0.into_model(&at.field("artifactUpdate"), how)?;
            Ok(model::Event::Artifact(update))
        }
        (None, None, None, None) => decode_bare(json, how),
        _ => Err(no_event()),
    }
}

fn decode_bare(json: &str, how: Reading) -> Result<model::Event, Error> {
    let at = &Path::ROOT;
    let bare: Bare<'_> = read::decode(json)?;
    match bare.kind.as_ref().map(Text::as_str) {
        Some("task") => read::decode::<Task<'_>>(json)?
            .into_model(at, how)
            .map(|task| model::Event::Task(Arc::new(task))),
        Some("message") => read::decode::<Message<'_>>(json)?
            .into_model(at, how)
            .map(|message| model::Event::Message(Arc::new(message))),
        Some("status-update") => read::decode::<object::StatusUpdate<'_, Message<'_>>>(json)?
            .into_model(at, how)
            .map(model::Event::Status),
        Some("artifact-update") => read::decode::<object::ArtifactUpdate<'_, Part<'_>>>(json)?
            .into_model(at, how)
            .map(model::Event::Artifact),
        _ => Err(no_event()),
    }
}

fn no_event() -> Error {
    Path::ROOT.error("must have exactly one of task, message, statusUpdate and artifactUpdate")
}
