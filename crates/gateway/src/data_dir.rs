//! The data directory: opening the stores in it for a server, and reading them beside one. [`crate::app`] and the commands
//! call it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use switchboard_server::store::access::{AccessStore, MemoryAccess, SqliteAccess};
use switchboard_server::store::sqlite::SqliteStore;
use switchboard_server::store::{Error as StoreError, MemoryStore, Store};
use switchboard_server::task::{DeadLetter, Webhook};

use crate::config::{self, Config};

/// How many webhooks are read at once, and how many dead letters at most.
const PAGE: usize = 256;
const DEAD_LETTERS: usize = 10_000;

pub(crate) fn open_store(store: &config::Store) -> anyhow::Result<Arc<dyn Store>> {
    match store {
        config::Store::Memory => Ok(Arc::new(MemoryStore::default())),
        config::Store::Sqlite(options) => {
            let store = SqliteStore::open(options);
            let store = store.map_err(|error| unusable_dir(&options.dir, "store", error))?;
            Ok(Arc::new(store))
        }
    }
}

/// One sentence about a data directory that cannot be used. The store's own names the place, if that is to blame.
fn unusable_dir(dir: &Path, what: &str, error: StoreError) -> anyhow::Error {
    let place = dir.display().to_string();
    match error {
        StoreError::Unavailable(text) if text.contains(&place) => anyhow::anyhow!(text),
        StoreError::Unavailable(text) => {
            anyhow::anyhow!("cannot open the {what} in {place}: {text}")
        }
        StoreError::Damaged(text) => anyhow::anyhow!(
            "cannot open the {what} in {place}: {text}; see `switchboard store check --data {place}`, restore a backup, \
             or choose another data directory with --data"
        ),
        error @ (StoreError::Exhausted(_) | StoreError::Refused(_)) => {
            anyhow::Error::new(error).context(format!("cannot open the {what} in {place}"))
        }
    }
}

pub(crate) fn open_access(store: &config::Store) -> anyhow::Result<Arc<dyn AccessStore>> {
    match store {
        config::Store::Memory => Ok(Arc::new(MemoryAccess::new())),
        config::Store::Sqlite(options) => {
            let store = SqliteAccess::open(&options.dir);
            let store = store.map_err(|error| unusable_dir(&options.dir, "keys", error))?;
            Ok(Arc::new(store))
        }
    }
}

/// Where `switchboard key create` keeps what it makes, for a server that runs or will.
///
/// # Errors
///
/// If nothing is kept, or it cannot be opened.
pub fn access_store_on_disk(config: &Config) -> anyhow::Result<Arc<dyn AccessStore>> {
    if matches!(config.store, config::Store::Memory) {
        anyhow::bail!("the store is in memory only: there are no keys to read");
    }
    open_access(&config.store)
}

/// The same where something was kept before: what is only looked at, or taken back. A mistyped directory must not be
/// made, and then be found to be empty.
///
/// # Errors
///
/// As there, and if nothing was kept.
pub fn existing_access_store(config: &Config) -> anyhow::Result<Arc<dyn AccessStore>> {
    if let config::Store::Sqlite(options) = &config.store {
        must_hold(&options.dir, SqliteAccess::is_in(&options.dir))?;
    }
    access_store_on_disk(config)
}

/// The same, only to be read: nobody who writes has to wait.
///
/// # Errors
///
/// As there.
pub fn access_store_to_read(config: &Config) -> anyhow::Result<SqliteAccess> {
    let dir = dir_on_disk(config)?;
    must_hold(dir, SqliteAccess::is_in(dir))?;
    SqliteAccess::open_to_read(dir)
        .with_context(|| format!("cannot read the keys in {}", dir.display()))
}

/// The data directory, if there is one.
///
/// # Errors
///
/// If nothing is kept.
pub(crate) fn dir_on_disk(config: &Config) -> anyhow::Result<&Path> {
    match &config.store {
        config::Store::Memory => {
            anyhow::bail!("the store is in memory only: there is nothing to read")
        }
        config::Store::Sqlite(options) => Ok(&options.dir),
    }
}

/// Says what to do if a data directory does not hold what is looked for.
pub(crate) fn must_hold(dir: &Path, holds: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        holds,
        "no data in {}: name the server's configuration with -c, or its data directory with --data",
        dir.display()
    );
    Ok(())
}

/// What `switchboard deliveries` shows: webhooks with events left to deliver, and deliveries given up.
///
/// # Errors
///
/// If there is no store, or it cannot be read.
pub async fn deliveries(config: &Config) -> anyhow::Result<(Vec<Webhook>, Vec<DeadLetter>)> {
    let store = store_to_read(config)?;
    let mut late = Vec::new();
    let mut after = None;
    loop {
        let page = store.undelivered(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some((last.task.clone(), last.id.clone()));
        late.extend(page);
    }
    late.retain(|webhook| webhook.delivery.attempts > 0);
    Ok((late, store.dead_letters(DEAD_LETTERS).await?))
}

/// The store of a server, running or not, to look at.
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub(crate) fn store_to_read(config: &Config) -> anyhow::Result<SqliteStore> {
    let dir = dir_on_disk(config)?;
    must_hold(dir, SqliteStore::is_in(dir))?;
    SqliteStore::open_to_read(dir)
        .with_context(|| format!("cannot read the store in {}", dir.display()))
}
