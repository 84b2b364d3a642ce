//! Where tasks are kept. A store is dumb on purpose: it commits sets of [`Change`]s atomically and
//! answers a few questions; what a task *is* is folded from its events by [`lifecycle`](crate::task::lifecycle).
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
mod report;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};
use switchboard_types::{Error as CallerError, ErrorKind};

use crate::task::lifecycle::MissingBeginning;
use crate::task::{
    Answered, Change, DeadLetter, Entry, Head, Holder, IdempotencyKey, PendingRelease, StoredStep,
    StoredTask, TurnRecord, Webhook,
};

pub use memory::MemoryStore;
pub(crate) use page::shortened;
pub use query::{Listed, RecentQuery, TaskList, TaskQuery};
pub use report::{CommitReport, Refusal};

/// Keeps tasks, events, webhooks and idempotency keys.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Makes all changes durable, in order, but for those of tasks that the report names: nothing of these is made. What is
    /// refused of one task changes nothing for the others. After an error, nothing at all was made.
    async fn commit(&self, changes: Vec<Change>) -> Result<CommitReport, Error>;

    /// Whether `holder` may work on a task from now on: no other living one does. It holds the task until a commit ends its
    /// turn; a task that waits for its caller is held by nobody. A store that only one process can open has one holder.
    async fn claim(&self, _task: &TaskId, _holder: &Arc<Holder>) -> Result<bool, Error> {
        Ok(true)
    }

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

    /// The heads of tasks that match, in the order of [`Store::list`]: `limit` at most. No content is read, so the
    /// budget of the query does not apply.
    async fn heads(&self, query: TaskQuery) -> Result<Vec<Head>, Error>;

    /// These tasks in this order, without those that are gone. Of the query, only what it says about content and the
    /// budget applies: the page ends where that is used up, with at least one task if there is one.
    async fn list_by_id(&self, ids: Vec<TaskId>, query: TaskQuery) -> Result<Vec<Listed>, Error>;

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

    /// The latest turn of a task; the [implied](TurnRecord::first) one if none was stored. `None` if there is no such task.
    async fn turn(&self, task: &TaskId) -> Result<Option<TurnRecord>, Error>;

    /// All turns of a task, in order; the [implied](TurnRecord::first) first one included.
    async fn turns(&self, task: &TaskId) -> Result<Vec<TurnRecord>, Error>;

    /// The latest step of a task under a name; a withdrawn one is read as it stands, with the value `null`.
    async fn step(&self, task: &TaskId, name: &str) -> Result<Option<StoredStep>, Error>;

    /// Steps of a task with `number > after`, in order: `limit` at most, and no more once their values weigh
    /// [`MAX_EVENT_PAGE`] together. At least one, if there is one.
    async fn steps(
        &self,
        task: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredStep>, Error>;

    /// The release that is pending for a task, if one is.
    async fn pending_release(&self, task: &TaskId) -> Result<Option<PendingRelease>, Error>;

    /// Tasks for which a release is pending, in id order, with `id > after`.
    async fn pending_releases(
        &self,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Vec<Head>, Error>;

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

/// What the events of one page weigh together, roughly, in bytes; the last one may go beyond.
pub const MAX_EVENT_PAGE: usize = 1 << 20;

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
    /// The changes of one task were refused; a [`CommitReport`] says so to the writer, and this to those who wait.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Error {
    /// The error as a caller sees it; the cause of damage goes to the log only.
    #[must_use]
    pub(crate) fn for_caller(self) -> CallerError {
        match self {
            Self::Unavailable(_) => CallerError::new(ErrorKind::Unavailable, self.to_string()),
            Self::Exhausted(why) => CallerError::new(ErrorKind::ResourceExhausted, why),
            Self::Damaged(cause) | Self::Refused(Refusal::Damaged(cause)) => {
                tracing::error!(%cause, "stored data is damaged");
                CallerError::internal()
            }
            Self::Refused(refusal) => {
                let text = format!("{refusal}: try again");
                CallerError::new(ErrorKind::Unavailable, text)
            }
        }
    }
}

impl From<MissingBeginning> for Error {
    fn from(error: MissingBeginning) -> Self {
        Self::Damaged(error.to_string())
    }
}
