//! Reading after a crash, or what an earlier version has written: what the journal holds and the database does not, in
//! the tables of this version, without changing either.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::database::Database;
use super::open::ReadLock;
use super::{journal, open, schema};
use crate::store::Error;

/// The database of a process that is gone, with the commits that only its journal has, and brought up to date if that was
/// an earlier version.
///
/// The next server stores all this. A command that only reads must not: it would keep the directory from a server
/// that starts. So it writes it to a transaction that it rolls back after each question, and holds nothing in between.
#[derive(Debug)]
pub(super) struct Overlay {
    dir: PathBuf,
    path: PathBuf,
}

/// The database as it is for one question.
struct Replayed {
    // Rolled back and closed before the lock is released.
    database: Database,
    _lock: ReadLock,
}

impl Overlay {
    /// Looks whether there is something to add to the database at `path`. `None` if there is not, or if a server has the
    /// directory open.
    pub(super) fn open(dir: &Path, path: &Path) -> Result<Option<Self>, Error> {
        if !journal::is_left_in(dir) && !schema::is_outdated(&open::reader(path)?)? {
            return Ok(None);
        }
        let overlay = Self {
            dir: dir.to_owned(),
            path: path.to_owned(),
        };
        let is_needed = overlay.replay()?.is_some();
        Ok(is_needed.then_some(overlay))
    }

    /// Answers a question.
    pub(super) fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.replay()? {
            Some(replayed) => replayed.database.read(ask),
            // A server has started since, and stores what the journal holds.
            None => ask(&open::reader(&self.path)?),
        }
    }

    fn replay(&self) -> Result<Option<Replayed>, Error> {
        let Some(lock) = open::lock_to_read(&self.dir)? else {
            return Ok(None);
        };
        let mut database = Database::new(open::replayer(&self.path)?);
        let (id, settled) = database.noted()?;
        let mut found = journal::read_in(&self.dir)?;
        found.require_database(id)?;
        let is_outdated = database.is_outdated()?;
        found.last = found.last.max(settled);
        if found.last == settled && !is_outdated {
            return Ok(None);
        }
        match is_outdated {
            true => database.upgrade(&found, settled)?,
            false => database.replay(&found, settled)?,
        }
        Ok(Some(Replayed {
            database,
            _lock: lock,
        }))
    }
}
