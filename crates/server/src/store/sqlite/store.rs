//! What a store is asked for, as questions to the database and commits to its writer.

use std::sync::Arc;

use async_trait::async_trait;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};

use super::fresh::Asked;
use super::{SqliteStore, list, read, readers, turns, webhooks};
use crate::store::{CommitReport, Error, Listed, RecentQuery, Store, TaskList, TaskQuery};
use crate::task::{
    Answered, Change, DeadLetter, Entry, Head, IdempotencyKey, PendingRelease, StoredStep,
    StoredTask, TurnRecord, Webhook,
};

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, changes: Vec<Change>) -> Result<CommitReport, Error> {
        let Some(writing) = self.writing.clone() else {
            return Err(Error::Unavailable("opened only to be read".to_owned()));
        };
        writing.settle_soon();
        readers::blocking(move || writing.commit(&changes)).await
    }

    async fn head(&self, id: &TaskId) -> Result<Option<Head>, Error> {
        let id = id.clone();
        self.read(Asked::task(&id), move |db| read::head_of(db, &id))
            .await
    }

    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        let id = id.clone();
        self.read(Asked::task(&id), move |db| read::task(db, &id))
            .await
    }

    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let id = id.clone();
        self.read(Asked::task(&id), move |db| {
            read::events(db, &id, after, limit)
        })
        .await
    }

    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error> {
        self.read(Asked::All, move |db| list::list(db, &query))
            .await
    }

    async fn heads(&self, query: TaskQuery) -> Result<Vec<Head>, Error> {
        self.read(Asked::All, move |db| list::heads(db, &query))
            .await
    }

    async fn list_by_id(&self, ids: Vec<TaskId>, query: TaskQuery) -> Result<Vec<Listed>, Error> {
        self.read(Asked::All, move |db| list::list_by_id(db, &ids, &query))
            .await
    }

    async fn recent(&self, query: RecentQuery) -> Result<Vec<Head>, Error> {
        self.read(Asked::All, move |db| list::recent(db, &query))
            .await
    }

    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        self.read(Asked::All, move |db| read::live(db, after.as_ref(), limit))
            .await
    }

    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        let task = task.clone();
        self.read(Asked::task(&task), move |db| webhooks::of(db, &task))
            .await
    }

    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        self.read(Asked::All, move |db| {
            webhooks::undelivered(db, after.as_ref(), limit)
        })
        .await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.read(Asked::All, move |db| webhooks::dead_letters(db, limit))
            .await
    }

    async fn turn(&self, task: &TaskId) -> Result<Option<TurnRecord>, Error> {
        let task = task.clone();
        self.read(Asked::task(&task), move |db| turns::latest(db, &task))
            .await
    }

    async fn turns(&self, task: &TaskId) -> Result<Vec<TurnRecord>, Error> {
        let task = task.clone();
        self.read(Asked::task(&task), move |db| turns::of(db, &task))
            .await
    }

    async fn step(&self, task: &TaskId, name: &str) -> Result<Option<StoredStep>, Error> {
        let (task, name) = (task.clone(), name.to_owned());
        self.read(Asked::task(&task), move |db| turns::step(db, &task, &name))
            .await
    }

    async fn steps(
        &self,
        task: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredStep>, Error> {
        let task = task.clone();
        self.read(Asked::task(&task), move |db| {
            turns::steps(db, &task, after, limit)
        })
        .await
    }

    async fn pending_release(&self, task: &TaskId) -> Result<Option<PendingRelease>, Error> {
        let task = task.clone();
        self.read(Asked::task(&task), move |db| {
            turns::pending_release(db, &task)
        })
        .await
    }

    async fn pending_releases(
        &self,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Vec<Head>, Error> {
        self.read(Asked::All, move |db| {
            read::pending_releases(db, after.as_ref(), limit)
        })
        .await
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        let key = key.clone();
        self.read(Asked::key(&key), move |db| read::answered(db, key))
            .await
    }

    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        self.read(Asked::All, move |db| read::old_answers(db, before, limit))
            .await
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        self.read(Asked::All, move |db| read::foldable(db, before, limit))
            .await
    }

    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error> {
        self.read(Asked::All, move |db| {
            list::expired(db, state, before, limit)
        })
        .await
    }

    async fn close(&self) -> Result<(), Error> {
        let Some(writing) = self.writing.clone() else {
            return Ok(());
        };
        self.readers.close();
        readers::blocking(move || {
            drop(writing.writer.lock().take());
            Ok(())
        })
        .await
    }
}
