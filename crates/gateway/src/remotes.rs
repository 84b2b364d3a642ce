//! Agents elsewhere that stand behind ours, and what is known of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::openclaw::{Gateway, OpenClawAgent, Transport};
use switchboard_agents::profile;
use switchboard_agents::remote::RemoteAgent;
use switchboard_server::agent;
use switchboard_server::engine::Profile;
use switchboard_types::model::AgentCard;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{Agent, Backend, Config, OpenClaw};
use crate::trust;

/// How long a start waits for the cards of agents elsewhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// An agent elsewhere.
#[derive(Debug, Clone)]
pub(crate) enum Elsewhere {
    /// One that speaks A2A.
    A2a(Arc<RemoteAgent>),
    /// One of an OpenClaw gateway.
    OpenClaw(Arc<OpenClawAgent>),
}

impl Elsewhere {
    /// What it says of itself, as soon as that is known, and whenever it changes.
    pub(crate) fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        match self {
            Self::A2a(agent) => agent.card(),
            Self::OpenClaw(agent) => agent.card(),
        }
    }

    /// Reads that now and then, until `stop`.
    pub(crate) async fn keep_card(&self, name: &str, stop: &CancellationToken) {
        match self {
            Self::A2a(agent) => agent.keep_card(name, stop).await,
            Self::OpenClaw(agent) => agent.keep_card(name, stop).await,
        }
    }
}

/// Agents elsewhere, and what they share.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    /// By the names of ours.
    agents: HashMap<Arc<str>, Elsewhere>,
    /// OpenClaw gateways, each with one connection.
    pub(crate) gateways: Vec<Arc<Gateway>>,
}

impl Remotes {
    /// The one behind ours of that name, if there is one.
    pub(crate) fn get(&self, name: &str) -> Option<&Elsewhere> {
        self.agents.get(name)
    }

    /// The one that must be behind ours of that name.
    pub(crate) fn behind(&self, name: &str) -> Arc<dyn agent::Agent> {
        match &self.agents[name] {
            Elsewhere::A2a(agent) => Arc::clone(agent) as _,
            Elsewhere::OpenClaw(agent) => Arc::clone(agent) as _,
        }
    }
}

/// A gateway that some agent is behind.
struct Known<'a> {
    claw: &'a OpenClaw,
    gateway: Arc<Gateway>,
    needs_socket: bool,
}

/// All of them. Nothing is sent yet.
pub(crate) fn remotes(config: &Config) -> anyhow::Result<Remotes> {
    let mut remotes = Remotes::default();
    let mut known: Vec<Known<'_>> = Vec::new();
    let mut device = None;
    for agent in &config.agents {
        let elsewhere = match &agent.backend {
            Backend::Script(_) => continue,
            Backend::Remote(settings, identity) => {
                let remote = RemoteAgent::new((**settings).clone(), identity.outbound()?);
                Elsewhere::A2a(Arc::new(remote))
            }
            Backend::OpenClaw(claw) => {
                let same = known.iter().position(|known| is_same(known.claw, claw));
                let at = match same {
                    Some(at) => at,
                    None => {
                        let device = match &device {
                            Some(device) => Arc::clone(device),
                            None => Arc::clone(device.insert(Arc::new(trust::device(config)?))),
                        };
                        known.push(Known {
                            claw,
                            gateway: Arc::new(Gateway::new(claw.place.clone(), device)?),
                            needs_socket: false,
                        });
                        known.len() - 1
                    }
                };
                known[at].needs_socket |= claw.settings.transport != Transport::Http;
                let gateway = Arc::clone(&known[at].gateway);
                let agent = OpenClawAgent::new(claw.settings.clone(), gateway);
                Elsewhere::OpenClaw(Arc::new(agent))
            }
        };
        remotes.agents.insert(Arc::clone(&agent.name), elsewhere);
    }
    // Who is asked over HTTP only needs no connection.
    let kept = known.into_iter().filter(|known| known.needs_socket);
    remotes.gateways = kept.map(|known| known.gateway).collect();
    Ok(remotes)
}

/// Whether two agents share a gateway.
fn is_same(one: &OpenClaw, other: &OpenClaw) -> bool {
    let (one, other) = (&one.place, &other.place);
    one.url == other.url && one.token.reveal() == other.token.reveal() && one.roots == other.roots
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
