//! What was found, kept in the data directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_agents::langgraph::Assistant;

use super::name::Named;
use crate::config::{self, Config, Store};

/// Where it is kept what was found; nowhere, if nothing is.
fn place(config: &Config, template: &config::Agent) -> Option<PathBuf> {
    match &config.store {
        Store::Memory => None,
        Store::Sqlite(options) => Some(options.dir.join(format!("found-{}.json", template.name))),
    }
}

/// What was found before the start.
pub(super) fn kept(config: &Config, template: &config::Agent) -> Named {
    let text = place(config, template).and_then(|file| std::fs::read(file).ok());
    let read = text.map(|text| serde_json::from_slice::<BTreeMap<String, Assistant>>(&text));
    match read {
        Some(Ok(named)) => {
            let named = named
                .into_iter()
                .map(|(name, found)| (Arc::from(name), found));
            named.collect()
        }
        Some(Err(error)) => {
            tracing::warn!(%error, "what was found before cannot be read");
            Named::new()
        }
        None => Named::new(),
    }
}

/// Keeps what was found.
pub(super) fn keep(config: &Config, template: &config::Agent, named: &Named) {
    let Some(file) = place(config, template) else {
        return;
    };
    let plain: BTreeMap<&str, &Assistant> = named.iter().map(|(n, a)| (&**n, a)).collect();
    let written = serde_json::to_vec(&plain)
        .map_err(std::io::Error::from)
        .and_then(|text| {
            if let Some(dir) = file.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let half = file.with_extension("json.new");
            std::fs::write(&half, text)?;
            std::fs::rename(half, &file)
        });
    if let Err(error) = written {
        tracing::warn!(%error, "what was found cannot be kept");
    }
}
