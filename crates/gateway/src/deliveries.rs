//! What `switchboard deliveries` reads.

use anyhow::Context;
use switchboard_server::store::sqlite::SqliteStore;
use switchboard_server::store::{DeadLetter, Store as _, Webhook};

use crate::config::{self, Config};

/// How many webhooks are read at once, and how many dead letters at most.
const PAGE: usize = 256;
const DEAD_LETTERS: usize = 10_000;

/// What `switchboard deliveries` shows: webhooks with events left to deliver, and deliveries given up.
///
/// # Errors
///
/// If there is no store, or it cannot be read.
pub(crate) async fn deliveries(config: &Config) -> anyhow::Result<(Vec<Webhook>, Vec<DeadLetter>)> {
    let config::Store::Sqlite(options) = &config.store else {
        anyhow::bail!("a store in memory ends with its process: there is nothing to read");
    };
    let store = SqliteStore::open_to_read(&options.dir)
        .with_context(|| format!("cannot read the store in {}", options.dir.display()))?;
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
