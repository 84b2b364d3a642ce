//! A server with a data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builder::ServerBuilder;
use super::{ServeError, Storage};
use crate::egress::load_or_create_key;
use crate::log::Retention;
use crate::store::sqlite::{SqliteOptions, SqliteStore};

impl ServerBuilder {
    /// Keeps tasks in an SQLite database in this directory, which is created if it does not exist. Tasks survive the
    /// process, and a loss of power. Only one process can use the directory at a time.
    pub fn data(mut self, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        self.open_storage = Box::new(move || open(&dir));
        self
    }
}

fn open(dir: &Path) -> Result<Storage, ServeError> {
    // The store creates the directory, and locks it.
    let store = Arc::new(SqliteStore::open(&SqliteOptions::new(dir))?);
    Ok(Storage {
        store,
        key: load_or_create_key(dir).map_err(ServeError::Key)?,
        retention: Retention::default(),
    })
}
