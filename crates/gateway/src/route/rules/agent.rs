//! An agent with rules before it.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use http::HeaderName;
use serde_json::Value;
use switchboard_agents::delegate::Handoff;
use switchboard_agents::script::Template;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Said, Turn};
use switchboard_server::backend::{Drift, Health};
use switchboard_server::principal::Principal;
use switchboard_server::table::Table;
use switchboard_types::Error;
use switchboard_types::model::{Artifact, ArtifactId, Message, Part};
use switchboard_types::operation::SendMessage;

use super::{Action, Heard, Routes};

/// An agent with rules before it.
#[derive(Debug)]
pub(crate) struct Routed {
    routes: Routes,
    own: Arc<dyn Agent>,
    table: Arc<Table>,
}

impl Routed {
    /// The agent behind these rules, which hand tasks off to the agents of a table.
    pub(crate) fn new(own: Arc<dyn Agent>, routes: Routes, table: Arc<Table>) -> Self {
        Self { routes, own, table }
    }

    /// What a rule does with the task of a turn; nothing if it is the agent's own.
    async fn rule(&self, turn: &Turn) -> Result<Option<Action>, AgentError> {
        match turn.decision().await? {
            Some(stored) => Action::from_json(&stored).map(Some).ok_or_else(unreadable),
            None => Ok(None),
        }
    }

    async fn take(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        match self.rule(&turn).await? {
            Some(Action::To(agent)) => self.handoff(agent).run(turn, progress).await,
            Some(Action::Answer(text)) => answer(&text, &turn, &progress).await,
            None => self.own.run(turn, progress).await,
        }
    }

    fn handoff(&self, to: Arc<str>) -> Handoff {
        Handoff::new(
            to,
            Arc::clone(&self.table) as _,
            Arc::clone(&self.table) as _,
        )
    }
}

/// Answers the message of a turn with the text of a rule.
async fn answer(text: &str, turn: &Turn, progress: &Progress) -> Result<Outcome, AgentError> {
    let template: Template = text.parse().map_err(|_| unreadable())?;
    let text = template.render_for(turn).await?;
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

fn unreadable() -> AgentError {
    AgentError::new("what was decided about this task cannot be read")
}

#[async_trait]
impl Agent for Routed {
    /// Not `async`: where no rule takes it, a new task costs nothing more than without rules.
    fn run<'life0, 'async_trait>(
        &'life0 self,
        turn: Turn,
        progress: Progress,
    ) -> BoxFuture<'async_trait, Result<Outcome, AgentError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        match turn.is_undecided() {
            true => self.own.run(turn, progress),
            false => Box::pin(self.take(turn, progress)),
        }
    }

    fn decide(&self, send: &SendMessage, caller: &Principal) -> Option<Value> {
        if !self.has_rules() {
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

    fn has_rules(&self) -> bool {
        !self.routes.are_none()
    }

    async fn resumes(&self, turn: &Turn) -> bool {
        match self.rule(turn).await {
            Ok(Some(_)) => true,
            Ok(None) => self.own.resumes(turn).await,
            Err(_) => false,
        }
    }

    async fn continues(&self, turn: &Turn) -> bool {
        match self.rule(turn).await {
            Ok(Some(_)) => true,
            Ok(None) => self.own.continues(turn).await,
            Err(_) => false,
        }
    }

    async fn does_without_words(&self, turn: &Turn) -> bool {
        match self.rule(turn).await {
            Ok(Some(Action::To(agent))) => {
                self.handoff(agent).can_resume_without_message(turn).await
            }
            Ok(Some(Action::Answer(_))) | Err(_) => false,
            Ok(None) => self.own.does_without_words(turn).await,
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

    async fn let_go(&self, turn: Turn) -> Result<(), AgentError> {
        match self.rule(&turn).await? {
            Some(Action::To(agent)) => self.handoff(agent).release(&turn).await,
            Some(Action::Answer(_)) => Ok(()),
            None => self.own.let_go(turn).await,
        }
    }

    async fn health(&self) -> Health {
        self.own.health().await
    }

    fn upstream(&self) -> Option<String> {
        self.own.upstream()
    }

    fn drift(&self) -> Option<Arc<Drift>> {
        self.own.drift()
    }

    fn forwards(&self) -> &[HeaderName] {
        self.own.forwards()
    }
}
