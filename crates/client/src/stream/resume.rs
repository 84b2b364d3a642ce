//! What a reader of a stream knows, and when it is done. Pure.

use std::sync::Arc;

use switchboard_types::ErrorKind;
use switchboard_types::model::{Event, Task, TaskState};

use super::fold::fold;
use super::pieces::Pieces;
use crate::error::{Error, Kind, Reach};

/// How often to connect again without anything new.
pub(super) const MOST_FRUITLESS: u32 = 8;

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) task: Option<Arc<Task>>,
    /// The message that came in place of a task.
    pub(super) pieces: Pieces,
    /// The id of the last event that had one.
    pub(super) last_id: Option<Arc<str>>,
    /// Attempts since the last news.
    pub(super) fruitless: u32,
}

/// What a failure on the way means for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Connect again.
    Broken,
    /// The agent has no such stream: look at the task itself.
    NoStream,
    /// Give up.
    Final,
}

impl Seen {
    /// Takes an event in.
    pub(super) fn take(&mut self, event: &Event) {
        // A message beside a task is delivered to the caller but not kept.
        if let (Event::Message(message), None) = (event, &self.task) {
            self.pieces.take(message);
        }
        fold(&mut self.task, event);
        self.fruitless = 0;
    }

    /// Takes over from a snapshot what no event tells: history, free data, moments.
    pub(super) fn agree(&mut self, now: &Task) {
        if let Some(task) = &mut self.task {
            let task = Arc::make_mut(task);
            task.status.timestamp = now.status.timestamp;
            task.metadata.clone_from(&now.metadata);
            if !now.history.is_empty() {
                task.history.clone_from(&now.history);
            }
        }
    }

    /// Whether nothing more can come, connection or not.
    pub(super) fn is_over(&self) -> bool {
        self.pieces.message().is_some() && self.task.is_none()
            || self
                .task
                .as_ref()
                .is_some_and(|task| ends(task.status.state))
    }

    /// Whether a connection that closed now did so rightly.
    pub(super) fn may_close(&self) -> bool {
        let waits = |task: &Arc<Task>| task.status.state.is_interrupted();
        self.is_over() || self.task.as_ref().is_some_and(waits)
    }
}

/// Whether a state is the last one. A foreign agent that cannot say is asked again.
pub(crate) fn ends(state: TaskState) -> bool {
    state.is_terminal() && state != TaskState::Unknown
}

/// What a failure means for a stream that has begun.
pub(super) fn meaning(error: &Error) -> Failure {
    let refused = [
        ErrorKind::UnsupportedOperation,
        ErrorKind::MethodNotFound,
        ErrorKind::InvalidParams,
        ErrorKind::TaskNotFound,
    ];
    let busy = [ErrorKind::Unavailable, ErrorKind::ResourceExhausted];
    match error.kind() {
        Kind::Unreachable if error.reach() != Reach::Answered => Failure::Broken,
        Kind::Timeout => Failure::Broken,
        Kind::NotOffered => Failure::NoStream,
        // An agent that shuts down may say so: it will be back.
        _ if busy.into_iter().any(|kind| error.is(kind)) => Failure::Broken,
        _ if refused.into_iter().any(|kind| error.is(kind)) => Failure::NoStream,
        _ if matches!(error.status(), Some(429 | 500 | 502..=504)) => Failure::Broken,
        _ => Failure::Final,
    }
}
