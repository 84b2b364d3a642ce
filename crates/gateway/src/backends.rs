//! What stands behind agents, made from the configuration. New kinds of backend add a line here.

use std::sync::Arc;

use anyhow::Context;
use switchboard_agents::exec::ExecAgent;
use switchboard_agents::langgraph::LangGraphAgent;
use switchboard_agents::openai::OpenAiAgent;
use switchboard_agents::remote::RemoteAgent;
use switchboard_agents::script::ScriptAgent;
use switchboard_server::agent::{Agent, Router};

use crate::config::{self, Backend, Config};
use crate::remotes::Far;
use crate::route::rules::{Routes, RuleRouter};
use crate::running::Ground;

/// What stands behind an agent.
#[derive(Debug)]
pub(crate) struct Behind {
    pub(crate) agent: Arc<dyn Agent>,
    /// The routing rules before it.
    pub(crate) router: Option<Arc<dyn Router>>,
    /// The same, if it has a card of its own elsewhere.
    pub(crate) far: Option<Far>,
}

impl From<Far> for Behind {
    fn from(far: Far) -> Self {
        Self {
            agent: far.agent(),
            router: None,
            far: Some(far),
        }
    }
}

impl<A: Agent + 'static> From<A> for Behind {
    fn from(agent: A) -> Self {
        Self {
            agent: Arc::new(agent),
            router: None,
            far: None,
        }
    }
}

/// What stands behind an agent. Nothing is sent yet.
///
/// # Errors
///
/// If it cannot be made.
pub(crate) fn backend(
    agent: &config::Agent,
    config: &Config,
    ground: &Ground,
) -> anyhow::Result<Behind> {
    let made = make(agent, config, ground);
    let mut made = made.with_context(|| format!("the agent {} cannot be made", agent.name))?;
    made.router = Some(Arc::new(router(agent, ground)));
    Ok(made)
}

/// The routing rules of an agent.
fn router(agent: &config::Agent, ground: &Ground) -> RuleRouter {
    let name = Arc::clone(&agent.name);
    let routes = Routes::new(name, agent.routes.clone(), Arc::clone(&ground.stored));
    RuleRouter::new(routes, Arc::clone(&ground.table))
}

fn make(agent: &config::Agent, config: &Config, ground: &Ground) -> anyhow::Result<Behind> {
    Ok(match &agent.backend {
        Backend::Remote(settings, identity) => {
            let remote = RemoteAgent::new((**settings).clone(), identity.outbound()?);
            Far::A2a(Arc::new(remote)).into()
        }
        Backend::OpenClaw(claw) => {
            let claw = ground.claws.agent(claw, config, &ground.tasks)?;
            Far::OpenClaw(Arc::new(claw)).into()
        }
        Backend::LangGraph(settings, identity) => {
            let assistant = LangGraphAgent::new((**settings).clone(), identity.outbound()?)?;
            Far::LangGraph(Arc::new(assistant)).into()
        }
        Backend::Assistants(..) => anyhow::bail!("its assistants are agents, and it is none"),
        Backend::OpenAi(settings, identity) => {
            OpenAiAgent::new((**settings).clone(), identity.outbound()?)?.into()
        }
        Backend::Exec(settings) => ExecAgent::new((**settings).clone())?.into(),
        Backend::Script(script) => {
            let table = Arc::clone(&ground.table);
            let script = ScriptAgent::new(script.clone(), Some(Arc::clone(&table) as _));
            script.listed_in(table).into()
        }
    })
}
