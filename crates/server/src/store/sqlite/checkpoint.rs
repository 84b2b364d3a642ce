//! Makes durable what is settled, beside the writer: the write-ahead log is synced and copied into the database.

use std::fs::File;
use std::path::Path;

use super::aside::Aside;
use super::{Durability, open};
use crate::store::{Error, files};

/// Starts the thread that does it whenever it is asked to.
pub(super) fn start(database: &Path, durability: Durability) -> Result<Aside<()>, Error> {
    let connection = open::checkpointer(database)?;
    let log = open::write_ahead_log(database);
    let checkpoint = move |()| {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let (is_busy, pages, copied): (bool, i64, i64) =
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        if (is_busy || copied < pages) && durability == Durability::PowerLoss {
            // A reader was in the way, or another connection makes a checkpoint, perhaps of less than this one would:
            // what is not copied may not have been synced either.
            let synced = File::open(&log).and_then(|file| file.sync_data());
            synced.map_err(|error| files::unusable(&log, &error))?;
        }
        Ok(())
    };
    Aside::start("checkpoint", checkpoint).map_err(|error| files::unusable(database, &error))
}
