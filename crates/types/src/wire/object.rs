//! The objects that every version spells alike, up to the messages and parts inside them: tasks,
//! statuses, artifacts, events, webhooks.
//!
//! `M` and `P` are the message and the part of a version; those, and all requests, are in the
//! version folders.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::member;
use super::path::Path;
use super::read::{Maybe, Obj, Text, Word};
use crate::error::Error;
use crate::model::{self, ContextId, Secret, TaskId, TaskState};
use crate::version::Dialect;

/// How strictly to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The spelling.
    pub(crate) dialect: Dialect,
    /// Whether this is a request. What agents answer is read more leniently: an odd answer should
    /// not cost the user the whole stream.
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
    parts: Option<Vec<Maybe<P>>>,
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
        let id: TaskId = member::required_id(self.id, &at.field("id"))?;
        let context_id = member::context_or_task(self.context_id, &id, &at.field("contextId"))?;
        Ok(model::Task {
            status: match self.status {
                Some(status) => status.0.into_model(&at.field("status"), how)?,
                // As in examples of the specification.
                None => model::TaskStatus {
                    state: TaskState::Unknown,
                    message: None,
                    timestamp: None,
                },
            },
            artifacts: member::list(self.artifacts, &at.field("artifacts"), how)?,
            history: member::list(self.history, &at.field("history"), how)?,
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
            id,
            context_id,
        })
    }
}

impl<M: IntoModel<Model = model::Message>> IntoModel for Status<'_, M> {
    type Model = model::TaskStatus;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::TaskStatus, Error> {
        let timestamp = at.field("timestamp");
        let state = self.state.as_ref().and_then(member::state).flatten();
        Ok(model::TaskStatus {
            // A state of some later version must not end the stream of those who read it.
            state: state.unwrap_or(TaskState::Unknown),
            message: self
                .message
                .map(|message| {
                    message
                        .0
                        .into_model(&at.field("message"), how)
                        .map(Arc::new)
                })
                .transpose()?,
            timestamp: member::time(self.timestamp, &timestamp)?,
        })
    }
}

impl<P: IntoModel<Model = model::Part>> IntoModel for Artifact<'_, P> {
    type Model = model::Artifact;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::Artifact, Error> {
        let id = match member::optional_id(self.artifact_id, &at.field("artifactId"))? {
            Some(id) => id,
            None => member::artifact_id(at.last_index(), at)?,
        };
        Ok(model::Artifact {
            id,
            name: member::not_empty(self.name),
            description: member::not_empty(self.description),
            parts: member::parts(self.parts, &at.field("parts"), how)?,
            extensions: member::strings(self.extensions),
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
        })
    }
}

impl<'a, M> StatusUpdate<'a, M> {
    /// Fills in ids that are missing.
    pub(crate) fn belongs_to(&mut self, task: &'a TaskId, context: &'a ContextId) {
        self.task_id
            .get_or_insert(Text(Cow::Borrowed(task.as_str())));
        self.context_id
            .get_or_insert(Text(Cow::Borrowed(context.as_str())));
    }
}

impl<'a, P> ArtifactUpdate<'a, P> {
    /// Fills in ids that are missing.
    pub(crate) fn belongs_to(&mut self, task: &'a TaskId, context: &'a ContextId) {
        self.task_id
            .get_or_insert(Text(Cow::Borrowed(task.as_str())));
        self.context_id
            .get_or_insert(Text(Cow::Borrowed(context.as_str())));
    }
}

impl<M: IntoModel<Model = model::Message>> IntoModel for StatusUpdate<'_, M> {
    type Model = model::StatusUpdate;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::StatusUpdate, Error> {
        let task_id: TaskId = member::required_id(self.task_id, &at.field("taskId"))?;
        Ok(model::StatusUpdate {
            context_id: member::context_or_task(self.context_id, &task_id, &at.field("contextId"))?,
            status: member::required(self.status, &at.field("status"), how)?,
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
            task_id,
        })
    }
}

impl<P: IntoModel<Model = model::Part>> IntoModel for ArtifactUpdate<'_, P> {
    type Model = model::ArtifactUpdate;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::ArtifactUpdate, Error> {
        let task_id: TaskId = member::required_id(self.task_id, &at.field("taskId"))?;
        Ok(model::ArtifactUpdate {
            context_id: member::context_or_task(self.context_id, &task_id, &at.field("contextId"))?,
            artifact: member::required(self.artifact, &at.field("artifact"), how)?,
            append: self.append.unwrap_or(false),
            last_chunk: self.last_chunk.unwrap_or(false),
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
            task_id,
        })
    }
}

impl IntoModel for PushConfig<'_> {
    type Model = model::PushConfig;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::PushConfig, Error> {
        let url = member::not_empty(self.url).ok_or_else(|| at.field("url").missing())?;
        Ok(model::PushConfig {
            id: member::optional_id(self.id, &at.field("id"))?,
            task_id: member::optional_id(self.task_id, &at.field("taskId"))?,
            url,
            token: member::not_empty(self.token).map(Secret::new),
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

    /// Of several schemes the first is kept: 1.0 has room for one.
    fn into_model(self, at: &Path<'_>, _: Reading) -> Result<model::Authentication, Error> {
        let first = self.schemes.and_then(|all| all.into_iter().next());
        let scheme = member::not_empty(self.scheme.or(first));
        Ok(model::Authentication {
            scheme: scheme.ok_or_else(|| at.field("scheme").missing())?,
            credentials: member::not_empty(self.credentials).map(Secret::new),
        })
    }
}
