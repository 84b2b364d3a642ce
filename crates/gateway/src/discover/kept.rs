//! What was found, kept in the data directory.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_agents::langgraph::Assistant;
use switchboard_server::files;

use super::name::Named;
use crate::config::{self, Config, Store};

/// One that was found, as it is kept: those that are there, and before them those that are gone, in that order.
#[derive(Serialize, Deserialize)]
struct Found {
    name: String,
    assistant: Assistant,
    #[serde(default)]
    gone: bool,
}

/// Where it is kept what was found; nowhere, if nothing is.
fn place(config: &Config, template: &config::Agent) -> Option<PathBuf> {
    match &config.store {
        Store::Memory => None,
        Store::Sqlite(options) => Some(options.dir.join(format!("found-{}.json", template.name))),
    }
}

/// What was found before the start: what was there, and what was gone.
pub(super) fn kept(
    config: &Config,
    template: &config::Agent,
) -> (Named, Vec<(Arc<str>, Assistant)>) {
    let text = place(config, template).and_then(|file| std::fs::read(file).ok());
    let read = text.map(|text| serde_json::from_slice::<Vec<Found>>(&text));
    let found = match read {
        Some(Ok(found)) => found,
        Some(Err(error)) => {
            tracing::warn!(%error, "could not read previously discovered agents");
            Vec::new()
        }
        None => Vec::new(),
    };
    let (gone, there): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.gone);
    let pair = |found: Found| (Arc::from(found.name), found.assistant);
    (
        there.into_iter().map(pair).collect(),
        gone.into_iter().map(pair).collect(),
    )
}

/// Keeps what was found.
///
/// # Errors
///
/// If the file cannot be written.
pub(super) fn keep(
    config: &Config,
    template: &config::Agent,
    named: &Named,
    gone: &[(Arc<str>, Assistant)],
) -> io::Result<()> {
    let Some(file) = place(config, template) else {
        return Ok(());
    };
    let found = |(name, assistant): (&Arc<str>, &Assistant), gone| Found {
        name: name.to_string(),
        assistant: assistant.clone(),
        gone,
    };
    let gone = gone.iter().map(|(name, one)| found((name, one), true));
    let there = named.iter().map(|one| found(one, false));
    let all: Vec<Found> = gone.chain(there).collect();
    let text = serde_json::to_string(&all)?;
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    files::replace(&file, &text)
}
