//! The embedded store: one SQLite database in a data directory, in write-ahead mode.
//!
//! One connection writes; a few others read, each on a blocking thread. A commit is one append to the journal
//! and one sync of it; the database takes it within a transaction that stays open over many commits and ends
//! when a reader asks for something in it. What is stored how stands in `schema`, `rows` and `record`.

mod append;
mod aside;
mod check;
mod checkpoint;
mod commit;
mod database;
mod error;
mod frames;
mod fresh;
pub(super) mod journal;
mod list;
mod migrate_v5;
pub(super) mod open;
mod overlay;
mod read;
mod readers;
mod record;
mod rows;
mod schema;
pub(super) mod snapshot;
#[cfg(test)]
mod tests;
mod times;
mod turns;
mod webhooks;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::Connection;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};
use tokio::time::Instant;

use super::{CommitReport, Error, Listed, RecentQuery, Store, TaskList, TaskQuery};
use crate::task::{
    Answered, Change, DeadLetter, Entry, Head, IdempotencyKey, PendingRelease, StoredStep,
    StoredTask, TurnRecord, Webhook,
};
pub(in crate::store) use check::check_files;
pub use check::{FileReport, StoreReport, check};
use fresh::{Asked, Fresh};
use overlay::Overlay;
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
    /// How long to wait for another process that has the directory open.
    pub lock_timeout: Duration,
}

/// How long a start waits for a process that is about to end, or for commands that read.
const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The database file is at most so far behind what was committed.
const BEHIND: Duration = Duration::from_secs(1);

/// How much longer a reader waits for that, and how often it looks.
const CATCH_UP_MARGIN: Duration = Duration::from_millis(200);
const CATCH_UP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A store in an SQLite database.
#[derive(Debug)]
pub struct SqliteStore {
    // Closed before the writer: the last connection tidies up, and only the writer can.
    readers: Arc<Readers>,
    /// None if the store was opened only to be read.
    writing: Option<Arc<Writing>>,
    /// Where a store that was opened only to be read finds what a killed process has left in the journal.
    overlay: Option<Arc<Overlay>>,
}

/// What commits go through.
#[derive(Debug)]
struct Writing {
    /// None once the store is closed.
    writer: Mutex<Option<Writer>>,
    fresh: Arc<Fresh>,
    /// Somebody sees to it that what was committed is settled.
    due: AtomicBool,
}

impl Writing {
    fn commit(&self, changes: &[Change]) -> Result<CommitReport, Error> {
        let mut writer = self.writer.lock();
        let writer = writer.as_mut();
        writer
            .ok_or_else(|| Error::Unavailable("the store is closed".to_owned()))?
            .commit(changes)
    }

    /// Makes sure that a reader sees all that was committed of what it asks for.
    fn settle_for(&self, asked: Asked) -> Result<(), Error> {
        if !self.fresh.has(asked) {
            return Ok(());
        }
        self.writer.lock().as_mut().map_or(Ok(()), Writer::settle)
    }

    /// Settles before long what was committed, for those who read the file from outside.
    #[expect(
        clippy::disallowed_methods,
        reason = "ends by itself within a second, and has nothing to do once the store is closed"
    )]
    fn settle_soon(self: &Arc<Self>) {
        if self.due.swap(true, Ordering::Relaxed) {
            return;
        }
        let writing = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(BEHIND).await;
            let Some(writing) = writing.upgrade() else {
                return;
            };
            writing.due.store(false, Ordering::Relaxed);
            let settled = readers::blocking(move || writing.settle_for(Asked::All)).await;
            if let Err(error) = settled {
                tracing::warn!(%error, "could not settle the journal into the database, will retry");
            }
        });
    }
}

impl SqliteOptions {
    /// A store in `dir` whose commits survive the loss of power.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durability: Durability::default(),
            lock_timeout: DEFAULT_LOCK_TIMEOUT,
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
        let readers = Arc::new(Readers::new(opened.path.clone()));
        let fresh = Arc::new(Fresh::default());
        let writer = Writer::new(opened, Arc::clone(&fresh))?;
        Ok(Self {
            readers,
            writing: Some(Arc::new(Writing {
                writer: Mutex::new(Some(writer)),
                fresh,
                due: AtomicBool::new(false),
            })),
            overlay: None,
        })
    }

    /// Whether a data directory has a database.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        open::is_in(dir)
    }

    /// Opens a data directory only to be read, also beside the process that writes it: what that one has committed is
    /// seen after a second at most. Changes nothing, and keeps no other reader out. Blocks.
    ///
    /// # Errors
    ///
    /// If there is no database in it, or it cannot be read.
    pub fn open_to_read(dir: &Path) -> Result<Self, Error> {
        let database = open::existing(dir)?;
        let overlay = Overlay::open(dir, &database).unwrap_or_else(|error| {
            tracing::warn!(%error, "could not read the journal, the latest tasks may be missing");
            None
        });
        Ok(Self {
            readers: Arc::new(Readers::new(database)),
            writing: None,
            overlay: overlay.map(Arc::new),
        })
    }

    /// Waits until this store, opened to be read beside a running server, sees all that the server had acknowledged when
    /// this was called; not longer than a server takes for that. Without a server there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub async fn catch_up(&self, dir: &Path) -> Result<(), Error> {
        if self.overlay.is_some() || !journal::is_left_in(dir) {
            return Ok(());
        }
        // A journal that cannot be read now, since it is being written, tells nothing: then the time must do.
        let last = journal::read_in(dir).map_or(u64::MAX, |found| found.last);
        let deadline = Instant::now() + BEHIND + CATCH_UP_MARGIN;
        loop {
            let settled = self.read(Asked::All, |db| {
                let sql = "SELECT settled FROM journal";
                let settled: i64 = db.query_row(sql, [], |row| row.get(0))?;
                rows::unsigned(settled)
            });
            if settled.await? >= last || Instant::now() >= deadline {
                return Ok(());
            }
            tokio::time::sleep(CATCH_UP_POLL_INTERVAL).await;
        }
    }

    /// Reads in one transaction, which sees everything that was committed of what is `asked` for.
    async fn read<T, F>(&self, asked: Asked, ask: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        if let Some(overlay) = self.overlay.clone() {
            return readers::blocking(move || overlay.read(ask)).await;
        }
        let writing = self.writing.clone();
        self.readers
            .read(move |db| {
                let Some(writing) = &writing else {
                    return ask(db);
                };
                // The transaction sees what is settled at its first question, which comes after this.
                match writing.settle_for(asked) {
                    Ok(()) => ask(db),
                    // A full disk does not keep anyone from reading.
                    Err(error) => writing.writer.lock().as_mut().ok_or(error)?.read(ask),
                }
            })
            .await
    }
}

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
