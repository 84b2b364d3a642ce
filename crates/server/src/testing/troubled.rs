//! A store that is slow, or does not do what it is asked for.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};

use crate::store::{
    CommitReport, Error, Listed, MemoryStore, RecentQuery, Store, TaskList, TaskQuery,
};
use crate::task::{
    Answered, Change, DeadLetter, Entry, Head, Holder, IdempotencyKey, PendingRelease, StoredStep,
    StoredTask, TurnRecord, Webhook,
};

/// What a store is asked for, where there can be trouble with it.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// To make these changes.
    Commit(&'a [Change]),
    /// For the tasks that are not over.
    Live,
    /// For that task.
    Task(&'a TaskId),
    /// For those tasks, or their heads.
    List(&'a TaskQuery),
    /// For the turns of that task.
    Turns(&'a TaskId),
    /// For steps of that task.
    Steps(&'a TaskId),
    /// For the tasks of these ids.
    ListById(&'a [TaskId]),
    /// For what was answered. That is read already: it may be old when it is told.
    Answered,
}

/// What comes between a store and those who ask it.
#[async_trait]
pub trait Trouble: Send + Sync + fmt::Debug {
    /// Takes its time, or refuses.
    async fn meet(&self, request: Request<'_>) -> Result<(), Error>;
}

/// A store in memory, with trouble.
#[derive(Debug)]
pub struct Troubled<T> {
    trouble: T,
    inner: MemoryStore,
}

impl<T> Troubled<T> {
    /// An empty store with that trouble.
    pub fn by(trouble: T) -> Self {
        let inner = MemoryStore::default();
        Self { trouble, inner }
    }
}

#[async_trait]
impl<T: Trouble> Store for Troubled<T> {
    async fn commit(&self, changes: Vec<Change>) -> Result<CommitReport, Error> {
        self.trouble.meet(Request::Commit(&changes)).await?;
        self.inner.commit(changes).await
    }

    async fn claim(&self, task: &TaskId, holder: &Arc<Holder>) -> Result<bool, Error> {
        self.inner.claim(task, holder).await
    }

    async fn head(&self, id: &TaskId) -> Result<Option<Head>, Error> {
        self.inner.head(id).await
    }

    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        self.trouble.meet(Request::Task(id)).await?;
        self.inner.task(id).await
    }

    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        self.inner.events(id, after, limit).await
    }

    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error> {
        self.trouble.meet(Request::List(&query)).await?;
        self.inner.list(query).await
    }

    async fn heads(&self, query: TaskQuery) -> Result<Vec<Head>, Error> {
        self.trouble.meet(Request::List(&query)).await?;
        self.inner.heads(query).await
    }

    async fn list_by_id(&self, ids: Vec<TaskId>, query: TaskQuery) -> Result<Vec<Listed>, Error> {
        self.trouble.meet(Request::ListById(&ids)).await?;
        self.inner.list_by_id(ids, query).await
    }

    async fn recent(&self, query: RecentQuery) -> Result<Vec<Head>, Error> {
        self.inner.recent(query).await
    }

    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        self.trouble.meet(Request::Live).await?;
        self.inner.live(after, limit).await
    }

    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        self.inner.webhooks(task).await
    }

    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        self.inner.undelivered(after, limit).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.inner.dead_letters(limit).await
    }

    async fn turn(&self, task: &TaskId) -> Result<Option<TurnRecord>, Error> {
        self.trouble.meet(Request::Turns(task)).await?;
        self.inner.turn(task).await
    }

    async fn turns(&self, task: &TaskId) -> Result<Vec<TurnRecord>, Error> {
        self.trouble.meet(Request::Turns(task)).await?;
        self.inner.turns(task).await
    }

    async fn step(&self, task: &TaskId, name: &str) -> Result<Option<StoredStep>, Error> {
        self.trouble.meet(Request::Steps(task)).await?;
        self.inner.step(task, name).await
    }

    async fn steps(
        &self,
        task: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredStep>, Error> {
        self.trouble.meet(Request::Steps(task)).await?;
        self.inner.steps(task, after, limit).await
    }

    async fn pending_release(&self, task: &TaskId) -> Result<Option<PendingRelease>, Error> {
        self.inner.pending_release(task).await
    }

    async fn pending_releases(
        &self,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Vec<Head>, Error> {
        self.inner.pending_releases(after, limit).await
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        let answered = self.inner.answered(key).await;
        self.trouble.meet(Request::Answered).await?;
        answered
    }

    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        self.inner.old_answers(before, limit).await
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        self.inner.foldable(before, limit).await
    }

    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error> {
        self.inner.expired(state, before, limit).await
    }
}
