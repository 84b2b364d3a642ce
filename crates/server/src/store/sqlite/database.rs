//! The connection that writes, and the transaction on it that stays open over many commits.

use hashbrown::HashSet;
use rusqlite::Connection;

use super::commit::{Commit, Scopes};
use super::frames::{self, JournalContent};
use super::rows::{self, number};
use super::{journal, migrate_v5, schema};
use crate::store::Error;

/// How much room for a frame is kept from one commit to the next.
const ROOM: usize = 256 * 1024;

/// The connection that writes.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    scopes: Scopes,
    /// The commit under way, as it stands in the journal.
    pub(super) frame: Vec<u8>,
    /// The open transaction holds parts of a commit that was refused.
    torn: bool,
}

impl Database {
    /// Writes by that connection.
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            scopes: Scopes::default(),
            frame: Vec::new(),
            torn: false,
        }
    }

    /// What it knows of its journal: its own id, and the last commit that it has taken.
    pub(super) fn noted(&self) -> Result<(u64, u64), Error> {
        let sql = "SELECT database, settled FROM journal";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?));
        let (database, settled) = self.connection.query_row(sql, [], read)?;
        Ok((database.cast_unsigned(), rows::unsigned(settled)?))
    }

    /// Whether a transaction is open that can be trusted. One that cannot is ended.
    pub(super) fn is_open(&mut self) -> Result<bool, Error> {
        if self.torn && !self.connection.is_autocommit() {
            self.execute("ROLLBACK")?;
        }
        self.torn = false;
        Ok(!self.connection.is_autocommit())
    }

    /// Begins a transaction, unless one is open.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        match self.connection.is_autocommit() {
            true => self.execute("BEGIN IMMEDIATE"),
            false => Ok(()),
        }
    }

    /// Writes the frame to the open transaction. [`Self::undo`] must follow if the commit is refused.
    ///
    /// Not in a savepoint: for one, SQLite copies each page before the first change to it, which costs more than a small
    /// commit itself. Refused commits are rare, and the journal has what else the transaction held.
    pub(super) fn apply(&mut self) -> Result<(), Error> {
        self.begin()?;
        let commit = Commit::new(&self.connection, &mut self.scopes);
        let applied = commit.write(journal::content(&self.frame));
        self.frame.shrink_to(ROOM);
        applied
    }

    /// Writes the records of one task to the open transaction, all of them or none.
    pub(super) fn apply_task(&mut self, records: &[u8]) -> Result<(), Error> {
        self.execute("SAVEPOINT task")?;
        let written = Commit::new(&self.connection, &mut self.scopes).write(records);
        if written.is_err() {
            self.scopes = Scopes::default();
            self.execute("ROLLBACK TO task")?;
        }
        self.execute("RELEASE task")?;
        written
    }

    /// The transaction holds a commit that was refused, or a part of it: all of it goes, before it is used again.
    pub(super) fn undo(&mut self) {
        self.scopes = Scopes::default();
        self.torn = true;
    }

    /// Answers a question, within the open transaction.
    pub(super) fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        ask(&self.connection)
    }

    /// Ends the open transaction, which holds everything up to the commit `last`.
    pub(super) fn settle(&mut self, last: u64) -> Result<(), Error> {
        self.connection
            .prepare_cached("UPDATE journal SET settled = ?1")?
            .execute([number(last)])?;
        self.execute("COMMIT")
    }

    /// Writes the commits of a journal after `settled` to a new transaction: all of them, or none.
    pub(super) fn replay(&mut self, found: &JournalContent, settled: u64) -> Result<(), Error> {
        self.scopes = Scopes::default();
        self.execute("BEGIN IMMEDIATE")?;
        let replayed = self.replay_each(found, settled);
        if replayed.is_err() {
            self.scopes = Scopes::default();
            self.torn = self.execute("ROLLBACK").is_err();
        }
        replayed
    }

    /// Whether an earlier version has made the tables.
    pub(super) fn is_outdated(&self) -> Result<bool, Error> {
        schema::is_outdated(&self.connection)
    }

    /// Takes the last step of the schema and the commits after `settled` to a new transaction: all of it, or nothing.
    /// Together, since only both show how tasks stood in the earlier version.
    pub(super) fn upgrade(&mut self, found: &JournalContent, settled: u64) -> Result<(), Error> {
        self.execute("BEGIN IMMEDIATE")?;
        let upgraded = self.upgrade_each(found, settled);
        self.scopes = Scopes::default();
        if upgraded.is_err() {
            self.torn = self.execute("ROLLBACK").is_err();
        }
        upgraded
    }

    fn upgrade_each(&mut self, found: &JournalContent, settled: u64) -> Result<(), Error> {
        schema::begin_last_step(&self.connection)?;
        self.replay_each(found, settled)?;
        migrate_v5::convert(&self.connection)?;
        schema::end_last_step(&self.connection)
    }

    fn replay_each(&mut self, found: &JournalContent, settled: u64) -> Result<(), Error> {
        let (frames, last) = (&found.frames, found.last);
        if let Some(number) = frames::missing(frames, settled, last) {
            let affected = last - number + 1;
            let behind = last - settled;
            return Err(Error::Damaged(format!(
                "commit {number} is missing from the journal, though commit {last} was acknowledged after it: the \
                 journal is damaged, or not of the same moment as the database. {affected} acknowledged commits are \
                 affected. Nothing was changed; keep a copy of the data directory. Restore database and journal from \
                 one backup; or, to go on without the last {behind} commits, move {} and {} to a safe place. \
                 `switchboard store check` tells more",
                journal::NAMES[0],
                journal::NAMES[1],
            )));
        }
        for frame in frames {
            if frame.number > settled && frame.number <= last {
                let is_acknowledged = frame.number < last || frame.number == found.marked;
                self.replay_frame(&frame.content, is_acknowledged)?;
            }
        }
        Ok(())
    }

    /// Writes one commit of the journal. One that was not acknowledged may hold changes that are to be refused: the process
    /// ended before it could write the commit without them. They are left out, as it would have done.
    fn replay_frame(&mut self, content: &[u8], is_acknowledged: bool) -> Result<(), Error> {
        let mut left_out = HashSet::new();
        loop {
            self.execute("SAVEPOINT frame")?;
            let commit = Commit::replayed(&self.connection, &mut self.scopes);
            let Err((task, error)) = commit.write_but(content, &left_out) else {
                return self.execute("RELEASE frame");
            };
            self.scopes = Scopes::default();
            self.execute("ROLLBACK TO frame")?;
            self.execute("RELEASE frame")?;
            match (task, &error) {
                (Some(task), Error::Damaged(_) | Error::Refused(_)) if !is_acknowledged => {
                    tracing::warn!(task, %error, "left out changes that were never acknowledged");
                    left_out.insert(task);
                }
                _ => return Err(error),
            }
        }
    }

    /// Whether it never held a task.
    pub(super) fn is_new(&self) -> Result<bool, Error> {
        let sql = "SELECT settled = 0 AND NOT EXISTS (SELECT 1 FROM task) FROM journal";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    /// Takes the id of a database that was lost, whose journal is there.
    pub(super) fn take_id(&self, id: u64) -> Result<(), Error> {
        let mut statement = self
            .connection
            .prepare_cached("UPDATE journal SET database = ?1")?;
        statement.execute([id.cast_signed()])?;
        Ok(())
    }

    fn execute(&self, sql: &str) -> Result<(), Error> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}
