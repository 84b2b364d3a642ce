//! An agent with rules before it.

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderName;
use switchboard_agents::script::ScriptAgent;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use switchboard_server::backend::{Drift, Health};
use switchboard_server::call::Handler;
use switchboard_types::Error;
use switchboard_types::model::{Message, Role, TaskState};

use super::{Action, Heard, Routes};

/// The note that tells what became of a task, so that it is the same after a restart and for what is said later, whatever
/// the rules are by then.
const ROUTE: &str = "route";

/// An agent with rules before it.
#[derive(Debug)]
pub(crate) struct Routed {
    routes: Routes,
    own: Arc<dyn Agent>,
    handler: Arc<dyn Handler>,
    /// Agents that are not named before callers.
    hidden: Vec<Arc<str>>,
}

/// Whose a turn is.
enum Whose {
    /// The agent's own.
    Own,
    /// A rule has taken its task.
    Ruled(Action),
    /// A rule takes its task now.
    Taken(Arc<super::Route>),
}

impl Routed {
    /// The agent behind these rules, which hand tasks on through `handler`, and do not name some agents.
    pub(crate) fn new(
        own: Arc<dyn Agent>,
        routes: Routes,
        handler: Arc<dyn Handler>,
        hidden: Vec<Arc<str>>,
    ) -> Self {
        Self {
            routes,
            own,
            handler,
            hidden,
        }
    }

    async fn whose(&self, turn: &Turn) -> Result<Whose, AgentError> {
        let is_new = turn.task.status.state == TaskState::Submitted;
        let kept = match is_new {
            true => None,
            false => turn.note(ROUTE).await?,
        };
        if let Some(kept) = kept {
            let unknown = || AgentError::new("what was done with this task cannot be read");
            return Action::from_kept(&kept)
                .map(Whose::Ruled)
                .ok_or_else(unknown);
        }
        let messages = turn.task.history.iter();
        let is_first = messages.filter(|m| m.role == Role::User).count() <= 1;
        if !is_first || turn.emitted > 0 {
            return Ok(Whose::Own);
        }
        let rules = self.routes.now();
        if rules.all().is_empty() {
            return Ok(Whose::Own);
        }
        let walk = rules.walk(&Heard::in_turn(turn));
        Ok(walk.chosen.map_or(Whose::Own, Whose::Taken))
    }

    fn does(&self, action: &Action) -> Result<ScriptAgent, AgentError> {
        let unknown = || AgentError::new("what was done with this task cannot be read");
        let script = action.script().ok_or_else(unknown)?;
        let agent = ScriptAgent::new(script, Some(Arc::clone(&self.handler)));
        Ok(agent.hiding(self.hidden.iter().map(|name| &**name)))
    }
}

#[async_trait]
impl Agent for Routed {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let action = match self.whose(&turn).await? {
            Whose::Own => return self.own.run(turn, progress).await,
            Whose::Ruled(action) => action,
            Whose::Taken(rule) => {
                let (name, task) = (&*rule.name, turn.task_id());
                tracing::debug!(rule = name, %task, action = %rule.action, "a rule takes a task");
                progress.note(ROUTE, rule.action.kept(name)).await?;
                rule.action.clone()
            }
        };
        self.does(&action)?.run(turn, progress).await
    }

    async fn resumes(&self, turn: &Turn) -> bool {
        match self.whose(turn).await {
            Ok(Whose::Ruled(_) | Whose::Taken(_)) => true,
            Ok(Whose::Own) => self.own.resumes(turn).await,
            Err(_) => false,
        }
    }

    fn on_restart(&self) -> Restart {
        self.own.on_restart()
    }

    fn require_input(&self, message: &Message) -> Result<(), Error> {
        self.own.require_input(message)
    }

    fn has_effects(&self) -> bool {
        self.own.has_effects()
    }

    async fn let_go(&self, turn: Turn) {
        match self.whose(&turn).await {
            Ok(Whose::Ruled(action)) => match self.does(&action) {
                Ok(agent) => agent.let_go(turn).await,
                Err(error) => tracing::debug!(%error, "a task was not let go of"),
            },
            Ok(Whose::Own | Whose::Taken(_)) => self.own.let_go(turn).await,
            Err(error) => tracing::debug!(%error, "a task was not let go of"),
        }
    }

    async fn health(&self) -> Health {
        self.own.health().await
    }

    fn drift(&self) -> Option<Arc<Drift>> {
        self.own.drift()
    }

    fn forwards(&self) -> &[HeaderName] {
        self.own.forwards()
    }
}
