//! The writer: makes commits durable in the journal, and writes them to the database in one transaction that
//! stays open over thousands of them.

use std::fs::File;
use std::sync::Arc;

use rusqlite::Connection;

use super::Durability;
use super::aside::Aside;
use super::checkpoint;
use super::commit::{Commit, Scopes};
use super::fresh::Fresh;
use super::journal::{self, Frame, Journal};
use super::open::{self, Opened};
use super::record;
use super::rows::{self, number};
use crate::store::{Change, Error};

/// How much room for encoding is kept from one commit to the next.
const ROOM: usize = 256 * 1024;

/// The connection that writes, and the journal before it.
#[derive(Debug)]
pub(super) struct Writer {
    /// Makes durable what is settled. Closed before the connection that writes.
    checkpoint: Aside<()>,
    connection: Connection,
    journal: Journal,
    /// What readers do not see yet.
    fresh: Arc<Fresh>,
    scopes: Scopes,
    /// The last commit that was acknowledged.
    last: u64,
    /// The last commit that readers see.
    settled: u64,
    /// What an earlier process has left in the journal is in the database.
    recovered: bool,
    /// The open transaction holds parts of a commit that was refused.
    torn: bool,
    frame: Vec<u8>,
    json: Vec<u8>,
    /// On the data directory; released after the connection is closed.
    _lock: File,
}

impl Writer {
    /// Writes to what was opened, first of all what the journal holds and the database does not.
    pub(super) fn new(opened: Opened, fresh: Arc<Fresh>) -> Result<Self, Error> {
        let (database, settled) = noted(&opened.connection)?;
        let synced = opened.durability == Durability::PowerLoss;
        let journal = Journal::open(&opened.dir, database, synced);
        let mut writer = Self {
            journal: journal.map_err(|error| open::unusable(&opened.dir, &error))?,
            checkpoint: checkpoint::start(&opened.path, opened.durability)?,
            connection: opened.connection,
            fresh,
            scopes: Scopes::default(),
            last: settled,
            settled,
            recovered: false,
            torn: false,
            frame: Vec::new(),
            json: Vec::new(),
            _lock: opened.lock,
        };
        writer.recover()?;
        writer.recovered = true;
        Ok(writer)
    }

    /// Makes all changes durable, or none.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.catch_up()?;
        let full = self.journal.is_full();
        if full {
            self.switch_journal()?;
        }
        let mut frame = std::mem::take(&mut self.frame);
        let outcome = self.write(changes, &mut frame);
        frame.shrink_to(ROOM);
        self.frame = frame;
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
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection
            .prepare_cached("UPDATE journal SET settled = ?1")?
            .execute([number(self.last)])?;
        self.execute("COMMIT")?;
        self.settled = self.last;
        self.fresh.clear();
        Ok(())
    }

    fn write(&mut self, changes: &[Change], frame: &mut Vec<u8>) -> Result<(), Error> {
        journal::clear(frame);
        for change in changes {
            record::write(change, &mut self.json, frame)?;
        }
        let written = self.journal.write(self.last + 1, frame);
        // While the disk is busy with the journal, the database takes the same records.
        let applied = self.apply(journal::content(frame));
        self.fresh.add(changes);
        let synced = written.and_then(|()| self.journal.sync());
        let outcome = applied.and(synced).and_then(|()| self.release());
        match outcome {
            Ok(()) => {
                self.journal.keep(frame);
                self.last += 1;
            }
            Err(_) => self.undo(),
        }
        outcome
    }

    /// Writes the records of a commit to the database. They stay if [`Self::release`] follows.
    fn apply(&mut self, records: &[u8]) -> Result<(), Error> {
        if self.connection.is_autocommit() {
            self.execute("BEGIN IMMEDIATE")?;
        }
        self.execute("SAVEPOINT one")?;
        Commit::new(&self.connection, &mut self.scopes).write(records)
    }

    fn release(&self) -> Result<(), Error> {
        self.execute("RELEASE one")
    }

    /// Takes back a commit that was refused, here and in the journal. If it cannot be told from what the
    /// transaction held before, all of it goes, and [`Self::catch_up`] makes it anew.
    fn undo(&mut self) {
        self.scopes = Scopes::default();
        if self.execute("ROLLBACK TO one").is_err() || self.release().is_err() {
            self.torn = true;
        }
        if let Err(error) = self.journal.retract() {
            tracing::error!(%error, "a commit that was refused may come back after a crash");
        }
    }

    /// Makes the open transaction anew from the journal, if an error has ended or torn it.
    fn catch_up(&mut self) -> Result<(), Error> {
        if self.torn && !self.connection.is_autocommit() {
            self.execute("ROLLBACK")?;
        }
        self.torn = false;
        if self.connection.is_autocommit() && self.last > self.settled {
            let frames = self.journal.read()?;
            self.replay(&frames, self.last)?;
        }
        Ok(())
    }

    /// Takes over what an earlier process has left in the journal.
    fn recover(&mut self) -> Result<(), Error> {
        let frames = self.journal.read()?;
        let last = frames.last().map_or(0, |frame| frame.number);
        if last > self.settled {
            self.replay(&frames, last)?;
            tracing::info!(commits = last - self.settled, "taken over from the journal");
            self.last = last;
            self.settle()?;
        }
        if last > 0 {
            // Both files are to be written anew.
            self.checkpoint.begin(());
            self.checkpoint.wait()?;
        }
        Ok(())
    }

    /// Applies all commits that readers do not see up to `last`, or none.
    fn replay(&mut self, frames: &[Frame], last: u64) -> Result<(), Error> {
        self.scopes = Scopes::default();
        self.execute("BEGIN IMMEDIATE")?;
        let applied = self.replay_each(frames, last);
        if applied.is_err() {
            self.scopes = Scopes::default();
            self.torn = self.execute("ROLLBACK").is_err();
        }
        applied
    }

    fn replay_each(&mut self, frames: &[Frame], last: u64) -> Result<(), Error> {
        let mut missing = frames.iter().filter(|frame| frame.number > self.settled);
        for number in self.settled + 1..=last {
            let frame = missing.next().filter(|frame| frame.number == number);
            let frame = frame.ok_or_else(|| {
                Error::Damaged(format!(
                    "commit {number} is missing: database and journal are not of the same moment. Put \
                     back both from one copy, or remove the journal to go on with the older state"
                ))
            })?;
            Commit::new(&self.connection, &mut self.scopes).write(&frame.content)?;
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

    fn execute(&self, sql: &str) -> Result<(), Error> {
        self.connection.prepare_cached(sql)?.execute([])?;
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

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
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
            tracing::warn!(%error, "the journal stays for the next start");
        }
    }
}

/// What the database knows of its journal: its own id, and the last commit that it has taken.
fn noted(connection: &Connection) -> Result<(u64, u64), Error> {
    let sql = "SELECT database, settled FROM journal";
    let (database, settled) =
        connection.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    Ok((database.cast_unsigned(), rows::unsigned(settled)?))
}
