//! The embedded store: one SQLite database in a data directory, in write-ahead mode.
//!
//! One connection writes; a few others read, each on a blocking thread. A commit is one transaction and one
//! sync of the write-ahead log. What is stored how stands in `schema` and `rows`.

mod append;
mod error;
mod list;
mod open;
mod read;
mod readers;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod webhooks;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};

use super::{
    Answered, Change, DeadLetter, Error, Head, IdempotencyKey, Store, StoredTask, TaskList,
    TaskQuery, Webhook,
};
use crate::log::Entry;
use readers::Readers;
use write::Writer;

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The loss of power: each commit waits for the disk.
    #[default]
    PowerLoss,
    /// The death of the process only: after a power loss the last moments may be missing.
    ProcessDeath,
}

/// Where and how to store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The data directory; made if it is not there.
    pub dir: PathBuf,
    /// What a commit survives.
    pub durability: Durability,
}

/// A store in an SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the writer: the last connection tidies up, and only the writer can.
    readers: Arc<Readers>,
    /// None if the store was opened only to be read.
    writer: Option<Arc<Mutex<Writer>>>,
}

impl SqliteOptions {
    /// A store in `dir` whose commits survive the loss of power.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durability: Durability::default(),
        }
    }
}

impl SqliteStore {
    /// Opens the data directory, making it and bringing its database up to date where needed. Blocks.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used, is in use, or was written by a newer version.
    pub fn open(options: &SqliteOptions) -> Result<Self, Error> {
        let opened = open::open(options)?;
        Ok(Self {
            readers: Arc::new(Readers::new(opened.path)),
            writer: Some(Arc::new(Mutex::new(Writer::new(
                opened.connection,
                opened.lock,
            )))),
        })
    }

    /// Opens a data directory only to be read, also beside the process that writes it. Blocks.
    ///
    /// # Errors
    ///
    /// If there is no database in it, or it cannot be read.
    pub fn open_to_read(dir: &Path) -> Result<Self, Error> {
        Ok(Self {
            readers: Arc::new(Readers::new(open::existing(dir)?)),
            writer: None,
        })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        let Some(writer) = self.writer.clone() else {
            return Err(Error::Unavailable("opened only to be read".to_owned()));
        };
        readers::blocking(move || {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.commit(&changes)
        })
        .await
    }

    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        let id = id.clone();
        self.readers.read(move |db| read::task(db, &id)).await
    }

    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let id = id.clone();
        self.readers
            .read(move |db| read::events(db, &id, after, limit))
            .await
    }

    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error> {
        self.readers.read(move |db| list::list(db, &query)).await
    }

    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        self.readers
            .read(move |db| read::live(db, after.as_ref(), limit))
            .await
    }

    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        let task = task.clone();
        self.readers.read(move |db| webhooks::of(db, &task)).await
    }

    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        self.readers
            .read(move |db| webhooks::undelivered(db, after.as_ref(), limit))
            .await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.readers
            .read(move |db| webhooks::dead_letters(db, limit))
            .await
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        let key = key.clone();
        self.readers.read(move |db| read::answered(db, key)).await
    }

    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        self.readers
            .read(move |db| read::old_answers(db, before, limit))
            .await
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        self.readers
            .read(move |db| read::foldable(db, before, limit))
            .await
    }

    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error> {
        self.readers
            .read(move |db| list::expired(db, state, before, limit))
            .await
    }
}
