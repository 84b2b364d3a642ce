//! A handoff: another agent takes the whole task over.

use std::sync::Arc;

use async_trait::async_trait;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use switchboard_server::call::Handler;
use switchboard_server::directory::Directory;

use super::Delegator;

/// Hands every turn of a task off to another agent.
#[derive(Debug)]
pub struct Handoff {
    to: Arc<str>,
    delegator: Delegator,
}

impl Handoff {
    /// A handoff to an agent of `directory`, which is called through `handler`.
    #[must_use]
    pub fn new(to: Arc<str>, handler: Arc<dyn Handler>, directory: Arc<dyn Directory>) -> Self {
        let delegator = Delegator::new(vec![to.to_string()], Some(handler));
        Self {
            to,
            delegator: delegator.listed_in(directory),
        }
    }
}

#[async_trait]
impl Agent for Handoff {
    /// Passes the message on, and what comes of it back.
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let peers = self.delegator.peers(&turn);
        let (delegations, mut input) = self.delegator.begin(&turn, &progress, &peers).await?;
        let outcome = match delegations.is_over(true) {
            true => Err(AgentError::over()),
            false => delegations.hand_off(&self.to, 1, &mut input).await,
        };
        delegations.withdraw(input.question).await?;
        delegations.conclude(outcome)
    }

    /// Cancels the delegated task.
    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        self.delegator.release(&turn).await
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    /// The delegating task is durable before it delegates.
    fn has_effects(&self) -> bool {
        false
    }
}
