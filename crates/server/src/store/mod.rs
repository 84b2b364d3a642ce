//! Where tasks are kept. A store is dumb on purpose: it commits sets of [`Change`]s atomically and
//! answers a few questions; what a task *is* is folded from its events by the engine's lifecycle.
//!
//! Only the log's writer calls [`Store::commit`], with everything that waits, so one transaction and one
//! fsync serve many tasks.

pub mod access;
#[cfg(feature = "sqlite")]
pub mod backup;
#[cfg(feature = "sqlite")]
mod files;
mod memory;
mod order;
mod page;
mod query;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use switchboard_types::Dialect;
use switchboard_types::model::{
    ContextId, Message, PushConfig, PushConfigId, Task, TaskId, TaskState, Timestamp,
};

use crate::auth::Owner;
use crate::log::Entry;

pub use memory::MemoryStore;
pub(crate) use page::shortened;
pub use query::{Listed, RecentQuery, TaskList, TaskQuery};

/// Keeps tasks, events, webhooks and idempotency keys.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Makes all changes durable, in order, or none of them.
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error>;

    /// Where a task stands.
    async fn head(&self, id: &TaskId) -> Result<Option<Head>, Error>;

    /// One task, as snapshot and later events.
    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error>;

    /// Events of a task with `seq > after`, in order: `limit` at most, and no more once they weigh
    /// [`MAX_EVENT_PAGE`] together. At least one, if there is one.
    async fn events(&self, id: &TaskId, after: u64, limit: usize)
    -> Result<Vec<Arc<Entry>>, Error>;

    /// Tasks that match, latest status first (ties: greatest id first), and how many match in all. The page ends
    /// where the budget of the query is used up, with at least one task if there is one.
    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error>;

    /// Tasks of all callers that match, latest status first (ties: greatest id first). For operators.
    async fn recent(&self, query: RecentQuery) -> Result<Vec<Head>, Error>;

    /// Tasks that are not over, in id order, with `id > after`.
    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error>;

    /// The webhooks of a task, in the order they were made.
    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error>;

    /// Webhooks that have events left to deliver, in (task, config) order after `after`.
    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error>;

    /// Deliveries that were given up, newest first. What should have been said may be cut short in older ones.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error>;

    /// What an agent has noted about a task, by name.
    async fn notes(&self, task: &TaskId) -> Result<Vec<Note>, Error>;

    /// Tasks about which [`UNTOLD`] is noted, in id order, with `id > after`.
    async fn untold(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error>;

    /// What was answered under an idempotency key.
    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error>;

    /// Idempotency keys made at `before` or earlier, oldest first.
    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error>;

    /// Finished tasks whose status is of `before` or earlier, that still keep so many events beside their
    /// snapshot that folding pays, and whose webhooks have delivered all.
    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error>;

    /// Tasks in `state` (a terminal one) whose status is of `before` or earlier, oldest first.
    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error>;

    /// Ends it, in order: what it keeps is then complete without it. Later commits are refused.
    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// One change; see [`Store::commit`].
#[derive(Debug, Clone)]
pub enum Change {
    /// Events of one task, and where it stands after them. Creates the task if it is new.
    Append(Append),
    /// A webhook was made or replaced.
    PutWebhook(Webhook),
    /// A webhook was removed.
    DeleteWebhook(TaskId, PushConfigId),
    /// A webhook's delivery went on, or failed for now. Ignored if the webhook is gone.
    Delivery(TaskId, PushConfigId, Delivery),
    /// A delivery was given up.
    DeadLetter(DeadLetter),
    /// An answer to remember under an idempotency key; the first one stays.
    Answered(Answered),
    /// The snapshot now holds everything up to its `seq`: the events before it may go.
    Fold(Snapshot),
    /// Everything about a task is to go, if it is over.
    Remove(TaskId),
    /// An idempotency key is to go, if it was made at that moment or earlier.
    ForgetAnswer(IdempotencyKey, Timestamp),
    /// An agent notes something about a task, in place of what it noted under that name before; `null` is nothing.
    /// Ignored if the task is gone.
    Note(Note),
}

/// New events of one task.
#[derive(Debug, Clone)]
pub struct Append {
    /// Where the task stands after these events.
    pub head: Head,
    /// The events, in order, without gaps.
    pub entries: Vec<Arc<Entry>>,
    /// A snapshot to keep, if the events since the last one have grown large.
    pub snapshot: Option<Snapshot>,
}

/// Where a task stands: what queries need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The task.
    pub id: TaskId,
    /// The agent it belongs to.
    pub agent: Arc<str>,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Its conversation.
    pub context: ContextId,
    /// Its state.
    pub state: TaskState,
    /// Since when.
    pub updated: Timestamp,
    /// Its last event.
    pub seq: u64,
}

/// A task folded up to one event.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The task as it stood.
    pub task: Arc<Task>,
    /// After this event.
    pub seq: u64,
}

/// A task as it is kept.
#[derive(Debug, Clone)]
pub struct StoredTask {
    /// Where it stands.
    pub head: Head,
    /// The last snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// All events after the snapshot.
    pub entries: Vec<Arc<Entry>>,
}

/// What the events of one page weigh together, roughly, in bytes; the last one may go beyond.
pub const MAX_EVENT_PAGE: usize = 1 << 20;

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

/// The name of the note that a task is over, and what stands behind its agent does not know it yet. Agents have no such
/// names for theirs.
pub const UNTOLD: &str = "switchboard/untold";

/// What an agent keeps about a task. It never leaves by A2A, and goes with the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The task.
    pub task: TaskId,
    /// What it is about.
    pub name: String,
    /// What the agent is to know.
    pub value: Value,
}

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

/// The answer to a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A task.
    Task(TaskId),
    /// A bare message.
    Message(Message),
}

/// Why a store could not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Not now: the disk is full, the database is locked or read-only. Nothing was changed.
    #[error("storage is not writable: {0}")]
    Unavailable(String),
    /// Not now: as much is being read as memory allows.
    #[error("{0}")]
    Exhausted(String),
    /// A row cannot be read.
    #[error("stored data is damaged: {0}")]
    Damaged(String),
}
