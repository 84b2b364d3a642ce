//! A handoff: another agent takes the whole task over.

use std::sync::Arc;

use switchboard_server::agent::{AgentError, Outcome, Progress, Turn};
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

    /// Takes a turn: passes the message on, and what comes of it back.
    ///
    /// # Errors
    ///
    /// If the other agent fails, or the task is over.
    pub async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let peers = self.delegator.peers(&turn);
        let (delegations, mut input) = self.delegator.begin(&turn, &progress, &peers).await?;
        let outcome = match delegations.is_over(true) {
            true => Err(AgentError::over()),
            false => delegations.hand_off(&self.to, 1, &mut input).await,
        };
        delegations.withdraw(input.question).await?;
        delegations.conclude(outcome)
    }

    /// Cancels the delegated task of a task that is over.
    ///
    /// # Errors
    ///
    /// If that failed and may be tried again, or the other agent refused to stop.
    pub async fn release(&self, turn: &Turn) -> Result<(), AgentError> {
        self.delegator.release(turn).await
    }

    /// Whether a turn that a restart cut off goes on although its message was a secret and is not known any more.
    pub async fn can_resume_without_message(&self, turn: &Turn) -> bool {
        self.delegator.can_resume_without_message(turn).await
    }
}
