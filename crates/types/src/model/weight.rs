//! How much values weigh: roughly the bytes they take in memory, and on the wire before escapes. Budgets are counted
//! in it: pages of lists and events, tasks in memory, answers that are rendered piece by piece.

use super::{Artifact, Content, Event, Message, Object, Part, Task, TaskStatus};

/// What a value takes beside its content.
const PART: usize = 64;
const MESSAGE: usize = 128;
const ARTIFACT: usize = 128;
const TASK: usize = 256;
const UPDATE: usize = 128;

impl Part {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) => text.len(),
            Content::Url(url) => url.len(),
            Content::Raw(bytes) => bytes.len(),
            Content::Data(json) => json.as_str().len(),
        };
        let names = text(self.filename.as_deref()) + text(self.media_type.as_deref());
        PART + content + names + free(self.metadata.as_ref())
    }
}

impl Message {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let parts: usize = self.parts.iter().map(Part::weight).sum();
        let ids = self.reference_task_ids.iter();
        let ids: usize = ids.map(|id| id.as_str().len()).sum();
        MESSAGE + parts + ids + texts(&self.extensions) + free(self.metadata.as_ref())
    }
}

impl Artifact {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let parts: usize = self.parts.iter().map(Part::weight).sum();
        let names = text(self.name.as_deref()) + text(self.description.as_deref());
        ARTIFACT + parts + names + texts(&self.extensions) + free(self.metadata.as_ref())
    }
}

impl TaskStatus {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.message.as_ref().map_or(0, |message| message.weight())
    }
}

impl Task {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let artifacts = self.artifacts.iter();
        let artifacts: usize = artifacts.map(|artifact| artifact.weight()).sum();
        let history = self.history.iter();
        let history: usize = history.map(|message| message.weight()).sum();
        TASK + self.status.weight() + artifacts + history + free(self.metadata.as_ref())
    }
}

impl Event {
    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Task(task) => task.weight(),
            Self::Message(message) => message.weight(),
            Self::Status(update) => {
                UPDATE + update.status.weight() + free(update.metadata.as_ref())
            }
            Self::Artifact(update) => {
                UPDATE + update.artifact.weight() + free(update.metadata.as_ref())
            }
        }
    }
}

fn text(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn texts(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

fn free(object: Option<&Object>) -> usize {
    object.map_or(0, |object| object.as_json().as_str().len())
}
