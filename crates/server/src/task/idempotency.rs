//! Idempotency keys, and what was answered under them.

use std::sync::Arc;

use switchboard_types::model::{Message, TaskId, Timestamp};

use super::Owner;

/// Names one request of one caller to one agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// The caller.
    pub owner: Owner,
    /// The agent.
    pub agent: Arc<str>,
    /// What the caller named it.
    pub key: String,
}

/// What was answered under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The key.
    pub key: IdempotencyKey,
    /// Tells the same request from another one under the same key.
    pub fingerprint: u64,
    /// The answer.
    pub answer: Answer,
    /// When.
    pub at: Timestamp,
}

impl Answered {
    /// Whether both are the same answer to the same request, at whatever time.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.answer == other.answer
    }
}

/// The answer to a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A task.
    Task(TaskId),
    /// A bare message.
    Message(Message),
}
