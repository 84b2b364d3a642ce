//! Stream items and results of 0.x, from the wire: what a client reads.
//!
//! An item is looked at first, then read as what it is: by `kind`, by its wrapper (`ProtoJSON`, and
//! `{"message":{..}}` of early LangGraph), or by its members where an agent forgets `kind`.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::object::{Message, Part, Task};
use crate::error::Error;
use crate::model::{self, Event};
use crate::wire::member;
use crate::wire::object::{self, IntoModel, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Int, Text};

/// What can be seen of an item at a glance.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Glance<'a> {
    #[serde(default, borrow)]
    kind: Option<Text<'a>>,
    #[serde(default, borrow)]
    task: Option<&'a RawValue>,
    #[serde(default, borrow, alias = "msg")]
    message: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "statusUpdate", alias = "status_update")]
    status_update: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "artifactUpdate", alias = "artifact_update")]
    artifact_update: Option<&'a RawValue>,
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default)]
    status: Option<IgnoredAny>,
    #[serde(default)]
    artifacts: Option<IgnoredAny>,
    #[serde(default)]
    history: Option<IgnoredAny>,
    #[serde(default)]
    artifact: Option<IgnoredAny>,
    #[serde(default)]
    part: Option<IgnoredAny>,
}

/// The artifact event of some early agents: one part, by index.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct IndexedPart<'a> {
    #[serde(default, borrow, rename = "taskId")]
    task_id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId")]
    context_id: Option<Text<'a>>,
    #[serde(default)]
    index: Option<Int>,
    #[serde(default, borrow)]
    part: Option<&'a RawValue>,
}

/// What that sample keeps inside the part.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Appended {
    #[serde(default)]
    append: Option<bool>,
}

/// Reads one item.
pub(crate) fn decode(json: &str, how: Reading) -> Result<Event, Error> {
    let seen: Glance<'_> = read::decode(json)?;
    match seen.kind.as_ref().map(Text::as_str) {
        Some("task") => task(json, how),
        Some("message") => message(json, how),
        Some("status-update") => status_update(json, how),
        Some("artifact-update") => artifact_update(json, how, seen.artifact.is_none()),
        Some(_) => Err(Path::ROOT
            .field("kind")
            .error("must be 'task', 'message', 'status-update' or 'artifact-update'")),
        None => unnamed(json, how, &seen),
    }
}

/// An item without `kind`.
fn unnamed(json: &str, how: Reading, seen: &Glance<'_>) -> Result<Event, Error> {
    if let Some(inner) = seen.task {
        task(inner.get(), how)
    } else if let Some(inner) = seen.status_update {
        status_update(inner.get(), how)
    } else if let Some(inner) = seen.artifact_update {
        artifact_update(inner.get(), how, false)
    } else if let Some(inner) = seen.message {
        message(inner.get(), how)
    } else if seen.artifact.is_some() || seen.part.is_some() {
        artifact_update(json, how, seen.artifact.is_none())
    } else if seen.id.is_some()
        && (seen.status.is_some() || seen.artifacts.is_some() || seen.history.is_some())
    {
        task(json, how)
    } else if seen.status.is_some() {
        status_update(json, how)
    } else {
        message(json, how)
    }
}

fn task(json: &str, how: Reading) -> Result<Event, Error> {
    let task: Task<'_> = read::decode(json)?;
    task.into_model(&Path::ROOT, how)
        .map(|task| Event::Task(Arc::new(task)))
}

fn message(json: &str, how: Reading) -> Result<Event, Error> {
    let message: Message<'_> = read::decode(json)?;
    message
        .into_model(&Path::ROOT, how)
        .map(|message| Event::Message(Arc::new(message)))
}

fn status_update(json: &str, how: Reading) -> Result<Event, Error> {
    let update: object::StatusUpdate<'_, Message<'_>> = read::decode(json)?;
    update.into_model(&Path::ROOT, how).map(Event::Status)
}

fn artifact_update(json: &str, how: Reading, indexed: bool) -> Result<Event, Error> {
    if indexed {
        let update: IndexedPart<'_> = read::decode(json)?;
        return update.into_model(&Path::ROOT, how).map(Event::Artifact);
    }
    let update: object::ArtifactUpdate<'_, Part<'_>> = read::decode(json)?;
    update.into_model(&Path::ROOT, how).map(Event::Artifact)
}

impl IntoModel for IndexedPart<'_> {
    type Model = model::ArtifactUpdate;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::ArtifactUpdate, Error> {
        let task_id: model::TaskId = member::required_id(self.task_id, &at.field("taskId"))?;
        let raw = self.part.ok_or_else(|| at.field("artifact").missing())?;
        let part: Part<'_> = read::decode(raw.get())?;
        let flags: Appended = read::decode(raw.get())?;
        let index = self.index.and_then(|index| usize::try_from(index.0).ok());
        let id = member::artifact_id(index.unwrap_or(0), &at.field("index"))?;
        Ok(model::ArtifactUpdate {
            context_id: member::context_or_task(self.context_id, &task_id, &at.field("contextId"))?,
            artifact: model::Artifact::new(id, vec![part.into_model(&at.field("part"), how)?])
                .into(),
            append: flags.append.unwrap_or(false),
            last_chunk: false,
            metadata: None,
            task_id,
        })
    }
}
