//! What stands behind agents, made from the configuration. New kinds of backend add a line here.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use switchboard_agents::exec::ExecAgent;
use switchboard_agents::openai::OpenAiAgent;
use switchboard_agents::script::ScriptAgent;
use switchboard_server::agent::Agent;

use crate::config::{self, Backend, Config};
use crate::remotes::Remotes;
use crate::route::Table;
use crate::route::rules::{Routed, Routes, Rules};

/// What stands behind which agent.
pub(crate) type Backends = HashMap<Arc<str>, Arc<dyn Agent>>;

/// What stands behind each agent.
pub(crate) fn backends(
    config: &Config,
    table: &Arc<Table>,
    remotes: &Remotes,
) -> anyhow::Result<Backends> {
    let made = config.agents.iter().map(|agent| {
        let made = backend(agent, config, table, remotes);
        let made = made.with_context(|| format!("the agent {} cannot be made", agent.name))?;
        Ok((Arc::clone(&agent.name), routed(agent, config, table, made)))
    });
    made.collect()
}

/// An agent behind its rules.
fn routed(
    agent: &config::Agent,
    config: &Config,
    table: &Arc<Table>,
    own: Arc<dyn Agent>,
) -> Arc<dyn Agent> {
    if agent.routes.is_empty() {
        return own;
    }
    let routes = Arc::new(Routes::new(Rules::new(agent.routes.clone())));
    let hidden = config.agents.iter().filter(|agent| !agent.rights.visible);
    let hidden = hidden.map(|agent| Arc::clone(&agent.name)).collect();
    Arc::new(Routed::new(own, routes, Arc::clone(table) as _, hidden))
}

fn backend(
    agent: &config::Agent,
    config: &Config,
    table: &Arc<Table>,
    remotes: &Remotes,
) -> anyhow::Result<Arc<dyn Agent>> {
    Ok(match &agent.backend {
        Backend::Remote(..) => Arc::clone(&remotes[&agent.name]) as _,
        Backend::OpenAi(settings, identity) => Arc::new(OpenAiAgent::new(
            (**settings).clone(),
            identity.outbound()?,
        )?),
        Backend::Exec(settings) => Arc::new(ExecAgent::new((**settings).clone())?),
        Backend::Script(script) => {
            let agent = ScriptAgent::new(script.clone(), Some(Arc::clone(table) as _));
            let hidden = config.agents.iter().filter(|agent| !agent.rights.visible);
            Arc::new(agent.hiding(hidden.map(|agent| &*agent.name)))
        }
    })
}
