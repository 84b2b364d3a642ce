//! Agents elsewhere that stand behind ours, and what their cards say.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::langgraph::LangGraphAgent;
use switchboard_agents::openclaw::OpenClawAgent;
use switchboard_agents::profile;
use switchboard_agents::remote::RemoteAgent;
use switchboard_server::agent;
use switchboard_server::card::Profile;
use switchboard_types::model::AgentCard;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::config::Agent;

/// How long a start, and a reload, waits for the cards of agents elsewhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// An agent elsewhere that says what it is.
#[derive(Debug, Clone)]
pub(crate) enum Far {
    /// One that speaks A2A.
    A2a(Arc<RemoteAgent>),
    /// One of an OpenClaw gateway.
    OpenClaw(Arc<OpenClawAgent>),
    /// An assistant of a LangGraph server.
    LangGraph(Arc<LangGraphAgent>),
}

impl Far {
    /// What takes turns.
    pub(crate) fn agent(&self) -> Arc<dyn agent::Agent> {
        match self {
            Self::A2a(agent) => Arc::clone(agent) as _,
            Self::OpenClaw(agent) => Arc::clone(agent) as _,
            Self::LangGraph(agent) => Arc::clone(agent) as _,
        }
    }

    /// What it says of itself, as soon as that is known, and whenever it changes.
    pub(crate) fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        match self {
            Self::A2a(agent) => agent.card(),
            Self::OpenClaw(agent) => agent.card(),
            Self::LangGraph(agent) => agent.card(),
        }
    }

    /// Reads that now and then, until `stop`. All that is logged meanwhile names the agent and the URL.
    pub(crate) async fn keep_card(&self, name: &str, stop: &CancellationToken) {
        let url = self.agent().upstream();
        let span =
            tracing::error_span!(target: "switchboard::card", "card_refresh", agent = name, url);
        let keeping = async {
            match self {
                Self::A2a(agent) => agent.keep_card(name, stop).await,
                Self::OpenClaw(agent) => agent.keep_card(name, stop).await,
                Self::LangGraph(agent) => agent.keep_card(name, stop).await,
            }
        };
        keeping.instrument(span).await;
    }
}

/// What an agent's cards say once `card` is known.
pub(crate) fn filled(agent: &Agent, card: &AgentCard) -> Profile {
    let mut profile = agent.profile.clone();
    let own: BTreeSet<String> = ids(&profile.card).collect();
    profile::fill(&mut profile.card, &agent.gaps, card);
    if let Some(extended) = &mut profile.extended {
        // What it has beyond the first card stays.
        let mut more = std::mem::take(&mut extended.skills);
        more.retain(|skill| !own.contains(&skill.id));
        extended.skills.clone_from(&agent.profile.card.skills);
        profile::fill(extended, &agent.gaps, card);
        let known: BTreeSet<String> = ids(extended).collect();
        more.retain(|skill| !known.contains(&skill.id));
        extended.skills.extend(more);
    }
    profile
}

fn ids(card: &AgentCard) -> impl Iterator<Item = String> {
    card.skills.iter().map(|skill| skill.id.clone())
}
