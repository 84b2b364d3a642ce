//! The line to an assistant: which one it is, and its card, kept fresh.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use parking_lot::RwLock;
use switchboard_server::agent::AgentError;
use switchboard_server::backend::{Drift, Health};
use switchboard_server::clock;
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::decode_card;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::api::{Assistant, Fault, Server};
use super::{Invalid, Settings};
use crate::fetch::{self, place};
use crate::identity::Outbound;
use crate::refresh::refresh;
use crate::remote::card::drift;

/// How long an identity may take to get.
pub(super) const IDENTITY: Duration = Duration::from_secs(20);
/// How long it may take to find out whether the server answers.
const HEALTH: Duration = Duration::from_secs(5);
/// The first release that takes files.
const TAKES_FILES: (u32, u32) = (0, 12);

/// Why it is not known which assistant it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unresolved {
    #[error("{0}")]
    Fault(#[from] Fault),
    /// None, or more than one. The text is for our log.
    #[error("{0}")]
    Which(String),
}

impl Unresolved {
    /// What callers are told.
    pub(super) fn told(&self) -> AgentError {
        match self {
            Self::Fault(fault) => fault.told(),
            Self::Which(_) => AgentError::new(
                "the LangGraph server has no such assistant, or more than one: check the agent's `assistant`",
            ),
        }
    }
}

/// The line.
pub(super) struct Line {
    pub(super) settings: Settings,
    /// Where the server is, as callers may see it.
    pub(super) address: String,
    pub(super) identity: Outbound,
    pub(super) server: Server,
    id: RwLock<Option<Arc<str>>>,
    card: watch::Sender<Option<Arc<AgentCard>>>,
    drift: RwLock<Option<Arc<Drift>>>,
}

impl Line {
    pub(super) fn new(settings: Settings, identity: Outbound) -> Result<Self, Invalid> {
        let server = server(&settings.base)?;
        let id = uuid::Uuid::parse_str(&settings.assistant).ok();
        let id = id.map(|id| Arc::from(id.hyphenated().to_string()));
        Ok(Self {
            address: place(settings.base.as_str()),
            settings,
            identity,
            server,
            id: RwLock::new(id),
            card: watch::Sender::new(None),
            drift: RwLock::default(),
        })
    }

    pub(super) fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        self.card.subscribe()
    }

    /// The id of the assistant; looked up if it is not known yet. One is kept at most, and none that only some can see.
    pub(super) async fn id(&self, shown: &HeaderMap) -> Result<Arc<str>, Unresolved> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let name = &self.settings.assistant;
        let of_graph = self.server.assistants(shown, Some(name)).await?;
        let found = match of_graph.is_empty() {
            false => one(of_graph, name)?,
            true => {
                let mut named = self.server.assistants(shown, None).await?;
                named.retain(|assistant| assistant.name == *name);
                one(named, name)?
            }
        };
        // What a caller sees there may be its own, and is no one else's.
        let is_for_all = found.is_default() || self.identity.wants().is_empty();
        let id: Arc<str> = Arc::from(found.id);
        if is_for_all {
            let mut known = self.id.write();
            *known = Some(Arc::clone(&id));
        }
        Ok(id)
    }

    fn known(&self) -> Option<Arc<str>> {
        self.id.read().clone()
    }

    /// The assistant is gone: whoever needs it next looks for it again, if it was named.
    pub(super) fn forget(&self) {
        if uuid::Uuid::parse_str(&self.settings.assistant).is_err() {
            let mut known = self.id.write();
            known.take();
        }
    }

    /// What had changed when that was noticed last.
    pub(super) fn drift(&self) -> Option<Arc<Drift>> {
        self.drift.read().clone()
    }

    /// Whether the server answers.
    pub(super) async fn health(&self) -> Health {
        let asked = async {
            let shown = own_headers(&self.identity).await;
            let shown =
                shown.map_err(|_| "no credentials configured for the upstream".to_owned())?;
            // Where it is somebody only with a caller, nobody can be shown.
            let only_with_caller = shown.is_empty() && !self.identity.is_nothing();
            match self.server.is_up(&shown).await {
                Ok(()) => Ok("answers"),
                Err(Fault::Unknown) if only_with_caller => {
                    Ok("answers, and asks callers who they are")
                }
                Err(fault) => Err(fault.to_string()),
            }
        };
        match timeout(HEALTH, asked).await {
            Ok(Ok(text)) => Health::up(text),
            Ok(Err(why)) => Health::down(why),
            Err(_) => Health::down("does not answer in time"),
        }
    }

    /// Looks at the assistant now and then, until `stop`.
    pub(super) async fn keep(&self, agent: &str, stop: &CancellationToken) {
        let read = || self.learn(agent);
        let report = |error: &String| {
            tracing::warn!(
                agent,
                error,
                "could not read the assistant card, will retry"
            );
        };
        refresh(self.settings.refresh, stop, read, report).await;
    }

    async fn learn(&self, agent: &str) -> Result<(), String> {
        let shown = own_headers(&self.identity).await?;
        let id = self.id(&shown).await.map_err(|error| error.to_string())?;
        let assistant = self.server.assistant(&shown, &id).await;
        let assistant = assistant.map_err(|fault| {
            self.forget();
            fault.to_string()
        })?;
        // Some graphs of old releases have none.
        let card = self.server.card(&shown, &id).await.ok();
        if card.as_ref().is_some_and(takes_data_only) {
            tracing::warn!(
                agent,
                "graph has no `messages` in its state, it accepts data parts only"
            );
        }
        let release = self.server.release(&shown).await.unwrap_or_default();
        let card = card.and_then(|card| decode_card(card.to_string().as_bytes()).ok());
        let card = described(card, &assistant, takes_files(&release));
        let before = self.card.borrow().clone();
        if before.as_deref() == Some(&card) {
            return Ok(());
        }
        let changes = before.map(|before| drift(&before, &card));
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            let drift = Drift {
                noticed: clock::now(),
                changes,
            };
            tracing::warn!(agent, changes = %drift, "LangGraph assistant changed");
            *self.drift.write() = Some(Arc::new(drift));
        }
        self.card.send_replace(Some(Arc::new(card)));
        Ok(())
    }
}

/// What an agent shows where nobody has asked it. It may be somebody only with a caller: then nothing.
async fn own_headers(identity: &Outbound) -> Result<HeaderMap, String> {
    let shown = identity.own_headers(Instant::now() + IDENTITY).await;
    let shown = shown.map_err(|error| error.to_string())?;
    Ok(shown.unwrap_or_default())
}

fn server(base: &Url) -> Result<Server, Invalid> {
    if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
        return Err(Invalid::Base);
    }
    let http = fetch::client().map_err(|error| Invalid::Client(error.to_string()))?;
    Ok(Server::new(http, base.clone()))
}

/// All assistants of a server.
pub(super) async fn assistants(base: &Url, identity: &Outbound) -> Result<Vec<Assistant>, String> {
    let server = server(base).map_err(|error| error.to_string())?;
    let shown = own_headers(identity).await?;
    let found = server.assistants(&shown, None).await;
    found.map_err(|fault| fault.to_string())
}

/// The one that is meant by a name: the server's own for the graph, or the only one.
fn one(found: Vec<Assistant>, name: &str) -> Result<Assistant, Unresolved> {
    let only = found.len() == 1;
    let ids: Vec<String> = found.iter().map(|found| found.id.clone()).collect();
    let mut found = found.into_iter();
    let chosen = match only {
        true => found.next(),
        false => found.find(Assistant::is_default),
    };
    chosen.ok_or_else(|| {
        Unresolved::Which(match ids.is_empty() {
            true => format!("no graph or assistant named {name:?}"),
            false => format!(
                "several assistants are called {name:?}, name one by its id: {}",
                ids.join(", ")
            ),
        })
    })
}

/// Whether the card of an assistant says that it cannot be talked to: its graph has no `messages`.
fn takes_data_only(card: &serde_json::Value) -> bool {
    let skills = card["skills"].as_array();
    let mut schemas = skills
        .into_iter()
        .flatten()
        .map(|skill| &skill["metadata"]["inputSchema"]);
    schemas.any(|schema| schema["supportsA2A"] == false)
}

fn takes_files(release: &str) -> bool {
    let mut numbers = release.split('.').map(|n| n.parse().unwrap_or(0));
    let release = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    release >= TAKES_FILES
}

/// The card of an assistant: the one the server makes, with what is known better.
fn described(card: Option<AgentCard>, assistant: &Assistant, takes_files: bool) -> AgentCard {
    let modes = || vec!["application/json".to_owned(), "text/plain".to_owned()];
    let mut card = card.unwrap_or_else(|| AgentCard {
        version: String::new(),
        capabilities: switchboard_types::model::Capabilities::default(),
        default_input_modes: modes(),
        default_output_modes: modes(),
        ..AgentCard::new("", "")
    });
    let name = Some(&assistant.name).filter(|name| !name.is_empty());
    card.name.clone_from(name.unwrap_or(&assistant.graph));
    if let Some(said) = assistant
        .description
        .as_ref()
        .filter(|said| !said.is_empty())
    {
        card.description.clone_from(said);
    } else if card.description.is_empty() {
        card.description = format!("{} assistant", card.name);
    }
    if let Some(version) = assistant.version {
        card.version = version.to_string();
    }
    if takes_files {
        card.default_input_modes.push("*/*".to_owned());
    }
    card
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assistant(id: &str, by: &str) -> Assistant {
        let json = json!({"assistant_id": id, "graph_id": "g", "name": "n", "metadata": {"created_by": by}});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_graph_is_talked_to_by_the_assistant_made_for_it() {
        let chosen = |found: Vec<Assistant>| one(found, "g").map(|found| found.id);
        let both = vec![assistant("a", "user"), assistant("b", "system")];
        assert_eq!(chosen(both).unwrap(), "b");
        assert_eq!(chosen(vec![assistant("a", "user")]).unwrap(), "a");
        let both = vec![assistant("a", "user"), assistant("b", "user")];
        assert!(chosen(both).unwrap_err().to_string().ends_with("a, b"));
        assert!(chosen(Vec::new()).is_err());
    }

    #[test]
    fn a_card_says_what_the_assistant_is() {
        let mut poet = assistant("a", "user");
        poet.name = "Poet".to_owned();
        poet.description = Some("Writes".to_owned());
        poet.version = Some(3);
        let card = described(None, &poet, true);
        assert_eq!(
            (&*card.name, &*card.description, &*card.version),
            ("Poet", "Writes", "3")
        );
        assert!(card.default_input_modes.contains(&"*/*".to_owned()));
        let card = described(None, &assistant("a", "user"), false);
        assert_eq!(card.description, "n assistant");
        assert_eq!(card.default_input_modes, ["application/json", "text/plain"]);
        let skill = |supports: bool| json!({"skills": [{"metadata": {"inputSchema": {"supportsA2A": supports}}}]});
        assert!(
            takes_data_only(&skill(false)) && !takes_data_only(&skill(true)),
            "S0-057"
        );
        assert!(!takes_data_only(&json!({})));
        assert!(takes_files("0.16.7") && takes_files("1.0.0"));
        assert!(!takes_files("0.6.39") && !takes_files(""));
    }
}
