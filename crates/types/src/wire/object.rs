//! The objects that every version spells alike, up to the messages and parts inside them: tasks,
//! statuses, artifacts, events, webhooks; and the way of all members into the model.
//!
//! `M` and `P` are the message and the part of a version; those, and all requests, are in the
//! version folders.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::path::Path;
use super::read::{Obj, Text, Word};
use crate::error::Error;
use crate::model::{
    self, ContextId, Id, Json, MessageId, Role, Secret, TaskId, TaskState, Timestamp,
};
use crate::version::Dialect;

/// How strictly to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The spelling.
    pub(crate) dialect: Dialect,
    /// Whether this is a request. What agents answer is read more leniently: an odd answer should
    /// not cost the user the whole stream (protocol.md 10.6).
    pub(crate) request: bool,
}

/// A wire object on its way into the model.
pub(crate) trait IntoModel: Sized {
    type Model;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<Self::Model, Error>;
}

/// A task, in all versions.
#[derive(Debug, Deserialize)]
#[serde(
    expecting = "an object",
    bound = "M: Deserialize<'de>, P: Deserialize<'de>"
)]
pub(crate) struct Task<'a, M, P> {
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    context_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    status: Option<Obj<Status<'a, M>>>,
    #[serde(default)]
    artifacts: Option<Vec<Obj<Artifact<'a, P>>>>,
    #[serde(default)]
    history: Option<Vec<Obj<M>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

/// A status, in all versions.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object", bound = "M: Deserialize<'de>")]
pub(crate) struct Status<'a, M> {
    #[serde(default, borrow)]
    state: Option<Word<'a>>,
    #[serde(default, alias = "update")]
    message: Option<Obj<M>>,
    #[serde(default, borrow)]
    timestamp: Option<Text<'a>>,
}

/// An artifact, in all versions.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object", bound = "P: Deserialize<'de>")]
pub(crate) struct Artifact<'a, P> {
    #[serde(default, borrow, rename = "artifactId", alias = "artifact_id")]
    artifact_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    description: Option<Text<'a>>,
    #[serde(default)]
    parts: Option<Vec<Obj<P>>>,
    #[serde(default, borrow)]
    extensions: Option<Vec<Text<'a>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

/// A change of status, in all versions.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object", bound = "M: Deserialize<'de>")]
pub(crate) struct StatusUpdate<'a, M> {
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    context_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    status: Option<Obj<Status<'a, M>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

/// A new artifact or a piece of one, in all versions.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object", bound = "P: Deserialize<'de>")]
pub(crate) struct ArtifactUpdate<'a, P> {
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    context_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    artifact: Option<Obj<Artifact<'a, P>>>,
    #[serde(default)]
    append: Option<bool>,
    #[serde(default, rename = "lastChunk", alias = "last_chunk")]
    last_chunk: Option<bool>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

/// A webhook: flat as in 1.0; in 0.x the same without task and tenant.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct PushConfig<'a> {
    #[serde(default, borrow)]
    pub(crate) tenant: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    pub(crate) task_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) url: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) token: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) authentication: Option<Obj<Authentication<'a>>>,
}

/// One scheme in 1.0, a list in 0.x and in examples of 1.0.0.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Authentication<'a> {
    #[serde(default, borrow)]
    scheme: Option<Text<'a>>,
    #[serde(default, borrow)]
    schemes: Option<Vec<Text<'a>>>,
    #[serde(default, borrow)]
    credentials: Option<Text<'a>>,
}

impl<M, P> IntoModel for Task<'_, M, P>
where
    M: IntoModel<Model = model::Message>,
    P: IntoModel<Model = model::Part>,
{
    type Model = model::Task;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Task, Error> {
        let id: TaskId = required_id(self.id, &at.field("id"))?;
        let context_id = context_or_task(self.context_id, &id, &at.field("contextId"))?;
        Ok(model::Task {
            status: required(self.status, &at.field("status"), how)?,
            artifacts: list(self.artifacts, &at.field("artifacts"), how)?,
            history: list(self.history, &at.field("history"), how)?,
            metadata: free_object(self.metadata, &at.field("metadata"))?,
            id,
            context_id,
        })
    }
}

impl<M: IntoModel<Model = model::Message>> IntoModel for Status<'_, M> {
    type Model = model::TaskStatus;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::TaskStatus, Error> {
        let word = self.state.ok_or_else(|| at.field("state").missing())?;
        let timestamp = at.field("timestamp");
        Ok(model::TaskStatus {
            // A state of some later version must not end the stream of those who read it.
            state: state(&word).flatten().unwrap_or(TaskState::Unknown),
            message: self
                .message
                .map(|message| message.0.into_model(&at.field("message"), how))
                .transpose()?,
            timestamp: time(self.timestamp, &timestamp)?,
        })
    }
}

impl<P: IntoModel<Model = model::Part>> IntoModel for Artifact<'_, P> {
    type Model = model::Artifact;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Artifact, Error> {
        Ok(model::Artifact {
            id: required_id(self.artifact_id, &at.field("artifactId"))?,
            name: not_empty(self.name),
            description: not_empty(self.description),
            parts: list(self.parts, &at.field("parts"), how)?,
            extensions: strings(self.extensions),
            metadata: free_object(self.metadata, &at.field("metadata"))?,
        })
    }
}

impl<M: IntoModel<Model = model::Message>> IntoModel for StatusUpdate<'_, M> {
    type Model = model::StatusUpdate;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::StatusUpdate, Error> {
        let task_id: TaskId = required_id(self.task_id, &at.field("taskId"))?;
        Ok(model::StatusUpdate {
            context_id: context_or_task(self.context_id, &task_id, &at.field("contextId"))?,
            status: required(self.status, &at.field("status"), how)?,
            metadata: free_object(self.metadata, &at.field("metadata"))?,
            task_id,
        })
    }
}

impl<P: IntoModel<Model = model::Part>> IntoModel for ArtifactUpdate<'_, P> {
    type Model = model::ArtifactUpdate;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::ArtifactUpdate, Error> {
        let task_id: TaskId = required_id(self.task_id, &at.field("taskId"))?;
        Ok(model::ArtifactUpdate {
            context_id: context_or_task(self.context_id, &task_id, &at.field("contextId"))?,
            artifact: required(self.artifact, &at.field("artifact"), how)?,
            append: self.append.unwrap_or(false),
            last_chunk: self.last_chunk.unwrap_or(false),
            metadata: free_object(self.metadata, &at.field("metadata"))?,
            task_id,
        })
    }
}

impl IntoModel for PushConfig<'_> {
    type Model = model::PushConfig;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::PushConfig, Error> {
        let url = not_empty(self.url).ok_or_else(|| at.field("url").missing())?;
        Ok(model::PushConfig {
            id: optional_id(self.id, &at.field("id"))?,
            task_id: optional_id(self.task_id, &at.field("taskId"))?,
            url,
            token: not_empty(self.token).map(Secret::new),
            authentication: self
                .authentication
                .filter(|info| !info.0.is_empty())
                .map(|info| info.0.into_model(&at.field("authentication"), how))
                .transpose()?,
        })
    }
}

impl Authentication<'_> {
    /// Says nothing: writers of `ProtoJSON` spell an absent member as an empty object, too.
    fn is_empty(&self) -> bool {
        let empty = |text: &Option<Text<'_>>| text.as_ref().is_none_or(|t| t.as_str().is_empty());
        let schemes = self.schemes.as_ref().is_none_or(Vec::is_empty);
        empty(&self.scheme) && schemes && empty(&self.credentials)
    }
}

impl IntoModel for Authentication<'_> {
    type Model = model::Authentication;

    /// Of several schemes the first is kept: 1.0 has room for one (protocol.md 2.8).
    fn into_model(self, at: &Path<'_>, _: Reading) -> Result<model::Authentication, Error> {
        let first = self.schemes.and_then(|all| all.into_iter().next());
        let scheme = not_empty(self.scheme.or(first));
        Ok(model::Authentication {
            scheme: scheme.ok_or_else(|| at.field("scheme").missing())?,
            credentials: not_empty(self.credentials).map(Secret::new),
        })
    }
}

/// An object that must be there.
pub(crate) fn required<T: IntoModel>(
    object: Option<Obj<T>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<T::Model, Error> {
    object.ok_or_else(|| at.missing())?.0.into_model(at, how)
}

/// A list; absent means empty.
pub(crate) fn list<T: IntoModel>(
    items: Option<Vec<Obj<T>>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<Vec<T::Model>, Error> {
    let items = items.unwrap_or_default();
    let mut models = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        models.push(item.0.into_model(&at.index(index), how)?);
    }
    Ok(models)
}

/// The parts of a message: at least one in a request; agents do send none.
pub(crate) fn parts<P: IntoModel<Model = model::Part>>(
    parts: Option<Vec<Obj<P>>>,
    at: &Path<'_>,
    how: Reading,
) -> Result<Vec<model::Part>, Error> {
    if how.request && parts.is_none() {
        return Err(at.missing());
    }
    let parts = list(parts, at, how)?;
    if how.request && parts.is_empty() {
        return Err(at.error("must hold at least one part"));
    }
    Ok(parts)
}

/// An identifier that must be there.
pub(crate) fn required_id<K>(text: Option<Text<'_>>, at: &Path<'_>) -> Result<Id<K>, Error> {
    let text = text.ok_or_else(|| at.missing())?;
    Id::new(text.as_str()).map_err(|reason| at.error(reason))
}

/// An identifier that may be absent; `ProtoJSON` spells absence as an empty string, too.
pub(crate) fn optional_id<K>(
    text: Option<Text<'_>>,
    at: &Path<'_>,
) -> Result<Option<Id<K>>, Error> {
    text.filter(|text| !text.as_str().is_empty())
        .map(|text| Id::new(text.as_str()).map_err(|reason| at.error(reason)))
        .transpose()
}

/// Task ids.
pub(crate) fn task_ids(texts: Option<Vec<Text<'_>>>, at: &Path<'_>) -> Result<Vec<TaskId>, Error> {
    let texts = texts.unwrap_or_default();
    let mut ids = Vec::with_capacity(texts.len());
    for (index, text) in texts.into_iter().enumerate() {
        ids.push(required_id(Some(text), &at.index(index))?);
    }
    Ok(ids)
}

/// The context of a task; an agent that names none keeps each task to itself, so the task's id
/// stands for it (1.0 does not require `contextId`, the model does).
pub(crate) fn context_or_task(
    context: Option<Text<'_>>,
    task: &TaskId,
    at: &Path<'_>,
) -> Result<ContextId, Error> {
    match optional_id(context, at)? {
        Some(context) => Ok(context),
        None => ContextId::new(task.as_str()).map_err(|reason| at.error(reason)),
    }
}

/// The id of a message. Agents forget it (seeds 000 and 004); then it is made from what is said, so
/// that the same message has the same id whenever it is read.
pub(crate) fn message_id(
    text: Option<Text<'_>>,
    parts: &[model::Part],
    at: &Path<'_>,
    how: Reading,
) -> Result<MessageId, Error> {
    let text = text.filter(|text| how.request || !text.as_str().is_empty());
    if how.request || text.is_some() {
        return required_id(text, at);
    }
    // FNV-1a: short, and stable for ever, which the hashers of the standard library are not.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts
        .iter()
        .filter_map(model::Part::as_text)
        .flat_map(str::bytes)
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    MessageId::new(format!("unnamed-{hash:016x}")).map_err(|reason| at.error(reason))
}

/// Who speaks. Agents forget it or say `assistant`; callers must say it.
pub(crate) fn role(word: Option<&Word<'_>>, at: &Path<'_>, how: Reading) -> Result<Role, Error> {
    match word {
        Some(Word::Number(1)) => Ok(Role::User),
        Some(Word::Number(2)) => Ok(Role::Agent),
        Some(Word::Name(name)) if matches!(name.as_str(), "ROLE_USER" | "user") => Ok(Role::User),
        Some(Word::Name(name)) if matches!(name.as_str(), "ROLE_AGENT" | "agent" | "assistant") => {
            Ok(Role::Agent)
        }
        _ if !how.request => Ok(Role::Agent),
        None => Err(at.missing()),
        Some(_) if how.dialect == Dialect::V0Json => Err(at.error("must be 'user' or 'agent'")),
        Some(_) => Err(at.error("must be ROLE_USER or ROLE_AGENT")),
    }
}

/// A state: `None` if the word names none, `Some(None)` if it says "unspecified".
pub(crate) fn state(word: &Word<'_>) -> Option<Option<TaskState>> {
    let state = match word {
        Word::Number(0) => return Some(None),
        Word::Number(number) => {
            let index = usize::try_from(*number).ok()?.checked_sub(1)?;
            *TaskState::ALL[..8].get(index)?
        }
        Word::Name(name) => match name.as_str() {
            "TASK_STATE_UNSPECIFIED" => return Some(None),
            "unknown" => TaskState::Unknown,
            "TASK_STATE_SUBMITTED" | "submitted" | "started" => TaskState::Submitted,
            "TASK_STATE_WORKING" | "working" => TaskState::Working,
            "TASK_STATE_COMPLETED" | "completed" => TaskState::Completed,
            "TASK_STATE_FAILED" | "failed" => TaskState::Failed,
            "TASK_STATE_CANCELED" | "TASK_STATE_CANCELLED" | "canceled" => TaskState::Canceled,
            "TASK_STATE_INPUT_REQUIRED" | "input-required" => TaskState::InputRequired,
            "TASK_STATE_REJECTED" | "rejected" => TaskState::Rejected,
            "TASK_STATE_AUTH_REQUIRED" | "auth-required" => TaskState::AuthRequired,
            _ => return None,
        },
    };
    Some(Some(state))
}

/// A moment.
pub(crate) fn time(text: Option<Text<'_>>, at: &Path<'_>) -> Result<Option<Timestamp>, Error> {
    text.filter(|text| !text.as_str().is_empty())
        .map(|text| Timestamp::parse(text.as_str()).map_err(|reason| at.error(reason)))
        .transpose()
}

/// Free JSON.
pub(crate) fn free(raw: &RawValue, at: &Path<'_>) -> Result<Json, Error> {
    Json::from_raw(raw.to_owned()).map_err(|reason| at.error(reason))
}

/// A free JSON object.
pub(crate) fn free_object(
    raw: Option<&RawValue>,
    at: &Path<'_>,
) -> Result<Option<model::Object>, Error> {
    raw.map(|raw| model::Object::try_from(free(raw, at)?).map_err(|reason| at.error(reason)))
        .transpose()
}

/// Strings.
pub(crate) fn strings(texts: Option<Vec<Text<'_>>>) -> Vec<String> {
    texts
        .unwrap_or_default()
        .into_iter()
        .map(Text::into_string)
        .collect()
}

/// A string, where empty means absent.
pub(crate) fn not_empty(text: Option<Text<'_>>) -> Option<String> {
    text.map(Text::into_string).filter(|text| !text.is_empty())
}
