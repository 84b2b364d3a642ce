//! A few connections for reading, opened when they are first needed.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task;

use super::open;
use crate::store::Error;

/// How many reads run at once.
const CONNECTIONS: usize = 4;

/// The connections that read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Connections to the database at `path`.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Runs `ask` on a blocking thread, in one read transaction: all it sees is of one moment.
    pub(super) async fn read<T, F>(self: &Arc<Self>, ask: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        // Kept until the work is done, even if the caller has gone.
        let permit = permit.map_err(|_| stopped())?;
        let readers = Arc::clone(self);
        blocking(move || {
            let _permit = permit;
            let connection = readers.take()?;
            let answer = connection
                .unchecked_transaction()
                .map_err(Error::from)
                .and_then(|transaction| ask(&transaction));
            // One that could not end its transaction is of no more use.
            if connection.is_autocommit() {
                readers.idle.lock().push(connection);
            }
            answer
        })
        .await
    }

    /// Closes those that nobody uses.
    pub(super) fn close(&self) {
        self.idle.lock().clear();
    }

    fn take(&self) -> Result<Connection, Error> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| open::reader(&self.path), Ok)
    }
}

/// Runs `work` where it may block.
pub(super) async fn blocking<T, F>(work: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Error> + Send + 'static,
{
    task::spawn_blocking(work).await.map_err(|_| stopped())?
}

/// The error when the thread that should have answered is gone.
fn stopped() -> Error {
    Error::Unavailable("the store has stopped".to_owned())
}
