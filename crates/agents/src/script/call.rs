//! The steps `call` and `hand_off`: they delegate to another agent.

use std::sync::Arc;

use switchboard_server::agent::{AgentError, Outcome};
use switchboard_types::model::TaskState;

use super::language::Call;
use super::part;
use super::run::Run;
use crate::delegate::Delegation;

impl Run<'_> {
    /// Delegates work and waits for its result.
    pub(super) async fn call(&mut self, call: &Call) -> Result<Option<Outcome>, AgentError> {
        self.calls += 1;
        let scope = &mut self.scope;
        let question = scope.input.question.take_if(|q| q.agent == call.agent);
        let message = match question {
            // The agent that asked gets the message itself, even if it is a secret.
            Some(_) => Arc::clone(&scope.input.received),
            None => Arc::clone(&scope.input.last_public),
        };
        let public = std::mem::replace(&mut scope.input.last_public, Arc::clone(&message));
        let parts = part::render(call.text.as_ref(), &call.parts, scope);
        let metadata = part::object(&call.metadata, scope);
        scope.input.last_public = public;
        let delegations = &self.delegations;
        let work = Delegation {
            agent: &call.agent,
            key: delegations.key(scope.input.turn, self.calls),
            message: &message,
            parts,
            metadata,
        };
        let input = &scope.input;
        let task = delegations.delegate(work, question, input, false).await?;
        if let Some(state) = task.interrupted() {
            return delegations.relay(&task, state).await.map(Some);
        }
        let result = task.result();
        let failed = result.state != TaskState::Completed.name();
        let reason = result.text.clone();
        scope.calls.insert(call.name().to_owned(), result);
        match &call.failed {
            Some(steps) if failed => self.steps(steps).await,
            None if failed => {
                let alias = delegations.alias(&call.agent);
                Err(AgentError::new(format!("{alias}: {reason}")))
            }
            _ => Ok(None),
        }
    }

    /// Hands the whole task off: it ends as the delegated one does.
    pub(super) async fn hand_off(&mut self, agent: &str) -> Result<Outcome, AgentError> {
        self.calls += 1;
        let input = &mut self.scope.input;
        self.delegations.hand_off(agent, self.calls, input).await
    }
}
