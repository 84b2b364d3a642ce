//! The databases of a data directory as they were at one moment: what a backup copies.
//!
//! A snapshot is a read transaction on each database, so the server beside it goes on writing and waits for nothing. Its
//! one cost to the server is that SQLite's write-ahead log grows until the snapshot is dropped.
//!
//! The database of tasks is up to a second behind the journal. Beside a running server the snapshot therefore waits until
//! the database has settled every commit that was acknowledged when it began, instead of reading these commits from the
//! journal: a frame in there may be of a commit that is refused a moment later. Without a server there is nothing to wait
//! for, and the journal is part of the snapshot. Why this is right is shown in
//! docs/adr/0014-a-backup-waits-for-the-database.md.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::frames::{self, JournalContent};
use super::journal::NAMES;
use super::{check, open, rows};
use crate::store::access::SqliteAccess;
use crate::store::{Error, files};

/// How often the database is looked at until it has settled what was acknowledged.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the database may take to settle. A server takes a second; more is for a machine that is very busy.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many pages are copied at once: four megabytes of 16 KiB pages. After each, the copy is synced, so that there is
/// never so much to be written that the server's own syncs wait for it.
const PAGES_PER_STEP: i32 = 256;

/// The databases of a data directory at one moment.
#[derive(Debug)]
pub(in crate::store) struct Snapshot {
    /// In a read transaction. `None` if no server has ever started here.
    tasks: Option<Connection>,
    /// In a read transaction. `None` if there are neither keys nor audit yet.
    access: Option<Connection>,
    /// The files of the journal, if it holds commits that the database does not.
    journal: Vec<JournalFile>,
    /// A server had the directory open.
    is_in_use: bool,
}

/// A file of the journal, as it is.
#[derive(Debug)]
struct JournalFile {
    name: &'static str,
    data: Vec<u8>,
}

/// The database of tasks in a read transaction, and what it says of its journal.
struct Tasks {
    connection: Connection,
    id: u64,
    settled: u64,
}

impl Snapshot {
    /// Takes a snapshot that has everything that was acknowledged before this call. Blocks, up to a second or so beside a
    /// running server.
    ///
    /// # Errors
    ///
    /// If a database cannot be read, an acknowledged commit is lost, or the server beside it does not write any more.
    pub(in crate::store) fn take(
        dir: &Path,
        mut check_stopped: impl FnMut() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        files::require_restored(dir)?;
        let mut acknowledged = u64::MAX;
        let mut waited = Duration::ZERO;
        loop {
            check_stopped()?;
            let lock = open::lock_to_read(dir)?;
            // The journal first: what it has let go meanwhile is in the database.
            let (raw, found) = read_journal(dir)?;
            let tasks = Tasks::begin(dir)?;
            let (id, settled) = tasks.as_ref().map_or((0, 0), |t| (t.id, t.settled));
            // Each reading bounds what was acknowledged; the lowest needs the shortest wait. A commit that is refused
            // raises one of them and never settles.
            acknowledged = acknowledged.min(found.last);
            let is_in_use = lock.is_none();
            if is_in_use && settled < acknowledged {
                require_progress(dir, waited)?;
                drop(tasks);
                pause();
                waited += POLL_INTERVAL;
                continue;
            }
            if !is_in_use && let Some(why) = check::unreadable(&found, id, settled) {
                return Err(Error::Damaged(why));
            }
            let is_behind = !is_in_use && found.last > settled;
            return Ok(Self {
                tasks: tasks.map(|tasks| tasks.connection),
                // After the tasks: a key that a task was sent with is in there.
                access: begin(dir, SqliteAccess::FILE)?,
                journal: if is_behind { raw } else { Vec::new() },
                is_in_use,
            });
        }
    }

    /// Whether a server had the directory open.
    pub(in crate::store) fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    /// Writes the databases and the journal to an empty directory. They are synced, their names are not.
    pub(in crate::store) fn write_to(
        &self,
        dir: &Path,
        mut check_stopped: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let databases = [
            (&self.tasks, open::DATABASE),
            (&self.access, SqliteAccess::FILE),
        ];
        for (source, name) in databases {
            if let Some(source) = source {
                copy(source, &dir.join(name), &mut check_stopped)?;
            }
        }
        for JournalFile { name, data } in &self.journal {
            let path = dir.join(name);
            let written = files::private_file(&path).and_then(|mut file| {
                std::io::Write::write_all(&mut file, data)?;
                file.sync_all()
            });
            written.map_err(|error| files::cannot_write(&path, &error))?;
        }
        Ok(())
    }
}

impl Tasks {
    fn begin(dir: &Path) -> Result<Option<Self>, Error> {
        let Some(connection) = begin(dir, open::DATABASE)? else {
            return Ok(None);
        };
        let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'journal'";
        let has_journal = connection.query_row(sql, [], |_| Ok(())).optional()?;
        // The first version had no journal; nor has a database that is just being made.
        let (id, settled) = match has_journal {
            None => (0, 0),
            Some(()) => {
                let sql = "SELECT database, settled FROM journal";
                let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?));
                let (id, settled) = connection.query_row(sql, [], read)?;
                (id.cast_unsigned(), rows::unsigned(settled)?)
            }
        };
        Ok(Some(Self {
            connection,
            id,
            settled,
        }))
    }
}

/// A read transaction on a database, if it is there.
fn begin(dir: &Path, name: &str) -> Result<Option<Connection>, Error> {
    let path = dir.join(name);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(files::unusable(&path, &error)),
        Ok(found) if !found.is_file() => {
            return Err(Error::Unavailable(format!(
                "{} is not a regular file: move the database itself into the data directory",
                path.display()
            )));
        }
        Ok(_) => {}
    }
    let connection = open::reader(&path)?;
    connection.execute_batch("BEGIN")?;
    // The transaction sees what is committed at its first question.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(Some(connection))
}

/// The files of the journal as they are, and what they hold.
fn read_journal(dir: &Path) -> Result<(Vec<JournalFile>, JournalContent), Error> {
    let mut raw = Vec::new();
    let mut contents = Vec::new();
    for name in NAMES {
        let path = dir.join(name);
        match fs::read(&path) {
            Ok(data) => {
                contents.push(frames::read(path, &data)?);
                raw.push(JournalFile { name, data });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(files::unusable(&path, &error)),
        }
    }
    Ok((raw, JournalContent::new(contents)))
}

fn require_progress(dir: &Path, waited: Duration) -> Result<(), Error> {
    if waited < SETTLE_TIMEOUT {
        return Ok(());
    }
    Err(Error::Unavailable(format!(
        "the server on {} has not written its journal to the database for {} s: its log and /readyz say why, such as a \
         full disk",
        dir.display(),
        SETTLE_TIMEOUT.as_secs()
    )))
}

/// Copies a database, page by page, to a file that is not there yet. It becomes one file that needs no other beside it.
fn copy(
    source: &Connection,
    to: &Path,
    check_stopped: &mut impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    // Open until SQLite has closed it: closing any descriptor of a file gives up SQLite's locks on it.
    let file = files::private_file(to).map_err(|error| files::cannot_write(to, &error))?;
    let mut copy = connect(to)?;
    // The copy is synced below, and thrown away if it is not finished.
    copy.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    copy_pages(source, &mut copy, &file, to, check_stopped)?;
    copy.close().map_err(|(_, error)| error)?;
    // What was copied says that there is a write-ahead log.
    let copy = connect(to)?;
    let mode: String =
        copy.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
    if mode != "delete" {
        return Err(Error::Damaged(format!(
            "the copy of a database stays in mode {mode}"
        )));
    }
    copy.close().map_err(|(_, error)| error)?;
    file.sync_all().map_err(|e| files::cannot_write(to, &e))
}

fn copy_pages(
    source: &Connection,
    copy: &mut Connection,
    file: &File,
    to: &Path,
    check_stopped: &mut impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    // Steps through the read transaction of `source`: no commit of the server makes it begin again.
    let backup = Backup::new(source, copy)?;
    let mut waited = Duration::ZERO;
    loop {
        check_stopped()?;
        match backup.step(PAGES_PER_STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More => file.sync_data().map_err(|e| files::cannot_write(to, &e))?,
            _ if waited < SETTLE_TIMEOUT => {
                pause();
                waited += POLL_INTERVAL;
            }
            _ => {
                let why = format!("{} is locked by another process", to.display());
                return Err(Error::Unavailable(why));
            }
        }
    }
}

/// A connection to a copy that nobody else knows of.
fn connect(path: &Path) -> Result<Connection, Error> {
    let mode = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, mode)?;
    // Keeps the index of a write-ahead log in memory, too.
    connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update(None, "cache_size", -2 * 1024)?;
    Ok(connection)
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process cannot wake this one when it has settled"
)]
fn pause() {
    thread::sleep(POLL_INTERVAL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_cannot_be_written_is_no_reason_for_another_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let access = Connection::open(dir.path().join(SqliteAccess::FILE)).unwrap();
        access.execute_batch("CREATE TABLE x (y)").unwrap();
        let snapshot = Snapshot::take(dir.path(), || Ok(())).unwrap();
        let copy = dir.path().join("missing");
        let error = snapshot.write_to(&copy, || Ok(())).unwrap_err().to_string();
        let path = copy.join(SqliteAccess::FILE);
        let start = format!("cannot write {}: ", path.display());
        assert!(error.contains(&start), "{error}");
        assert!(!error.contains("--data"), "{error}");
    }
}
