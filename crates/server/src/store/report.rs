//! What became of a commit, task by task.

use switchboard_types::model::TaskId;

use crate::task::Answered;

/// What became of a commit: all of it is durable, but for the changes of the tasks that are named here. Nothing of those
/// was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitReport {
    /// The tasks whose changes were refused, and why.
    pub refused: Vec<(TaskId, Refusal)>,
}

/// Why the changes of one task were refused. To try them again is of no use: the task is to be read again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The task does not stand where the changes expect it.
    #[error("the task has changed meanwhile: {0}")]
    Conflict(String),
    /// Another [`Holder`](crate::task::Holder) works on the task.
    #[error("another server works on the task")]
    Fenced,
    /// What is stored of the task cannot be read or written.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
    /// Its idempotency key was used before, for the answer that is given here.
    #[error("the request was answered before")]
    AlreadyAnswered(Box<Answered>),
}

impl CommitReport {
    /// Why the changes of a task were refused, if they were.
    #[must_use]
    pub fn refusal(&self, task: &TaskId) -> Option<&Refusal> {
        let mut refused = self.refused.iter();
        let found = refused.find(|(refused, _)| refused == task);
        found.map(|(_, refusal)| refusal)
    }
}
