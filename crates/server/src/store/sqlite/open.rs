//! Opening: the directory, its lock, and the connections to the database in it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{Durability, SqliteOptions, schema};
use crate::store::Error;
use crate::store::files::{make_dir, private_file, require_restored, unusable};

/// The database in the data directory.
pub(in crate::store) const DATABASE: &str = "switchboard.db";

/// Whether a directory has a database.
pub(super) fn is_in(dir: &Path) -> bool {
    dir.join(DATABASE).exists()
}
/// Whoever holds an exclusive lock on this file may write. Commands that read after a crash share a lock on it.
pub(in crate::store) const LOCK: &str = "switchboard.lock";
/// How often a directory that is in use is tried again.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The page size of a new database. Rows are about a kilobyte and come in order, so that large pages make few
/// writes of them.
const PAGE_SIZE: u32 = 16 * 1024;
/// Checkpoints are made beside the writer. When its transactions are so many and small that none of them ever
/// catches up, the writer makes one itself as soon as the write-ahead log has so many pages.
const CHECKPOINT_PAGES: u32 = 1024;
/// More than there are statements: each is prepared once per connection.
const STATEMENTS: usize = 128;
/// How long a connection waits for another one of this process, such as a checkpoint.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an open data directory consists of.
#[derive(Debug)]
pub(super) struct Opened {
    /// The database file.
    pub(super) path: PathBuf,
    /// The connection that writes.
    pub(super) connection: Connection,
    /// Where it is, and the journal with it.
    pub(super) dir: PathBuf,
    /// What a commit survives.
    pub(super) durability: Durability,
    /// To be held as long as that connection.
    pub(super) lock: File,
}

/// Opens the data directory, making it if it is new.
pub(super) fn open(options: &SqliteOptions) -> Result<Opened, Error> {
    let dir = &options.dir;
    make_dir(dir).map_err(|e| unusable(dir, &e))?;
    let lock = lock(dir, options.lock_timeout)?;
    // Under the lock, which a restore holds.
    require_restored(dir)?;
    let path = dir.join(DATABASE);
    private_file(&path).map_err(|e| unusable(&path, &e))?;
    let mut writer = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Only a database without tables takes another page size.
    writer.pragma_update(None, "page_size", PAGE_SIZE)?;
    write_ahead(&writer, dir)?;
    // Commits are made durable by the journal.
    writer.pragma_update(None, "synchronous", "normal")?;
    writer.pragma_update(None, "cache_size", -16 * 1024)?;
    writer.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // More than the log needs between checkpoints, so that its file is overwritten and not grown anew.
    writer.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    schema::migrate(&mut writer)?;
    Ok(Opened {
        path,
        connection: writer,
        dir: dir.clone(),
        durability: options.durability,
        lock,
    })
}

/// The database of a data directory that was made before.
pub(super) fn existing(dir: &Path) -> Result<PathBuf, Error> {
    require_restored(dir)?;
    let path = dir.join(DATABASE);
    fs::metadata(&path).map_err(|e| unusable(&path, &e))?;
    Ok(path)
}

/// Turns on write-ahead mode, without which readers would wait for the writer.
fn write_ahead(connection: &Connection, dir: &Path) -> Result<(), Error> {
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(Error::Unavailable(format!(
        "{} cannot hold a write-ahead log: choose a data directory on a local disk",
        dir.display()
    )))
}

/// One more connection, for copying the write-ahead log into the database.
pub(super) fn checkpointer(path: &Path) -> Result<Connection, Error> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "normal")?;
    Ok(connection)
}

/// The write-ahead log of a database.
pub(super) fn write_ahead_log(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// One more connection, for reading.
pub(super) fn reader(path: &Path) -> Result<Connection, Error> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "cache_size", -2 * 1024)?;
    Ok(connection)
}

/// A connection with what all of ours have in common.
fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, Error> {
    // Each connection is used by one thread at a time.
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    Ok(connection)
}

/// A connection on which commits of the journal can be read without being stored: it writes them to a transaction that
/// never ends.
pub(super) fn replayer(path: &Path) -> Result<Connection, Error> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Makes sure that no other process, and no other store of this one, has the directory open. Waits for up to `timeout`:
/// the process before this one may be about to end, and a command may be reading.
#[expect(
    clippy::disallowed_methods,
    reason = "the system has no way to wait for a lock for some time only"
)]
pub(in crate::store) fn lock(dir: &Path, timeout: Duration) -> Result<File, Error> {
    let path = dir.join(LOCK);
    let file = private_file(&path).map_err(|e| unusable(&path, &e))?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if waited < timeout => {
                thread::sleep(LOCK_POLL_INTERVAL);
                waited += LOCK_POLL_INTERVAL;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Unavailable(format!(
                    "{} is in use by another switchboard: stop that one, or choose another data directory",
                    dir.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
        }
    }
}

/// A lock that makes a server that starts wait, and is shared with other readers. A copy of a data directory may have no
/// file for it: nobody else uses that one.
pub(in crate::store) struct ReadLock(#[expect(dead_code, reason = "held, not used")] Option<File>);

/// Locks the directory of a process that is gone. `None` if a server has it open.
pub(in crate::store) fn lock_to_read(dir: &Path) -> Result<Option<ReadLock>, Error> {
    let path = dir.join(LOCK);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(ReadLock(None))),
        Err(error) => return Err(unusable(&path, &error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(ReadLock(Some(file)))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(unusable(&path, &error)),
    }
}
