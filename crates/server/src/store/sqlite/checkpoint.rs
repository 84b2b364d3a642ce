//! Makes durable what is settled, beside the writer: the write-ahead log is synced and copied into the database.

use std::fs::File;
use std::path::Path;

use super::aside::Aside;
use super::{Durability, open};
use crate::store::Error;

/// Starts the thread that does it whenever it is asked to.
pub(super) fn start(database: &Path, durability: Durability) -> Result<Aside<()>, Error> {
    let connection = open::checkpointer(database)?;
    let log = open::write_ahead_log(database);
    let checkpoint = move |()| {
        if durability == Durability::PowerLoss {
            // A checkpoint does not sync what a reader keeps it from copying.
            let synced = File::open(&log).and_then(|file| file.sync_data());
            synced.map_err(|error| open::unusable(&log, &error))?;
        }
        // How far it comes does not matter: the next one goes on from there.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    };
    Aside::start("checkpoint", checkpoint).map_err(|error| open::unusable(database, &error))
}
