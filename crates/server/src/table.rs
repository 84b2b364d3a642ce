//! The table of agents: path, tenant or default name one, and its engine answers what its policy allows.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::RwLock;
use switchboard_types::Error;
use switchboard_types::operation::Operation;

use crate::authorize::Authorized;
use crate::backend::{Drift, Health};
use crate::call::{Answering, Call, Handler, Origin, Target};
use crate::card::Profile;
use crate::directory::{Directory, Listing, no_such_tenant};
use crate::engine::Engine;

/// All agents of a server. Agents may call each other through it, so it exists before they do. They can change while
/// it is asked: a call goes on at the agent that it has found.
#[derive(Debug, Default)]
pub struct Table {
    /// Held only to look something up.
    agents: RwLock<Agents>,
}

/// What stands in a table.
#[derive(Debug, Default)]
struct Agents {
    /// Those that can be called. Asked for several times a request.
    known: Known,
    /// Those that could be called before. Their work goes on, and agents that gave it to them can follow and cancel it.
    gone: Known,
    /// The one that is meant if none is named.
    default: Arc<str>,
}

type Known = HashMap<Arc<str>, Authorized, RandomState>;

impl Table {
    /// Puts agents into the table, in place of those that have the same names, and takes others out, all at once.
    pub fn change(&self, new: Vec<Authorized>, gone: &[Arc<str>], default: &Arc<str>) {
        // What is let go takes its time: nobody waits for it.
        let mut before = Vec::with_capacity(2 * new.len());
        let mut agents = self.agents.write();
        for name in gone {
            if let Some(agent) = agents.known.remove(name) {
                before.extend(agents.gone.insert(Arc::clone(name), agent));
            }
        }
        for agent in new {
            let name = Arc::clone(agent.engine().name());
            before.extend(agents.gone.remove(&name));
            before.extend(agents.known.insert(name, agent));
        }
        agents.default = Arc::clone(default);
        drop(agents);
        drop(before);
    }

    /// Nobody can ask any more about what was given to an agent that is gone.
    pub fn forget(&self, gone: &str) {
        let forgotten = self.agents.write().gone.remove(gone);
        drop(forgotten);
    }

    /// An agent's card says something else from now on. Nothing happens if the agent is not there any more, or is behind
    /// another engine by now.
    pub fn renew(&self, engine: &Engine, profile: Profile) {
        let mut agents = self.agents.write();
        if let Some(agent) = agents.known.get_mut(engine.name())
            && agent.engine().is(engine)
        {
            *agent = agent.renewed(profile);
        }
    }

    /// Whether what stands behind an agent can work, looked at now; nothing if there is no such agent.
    pub async fn health(&self, agent: &str) -> Option<Health> {
        let agent = self.known(agent)?;
        Some(agent.engine().agent().health().await)
    }

    /// What had changed behind an agent when that was noticed last, since the start.
    #[must_use]
    pub fn drift(&self, agent: &str) -> Option<Arc<Drift>> {
        self.known(agent)?.engine().agent().drift()
    }

    fn known(&self, agent: &str) -> Option<Authorized> {
        self.agents.read().known.get(agent).cloned()
    }

    /// Who answers a call.
    fn answering(&self, call: &Call) -> Result<Authorized, Error> {
        let agents = self.agents.read();
        let found = agents.target(&call.target).cloned();
        if found.is_err()
            && matches!(call.origin, Origin::Agent(_))
            && !matches!(call.operation, Operation::Send(_) | Operation::Stream(_))
            && let Some(gone) = call.target.agent.as_ref().and_then(|n| agents.gone.get(n))
        {
            return Ok(gone.clone());
        }
        found
    }
}

impl Agents {
    /// The agent that a path and a tenant mean together.
    fn agent(&self, agent: Option<&str>, tenant: Option<&str>) -> Result<&Authorized, Error> {
        let name = match (agent, tenant) {
            (Some(agent), Some(tenant)) if agent != tenant => {
                return Err(Error::invalid_params(
                    "tenant",
                    format!("is {tenant:?}, but the URL is that of {agent:?}"),
                ));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => &self.default,
        };
        let known = self.known.get(name);
        known.ok_or_else(|| no_such_tenant(name))
    }

    fn target(&self, target: &Target) -> Result<&Authorized, Error> {
        let tenant = target.tenant.as_deref().filter(|t| !t.is_empty());
        self.agent(target.agent.as_deref(), tenant)
    }
}

impl Handler for Table {
    fn handle(&self, call: Call) -> Answering {
        match self.answering(&call) {
            Ok(agent) => agent.handle(call),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

impl Directory for Table {
    fn find(&self, name: Option<&str>) -> Option<Arc<Listing>> {
        let agents = self.agents.read();
        agents.agent(name, None).ok().map(Authorized::listing)
    }

    fn resolve(&self, target: &Target) -> Result<Arc<Listing>, Error> {
        self.agents.read().target(target).map(Authorized::listing)
    }

    fn list(&self) -> Vec<Arc<Listing>> {
        let agents = self.agents.read();
        agents.known.values().map(Authorized::listing).collect()
    }
}
