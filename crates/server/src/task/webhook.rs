//! Webhooks of a task, and how far delivery to them has come.

use switchboard_types::Dialect;
use switchboard_types::model::{PushConfig, PushConfigId, TaskId, Timestamp};

use super::Owner;

/// A registered webhook, and how far its delivery has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The task.
    pub task: TaskId,
    /// Its id.
    pub id: PushConfigId,
    /// Whose task it is. A store may take it from the task rather than keep it twice.
    pub owner: Owner,
    /// As the client gave it.
    pub config: PushConfig,
    /// How the client spells A2A: payloads are rendered so.
    pub dialect: Dialect,
    /// How far it has come.
    pub delivery: Delivery,
}

/// How far the delivery to one webhook has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// All events up to this one are delivered or given up.
    pub delivered: u64,
    /// How often the next event was tried.
    pub attempts: u32,
    /// When it was first tried.
    pub failing_since: Option<Timestamp>,
    /// Not before this moment again.
    pub retry_at: Option<Timestamp>,
    /// What went wrong last.
    pub last_error: Option<String>,
}

impl Delivery {
    /// Nothing to regret: everything up to `seq` is delivered.
    #[must_use]
    pub fn up_to(seq: u64) -> Self {
        Self {
            delivered: seq,
            attempts: 0,
            failing_since: None,
            retry_at: None,
            last_error: None,
        }
    }
}

/// A delivery that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The task.
    pub task: TaskId,
    /// The webhook.
    pub webhook: PushConfigId,
    /// The event.
    pub seq: u64,
    /// Where it should have gone.
    pub url: String,
    /// What should have been said.
    pub body: String,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong last.
    pub error: String,
    /// When it was given up.
    pub at: Timestamp,
}
