//! Events: what happens to a task, in the order it happens.

use std::sync::Arc;

use super::{Artifact, ContextId, Message, Object, Task, TaskId, TaskStatus};

/// One item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The whole task: the beginning of a stream.
    Task(Arc<Task>),
    /// A bare answer: the only item of its stream.
    Message(Arc<Message>),
    /// The task stands elsewhere now.
    Status(StatusUpdate),
    /// The task has produced something.
    Artifact(ArtifactUpdate),
}

/// A change of status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub context_id: ContextId,
    /// The new status.
    pub status: TaskStatus,
    /// Free data about this event.
    pub metadata: Option<Object>,
}

/// A new artifact, or a piece of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUpdate {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub context_id: ContextId,
    /// The artifact, or the piece.
    pub artifact: Arc<Artifact>,
    /// True: add these parts to the artifact of the same id. False: new, or replaces it.
    pub append: bool,
    /// True: this artifact is finished.
    pub last_chunk: bool,
    /// Free data about this event.
    pub metadata: Option<Object>,
}
