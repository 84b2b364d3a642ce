//! What the engine gives to a task log, and what comes of it.

use std::sync::Arc;

use switchboard_types::model::{Message, Task, TaskState};
use tokio_util::sync::CancellationToken;

use crate::task::{Change, TurnRecord};
use crate::trace::Trace;

/// A new task, and the turn that it begins with.
#[derive(Debug)]
pub struct NewTask {
    /// As its caller sees it first.
    pub task: Arc<Task>,
    /// Changes to be committed with it.
    pub changes: Vec<Change>,
    /// What the routing rules decided about it.
    pub decision: Option<serde_json::Value>,
    /// The trace that it belongs to.
    pub trace: Option<Arc<Trace>>,
    /// Nothing is stored before [`TaskLog::publish`](super::TaskLog::publish): its agent may still answer with a direct message.
    pub draft: bool,
}

/// A message for an existing task.
#[derive(Debug)]
pub struct Received {
    /// The message as the log shows it.
    pub message: Arc<Message>,
    /// The message as it came, sealed, if the log does not show it.
    pub secret: Option<String>,
    /// The trace that the turn belongs to.
    pub trace: Option<Arc<Trace>>,
    /// The turn has to wait for capacity.
    pub queued: bool,
    /// The message is taken only if the task waits for an answer.
    pub only_if_waiting: bool,
    /// Changes to be committed with it.
    pub changes: Vec<Change>,
}

/// What became of a message for an existing task.
#[derive(Debug)]
pub enum Joined {
    /// A turn begins with it.
    Begins(Box<BegunTurn>),
    /// A turn runs; nothing was taken.
    Busy,
    /// The task does not wait for an answer; nothing was taken.
    WentOn,
    /// The task is over.
    Over(TaskState),
}

/// A turn that begins on an existing task; run it until the token fires.
#[derive(Debug)]
pub struct BegunTurn {
    /// Fires when the task is to stop.
    pub canceled: CancellationToken,
    /// Its record.
    pub record: TurnRecord,
    /// What the task had asked, if it waited: that need not be committed yet.
    pub question: Option<Arc<Message>>,
}
