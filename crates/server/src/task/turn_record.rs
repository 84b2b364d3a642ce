//! The stored record of a turn: one run of an agent from a message to an outcome.
//!
//! Everything a restart needs to know about the turn that was under way is written when the turn begins, in the same commit
//! as its first event. Nothing is inferred from the events that callers see.

use serde_json::Value;
use switchboard_types::model::TaskId;

/// One turn of a task. Written when the turn begins, and written again only if [`queued`](Self::queued) or
/// [`secret`](Self::secret) changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    /// The task.
    pub task: TaskId,
    /// 1, 2, 3 … within the task.
    pub number: u32,
    /// The event that holds the message of this turn; `None` if it began because nobody answered in time.
    pub message_at: Option<u64>,
    /// The event `working` that the turn begins with. The agent's own events follow it.
    pub begins_at: u64,
    /// The event that asked what the message answers.
    pub answers: Option<u64>,
    /// What the routing rules decided about the task when it began; the same in all its turns.
    pub decision: Option<Value>,
    /// The trace context that the turn belongs to, as headers.
    pub trace: Option<Value>,
    /// The turn waits for capacity: nothing of it has run yet.
    pub queued: bool,
    /// The message as it came, sealed, if it holds a secret that the log does not show. Erased when the turn ends.
    pub secret: Option<String>,
}

impl TurnRecord {
    /// The first turn of a task that nothing is known about beyond its first event: submitted with a message (event 1),
    /// then `working` (event 2). It is implied by the task itself, so that a plain task costs no further row.
    #[must_use]
    pub fn first(task: TaskId) -> Self {
        Self {
            task,
            number: 1,
            message_at: Some(1),
            begins_at: 2,
            answers: None,
            decision: None,
            trace: None,
            queued: false,
            secret: None,
        }
    }

    /// Whether the record says nothing beyond [`TurnRecord::first`], and need not be stored.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.number == 1
            && self.message_at == Some(1)
            && self.begins_at == 2
            && self.answers.is_none()
            && self.decision.is_none()
            && self.trace.is_none()
            && !self.queued
            && self.secret.is_none()
    }
}
