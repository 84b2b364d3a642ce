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
        let message = Arc::clone(scope.input.message_for(question.as_ref()));
        // The templates of an answer see what the agent that asked may see.
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
        if task.is_interrupted() {
            return delegations.relay(&task).await.map(Some);
        }
        let result = task.result();
        let failure = (result.state != TaskState::Completed.name()).then(|| {
            let alias = delegations.aliases.of(&call.agent);
            format!("{alias}: {}", result.text)
        });
        scope.calls.insert(call.name().to_owned(), result);
        match (failure, &call.failed) {
            (Some(_), Some(steps)) => self.steps(steps).await,
            (Some(failure), None) => Err(AgentError::new(failure)),
            (None, _) => Ok(None),
        }
    }

    /// Hands the whole task off: it ends as the delegated one does.
    pub(super) async fn hand_off(&mut self, agent: &str) -> Result<Outcome, AgentError> {
        self.calls += 1;
        let input = &mut self.scope.input;
        self.delegations.hand_off(agent, self.calls, input).await
    }
}
