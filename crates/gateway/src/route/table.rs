//! The table of agents: path, tenant or default name one, and its engine answers.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use switchboard_server::call::{Answering, Call, Directory, Handler, Listing};
use switchboard_server::engine::Engine;
use switchboard_types::Error;

/// All agents of this gateway. Agents may call each other through it, so it exists before they do.
#[derive(Debug, Default)]
pub struct Table {
    agents: OnceLock<Agents>,
}

#[derive(Debug)]
struct Agents {
    engines: HashMap<Arc<str>, Engine>,
    default: Arc<str>,
}

impl Table {
    /// Fills the table; a second time does nothing.
    pub fn fill(&self, engines: HashMap<Arc<str>, Engine>, default: Arc<str>) {
        self.agents.get_or_init(|| Agents { engines, default });
    }

    /// The engine that a path and a tenant mean together.
    fn engine(&self, agent: Option<&str>, tenant: Option<&str>) -> Result<&Engine, Error> {
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
        // An unknown tenant looks like an unknown task.
        agents
            .engines
            .get(name)
            .ok_or_else(|| Error::task_not_found("").fact("tenant", name))
    }
}

impl Handler for Table {
    fn handle(&self, call: Call) -> Answering<'_> {
        let tenant = call.target.tenant.as_deref().filter(|t| !t.is_empty());
        match self.engine(call.target.agent.as_deref(), tenant) {
            Ok(engine) => engine.handle(call),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

impl Directory for Table {
    fn find(&self, name: Option<&str>) -> Option<Listing> {
        let engine = self.engine(name, None).ok()?;
        Some(Listing {
            name: Arc::clone(engine.name()),
            profile: Arc::clone(engine.profile()),
        })
    }
}
