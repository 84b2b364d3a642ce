//! The table of agents: path, tenant or default name one, and its engine answers what its policy allows.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;
use switchboard_server::auth::Authorized;
use switchboard_server::call::{
    Answering, Call, Directory, Handler, Listing, Target, no_such_tenant,
};
use switchboard_server::engine::Profile;
use switchboard_types::Error;

/// All agents of this gateway. Agents may call each other through it, so it exists before they do.
#[derive(Debug, Default)]
pub struct Table {
    agents: OnceLock<Agents>,
    /// Those that come and go.
    found: RwLock<HashMap<Arc<str>, Arc<Authorized>>>,
}

/// An agent on the table.
enum Known<'a> {
    /// It is there for good.
    Set(&'a Authorized),
    Found(Arc<Authorized>),
}

impl Deref for Known<'_> {
    type Target = Authorized;

    fn deref(&self) -> &Authorized {
        match self {
            Self::Set(agent) => agent,
            Self::Found(agent) => agent,
        }
    }
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
        if let Some(agent) = self.agents.get().and_then(|all| all.known.get(agent)) {
            agent.renew(profile);
        } else if let Some(agent) = self.found(agent) {
            agent.renew(profile);
        }
    }

    /// An agent was found, and can be called from now on.
    pub fn offer(&self, name: Arc<str>, agent: Arc<Authorized>) {
        let found = self.found.write();
        let mut found = found.unwrap_or_else(PoisonError::into_inner);
        found.insert(name, agent);
    }

    /// An agent that was found is gone. What it does it does to its end.
    pub fn withdraw(&self, name: &str) {
        let found = self.found.write();
        found.unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn found(&self, name: &str) -> Option<Arc<Authorized>> {
        let found = self.found.read();
        let found = found.unwrap_or_else(PoisonError::into_inner);
        found.get(name).map(Arc::clone)
    }

    /// The agent that a path and a tenant mean together.
    fn agent(&self, agent: Option<&str>, tenant: Option<&str>) -> Result<Known<'_>, Error> {
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
        if let Some(known) = agents.known.get(name) {
            return Ok(Known::Set(known));
        }
        let found = self.found(name).map(Known::Found);
        found.ok_or_else(|| no_such_tenant(name))
    }

    fn target(&self, target: &Target) -> Result<Known<'_>, Error> {
        let tenant = target.tenant.as_deref().filter(|t| !t.is_empty());
        self.agent(target.agent.as_deref(), tenant)
    }
}

impl Handler for Table {
    fn handle(&self, call: Call) -> Answering<'_> {
        match self.target(&call.target) {
            Ok(Known::Set(agent)) => agent.handle(call),
            Ok(Known::Found(agent)) => Box::pin(async move { agent.handle(call).await }),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

impl Directory for Table {
    fn find(&self, name: Option<&str>) -> Option<Arc<Listing>> {
        self.agent(name, None).ok().map(|agent| agent.listing())
    }

    fn resolve(&self, target: &Target) -> Result<Arc<Listing>, Error> {
        self.target(target).map(|agent| agent.listing())
    }

    fn list(&self) -> Vec<Arc<Listing>> {
        let agents = self.agents.get().into_iter();
        let known = agents.flat_map(|agents| agents.known.values());
        let found = self.found.read();
        let found = found.unwrap_or_else(PoisonError::into_inner);
        let found = found.values().map(|agent| agent.listing());
        known.map(Authorized::listing).chain(found).collect()
    }
}
