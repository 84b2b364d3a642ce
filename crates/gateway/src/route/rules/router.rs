//! Decides by routing rules who takes a new task.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use switchboard_agents::delegate::Handoff;
use switchboard_agents::script::Template;
use switchboard_server::agent::{
    Agent, AgentError, Outcome, Progress, Restart, Router, Said, Turn,
};
use switchboard_server::principal::Principal;
use switchboard_server::table::Table;
use switchboard_types::model::{Artifact, ArtifactId, Part};
use switchboard_types::operation::SendMessage;

use super::{Action, Heard, Routes};

/// The routing rules of one agent. What they decide about a task is stored with it, so later changes of the rules do not
/// move tasks.
#[derive(Debug)]
pub(crate) struct RuleRouter {
    routes: Routes,
    table: Arc<Table>,
}

impl RuleRouter {
    /// Rules that hand tasks off to the agents of a table.
    pub(crate) fn new(routes: Routes, table: Arc<Table>) -> Self {
        Self { routes, table }
    }
}

impl Router for RuleRouter {
    fn reads_messages(&self) -> bool {
        !self.routes.are_none()
    }

    fn decide(&self, send: &SendMessage, caller: &Principal) -> Option<Value> {
        if !self.reads_messages() {
            return None;
        }
        let rules = self.routes.now();
        if rules.all().is_empty() {
            return None;
        }
        let rule = rules.walk(&Heard::new(send, caller)).chosen?;
        let name = &*rule.name;
        tracing::debug!(rule = name, action = %rule.action, "routing rule matched");
        Some(rule.action.to_json(name))
    }

    fn agent(&self, decision: &Value) -> Result<Arc<dyn Agent>, AgentError> {
        match Action::from_json(decision).ok_or_else(unreadable)? {
            Action::To(agent) => {
                let table = &self.table;
                let handoff = Handoff::new(agent, Arc::clone(table) as _, Arc::clone(table) as _);
                Ok(Arc::new(handoff))
            }
            Action::Answer(text) => {
                let template = text.parse().map_err(|_| unreadable())?;
                Ok(Arc::new(FixedAnswer(template)))
            }
        }
    }
}

fn unreadable() -> AgentError {
    AgentError::new("what was decided about this task cannot be read")
}

/// Answers every message with the text of a rule.
#[derive(Debug)]
struct FixedAnswer(Template);

#[async_trait]
impl Agent for FixedAnswer {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let text = self.0.render_for(&turn).await?;
        // A restart does not answer twice.
        if turn.emitted == 0 {
            let id = ArtifactId::new("answer").map_err(|_| unreadable())?;
            let artifact = Artifact {
                name: Some(id.to_string()),
                ..Artifact::new(id, vec![Part::text(text)])
            };
            progress.artifact(artifact).await?;
        }
        Ok(Outcome::Completed(Said::default()))
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    fn has_effects(&self) -> bool {
        false
    }
}
