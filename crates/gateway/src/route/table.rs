//! The table of agents: path, tenant or default name one, and its engine answers what its policy allows.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use switchboard_server::auth::Authorized;
use switchboard_server::backend::{Drift, Health};
use switchboard_server::call::{
    Answering, Call, Directory, Handler, Listing, Target, no_such_tenant,
};
use switchboard_server::engine::Profile;
use switchboard_types::Error;

/// All agents of this gateway. Agents may call each other through it, so it exists before they do.
#[derive(Debug, Default)]
pub struct Table {
    agents: OnceLock<Agents>,
}

#[derive(Debug)]
struct Agents {
    /// Asked for several times a request.
    known: HashMap<Arc<str>, Authorized, RandomState>,
    default: Arc<str>,
}

impl Table {
    /// Fills the table; a second time does nothing.
    pub fn fill(&self, known: HashMap<Arc<str>, Authorized>, default: Arc<str>) {
        self.agents.get_or_init(|| Agents {
            known: known.into_iter().collect(),
            default,
        });
    }

    /// An agent's card says something else from now on.
    pub fn renew(&self, agent: &str, profile: Profile) {
        if let Some(agent) = self.known(agent) {
            agent.renew(profile);
        }
    }

    /// Whether what stands behind an agent can work, looked at now; nothing if there is no such agent.
    pub async fn health(&self, agent: &str) -> Option<Health> {
        let agent = Arc::clone(self.known(agent)?.agent());
        Some(agent.health().await)
    }

    /// What had changed behind an agent when that was noticed last, since the start.
    #[must_use]
    pub fn drift(&self, agent: &str) -> Option<Arc<Drift>> {
        self.known(agent)?.agent().drift()
    }

    fn known(&self, agent: &str) -> Option<&Authorized> {
        self.agents.get()?.known.get(agent)
    }

    /// The agent that a path and a tenant mean together.
    fn agent(&self, agent: Option<&str>, tenant: Option<&str>) -> Result<&Authorized, Error> {
        let agents = self.agents.get().ok_or_else(Error::internal)?;
        let name = match (agent, tenant) {
            (Some(agent), Some(tenant)) if agent != tenant => {
                return Err(Error::invalid_params(
                    "tenant",
                    format!("is {tenant:?}, but the address is that of {agent:?}"),
                ));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => &agents.default,
        };
        let known = agents.known.get(name);
        known.ok_or_else(|| no_such_tenant(name))
    }

    fn target(&self, target: &Target) -> Result<&Authorized, Error> {
        let tenant = target.tenant.as_deref().filter(|t| !t.is_empty());
        self.agent(target.agent.as_deref(), tenant)
    }
}

impl Handler for Table {
    fn handle(&self, call: Call) -> Answering<'_> {
        match self.target(&call.target) {
            Ok(agent) => agent.handle(call),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

impl Directory for Table {
    fn find(&self, name: Option<&str>) -> Option<Arc<Listing>> {
        self.agent(name, None).ok().map(Authorized::listing)
    }

    fn resolve(&self, target: &Target) -> Result<Arc<Listing>, Error> {
        self.target(target).map(Authorized::listing)
    }

    fn list(&self) -> Vec<Arc<Listing>> {
        let agents = self.agents.get().into_iter();
        let known = agents.flat_map(|agents| agents.known.values());
        known.map(Authorized::listing).collect()
    }
}
