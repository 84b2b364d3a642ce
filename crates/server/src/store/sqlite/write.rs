//! The writer: makes commits durable in the journal, and writes them to the database in one transaction that
//! stays open over many of them.

use std::fs::File;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use switchboard_types::model::TaskId;

use super::Durability;
use super::aside::Aside;
use super::checkpoint;
use super::database::Database;
use super::fresh::Fresh;
use super::journal::{self, Journal};
use super::open::Opened;
use super::record;
use crate::store::{CommitReport, Error, Refusal, files, order};
use crate::task::Change;

/// How much room for encoding is kept from one commit to the next.
const ROOM: usize = 256 * 1024;

/// The journal, and the database behind it.
#[derive(Debug)]
pub(super) struct Writer {
    /// Makes durable what is settled. Closed before the connection that writes.
    checkpoint: Aside<()>,
    /// Has the database take its frame, while the journal is synced.
    apply: Aside<()>,
    database: Arc<Mutex<Database>>,
    journal: Journal,
    /// What readers do not see yet.
    fresh: Arc<Fresh>,
    /// The last commit that was acknowledged.
    last: u64,
    /// The last commit that readers see.
    settled: u64,
    /// The database, and in it what an earlier process has left in the journal, is durable.
    recovered: bool,
    json: Vec<u8>,
    /// On the data directory; released after the connection is closed.
    _lock: File,
}

impl Writer {
    /// Writes to what was opened, first of all what the journal holds and the database does not.
    pub(super) fn new(opened: Opened, fresh: Arc<Fresh>) -> Result<Self, Error> {
        let unusable = |error| files::unusable(&opened.dir, &error);
        let database = Database::new(opened.connection);
        let (id, settled) = database.noted()?;
        let synced = opened.durability == Durability::PowerLoss;
        let database = Arc::new(Mutex::new(database));
        let behind = Arc::clone(&database);
        let apply = Aside::start("database", move |()| behind.lock().apply());
        let mut writer = Self {
            checkpoint: checkpoint::start(&opened.path, opened.durability)?,
            apply: apply.map_err(unusable)?,
            database,
            journal: Journal::open(&opened.dir, id, synced).map_err(unusable)?,
            fresh,
            last: settled,
            settled,
            recovered: false,
            json: Vec::new(),
            _lock: opened.lock,
        };
        writer.take_over(id)?;
        match writer.recover() {
            // A full disk is no reason not to start: what is stored can be read.
            Err(Error::Unavailable(error)) => {
                tracing::warn!(
                    error,
                    "could not make the database durable, refusing commits until it is"
                );
            }
            outcome => outcome?,
        }
        Ok(writer)
    }

    /// Makes all changes durable, but for those of tasks that are refused; after an error, none.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<CommitReport, Error> {
        self.recover()?;
        self.catch_up()?;
        let full = self.journal.is_full();
        if full {
            self.switch_journal()?;
        }
        let outcome = self.write(changes);
        self.json.shrink_to(ROOM);
        if full {
            // Not before: this commit has waited long enough, and would have to share the disk.
            self.checkpoint.begin(());
        }
        outcome
    }

    /// Lets readers see every commit that was acknowledged.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        self.catch_up()?;
        if self.last > self.settled {
            self.database().settle(self.last)?;
            self.settled = self.last;
            self.fresh.clear();
        }
        Ok(())
    }

    /// Answers a question where everything is seen, settled or not.
    pub(super) fn read<T>(
        &mut self,
        ask: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.catch_up()?;
        self.database().read(ask)
    }

    /// Writes a commit. Nearly always nothing of it is to be refused, so it is written as one piece to the journal and to
    /// the database at once. Only if that fails it is undone in both, and written again task by task.
    ///
    /// The frame that replay finds must not hold what was refused: a caller that got the refusal must not find it
    /// committed after a restart. The second attempt therefore asks the database first, and writes to the journal what
    /// the database has taken, in place of the first frame. If the process ends in between, the first frame may be
    /// found: it was not acknowledged, and replay leaves out what cannot be made.
    fn write(&mut self, changes: &[Change]) -> Result<CommitReport, Error> {
        self.fresh.add(changes);
        match self.write_at_once(changes) {
            Ok(()) => Ok(CommitReport::default()),
            Err(Error::Damaged(_) | Error::Refused(_)) => self.write_by_task(changes),
            Err(error) => Err(error),
        }
    }

    fn write_at_once(&mut self, changes: &[Change]) -> Result<(), Error> {
        let mut frame = std::mem::take(&mut self.database().frame);
        journal::clear(&mut frame);
        for change in changes {
            record::write(change, &mut self.json, &mut frame)?;
        }
        let written = self.journal.write(self.last + 1, &mut frame);
        let end = self.journal.after(&frame);
        self.database().frame = frame;
        // The database's work fits into the time that the disk takes. It is the other thread that does it: this
        // one waits for the disk, so that the disk's work begins at once even if there is one processor.
        self.apply.begin(());
        let synced = written.and_then(|()| self.journal.sync());
        let applied = self.apply.wait();
        self.conclude(applied.and(synced), end)
    }

    fn write_by_task(&mut self, changes: &[Change]) -> Result<CommitReport, Error> {
        self.catch_up()?;
        self.database().begin()?;
        let mut frame = Vec::new();
        journal::clear(&mut frame);
        let refused = match self.take_by_task(changes, &mut frame) {
            Ok(refused) => refused,
            Err(error) => {
                self.database().undo();
                return Err(error);
            }
        };
        let report = CommitReport { refused };
        if journal::content(&frame).is_empty() {
            self.database().undo();
            return Ok(report);
        }
        let written = self.journal.write(self.last + 1, &mut frame);
        let end = self.journal.after(&frame);
        let synced = written.and_then(|()| self.journal.sync());
        self.conclude(synced, end)?;
        Ok(report)
    }

    /// Writes to the database what it takes, and fills the frame with it. Returns the tasks whose changes it does not take.
    fn take_by_task(
        &mut self,
        changes: &[Change],
        frame: &mut Vec<u8>,
    ) -> Result<Vec<(TaskId, Refusal)>, Error> {
        let mut refused = Vec::new();
        for (task, changes) in order::by_task(changes) {
            let start = frame.len();
            let mut encoded = changes
                .iter()
                .map(|c| record::write(c, &mut self.json, frame));
            let written = encoded.try_for_each(|encoded| encoded);
            let taken = written.and_then(|()| self.database().apply_task(&frame[start..]));
            let refusal = match (taken, task) {
                (Ok(()), _) => continue,
                (Err(Error::Damaged(why)), Some(_)) => Refusal::Damaged(why),
                (Err(Error::Refused(refusal)), Some(_)) => refusal,
                (Err(error), _) => return Err(error),
            };
            frame.truncate(start);
            refused.extend(task.map(|task| (task.clone(), refusal)));
        }
        Ok(refused)
    }

    /// The commit stays, in the journal and in the database, or goes from both.
    fn conclude(&mut self, outcome: Result<(), Error>, end: u64) -> Result<(), Error> {
        match outcome {
            Ok(()) => {
                self.last += 1;
                self.journal.keep(self.last, end);
            }
            Err(_) => self.undo(),
        }
        outcome
    }

    /// Takes back a commit that was refused, in the journal and with the whole transaction: [`Self::catch_up`] makes that
    /// anew from the journal, which is never long.
    fn undo(&mut self) {
        self.database().undo();
        if let Err(error) = self.journal.retract() {
            tracing::error!(%error, "could not retract a refused commit, it may reappear after a crash");
        }
    }

    /// Makes the open transaction anew from the journal, if an error has ended or torn it.
    fn catch_up(&mut self) -> Result<(), Error> {
        if !self.database().is_open()? && self.last > self.settled {
            let mut found = self.journal.read()?;
            (found.last, found.marked) = (self.last, self.last);
            self.database().replay(&found, self.settled)?;
        }
        Ok(())
    }

    /// Writes what an earlier process has left in the journal to a transaction. If that was an earlier version, its tables
    /// are brought up to date in the same one, which ends here: a server does not start on tables that it cannot use.
    fn take_over(&mut self, id: u64) -> Result<(), Error> {
        let mut found = self.journal.read()?;
        match found.complete_database() {
            // The database was lost before anything of it was durable, which versions that did not sync a new one
            // allowed. The journal has all of it.
            Some(lost) if lost != id && self.database().is_new()? => {
                tracing::warn!(
                    commits = found.last,
                    "database is new, restoring it from its journal"
                );
                self.database().take_id(lost)?;
                self.journal.belong_to(lost);
            }
            _ => found.require_database(id)?,
        }
        if self.database().is_outdated()? {
            found.last = found.last.max(self.settled);
            self.database().upgrade(&found, self.settled)?;
            self.database().settle(found.last)?;
            (self.last, self.settled) = (found.last, found.last);
            return Ok(());
        }
        if found.last > self.settled {
            self.fresh.add_any();
            self.database().replay(&found, self.settled)?;
            let commits = found.last - self.settled;
            tracing::info!(commits, "journal replayed");
            self.last = found.last;
        }
        Ok(())
    }

    /// Makes durable what was taken over, so that both files can be written anew. Also if nothing was: the tables, the
    /// database's id and what a killed process had written may not have been synced, and the journal is worth nothing
    /// without them.
    fn recover(&mut self) -> Result<(), Error> {
        if !self.recovered {
            self.settle()?;
            self.checkpoint.begin(());
            self.checkpoint.wait()?;
            self.recovered = true;
        }
        Ok(())
    }

    /// Goes on in the other file of the journal. What stands in this one is to be made durable next.
    fn switch_journal(&mut self) -> Result<(), Error> {
        self.settle()?;
        if let Err(error) = self.checkpoint.wait() {
            // The other file cannot be written yet.
            self.checkpoint.begin(());
            return Err(error);
        }
        self.journal.switch();
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if !self.recovered {
            return Ok(());
        }
        self.settle()?;
        self.checkpoint.wait()?;
        self.checkpoint.begin(());
        self.checkpoint.wait()?;
        let removed = self.journal.remove();
        removed.map_err(|error| Error::Unavailable(error.to_string()))
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock()
    }

    #[cfg(test)]
    pub(super) fn run(&self, sql: &str) {
        self.database().connection().execute_batch(sql).unwrap();
    }

    #[cfg(test)]
    pub(super) fn numbers<const N: usize>(&self, sql: &str) -> Vec<[i64; N]> {
        let database = self.database();
        let mut statement = database.connection().prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok(std::array::from_fn(|n| row.get(n).unwrap())));
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[cfg(test)]
    pub(super) fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }
}

impl Drop for Writer {
    /// A store that is closed leaves a database and nothing beside it.
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "could not close the journal, the next start replays it");
        }
    }
}
