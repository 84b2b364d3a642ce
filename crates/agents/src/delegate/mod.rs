//! Delegation: the one place in which an agent of ours gives work to another.
//!
//! A delegated task is a task of its own. Its first message and the idempotency key of the call are made of the key that
//! the delegating agent chooses, so an agent that chooses the same key after a restart gets the same task instead of a
//! second one. The two tasks name each other in `referenceTaskIds`; the hop path, the budget and the trace go along.
//!
//! - [`Handoff`] hands the whole task to another agent: what a routing rule does.
//! - `Delegator` is what an agent keeps between turns: whom it may delegate to, and how to reach them.
//! - `Delegations` are those of one turn: start, answer, follow, cancel. They take `&self`, so several can run at once.
//! - `DelegatedTask` is one of them, as far as its events were read.
//! - `relay`: a question of a delegated task becomes the delegating task's own, and its answer goes back.
//! - `budget`: what the delegated tasks of a task may spend. `peers` and `effects`: the world outside, and in tests.

mod budget;
pub(crate) mod effects;
mod handoff;
pub(crate) mod peers;
mod relay;
mod task;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_server::agent::{AgentError, Progress, Turn};
use switchboard_server::call::Handler;
use switchboard_server::directory::Directory;
use tokio::sync::Mutex;

pub use handoff::Handoff;
pub(crate) use relay::{RelayedQuestion, TurnInput};
pub(crate) use task::DelegationResult;
pub(crate) use turn::{Delegation, Delegations};

use budget::BudgetLedger;
use effects::Emitter;
use peers::{GatewayPeers, Peers};
use relay::WHO_ASKS;
use turn::LEDGER;

/// Delegates for an agent: knows whom it may delegate to, and how to reach them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delegator {
    /// The agents it may delegate to, in order.
    agents: Vec<String>,
    /// Without one, every delegation fails.
    handler: Option<Arc<dyn Handler>>,
    directory: Option<Arc<dyn Directory>>,
}

/// What agents that not everyone may know of are called before the caller, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases(pub(crate) BTreeMap<String, String>);

impl Aliases {
    /// What an agent is called before the caller.
    pub(crate) fn of<'a>(&'a self, agent: &'a str) -> &'a str {
        self.0.get(agent).map_or(agent, String::as_str)
    }
}

impl Delegator {
    pub(crate) fn new(agents: Vec<String>, handler: Option<Arc<dyn Handler>>) -> Self {
        Self {
            agents,
            handler,
            directory: None,
        }
    }

    /// The same, which hides the names of agents that not everyone may know of.
    pub(crate) fn listed_in(self, directory: Arc<dyn Directory>) -> Self {
        let directory = Some(directory);
        Self { directory, ..self }
    }

    /// Who is hidden now.
    fn aliases(&self) -> Aliases {
        let Some(directory) = &self.directory else {
            return Aliases::default();
        };
        let is_visible = |name: &str| {
            let listing = directory.find(Some(name));
            listing.is_some_and(|listing| listing.access.is_visible())
        };
        let hidden = self.agents.iter().zip(1..);
        let hidden = hidden.filter(|(name, _)| !is_visible(name));
        Aliases(
            hidden
                .map(|(name, n)| (name.clone(), format!("#{n}")))
                .collect(),
        )
    }

    /// The other agents, as this turn reaches them: on behalf of its caller, as part of its trace.
    pub(crate) fn peers<'a>(&'a self, turn: &'a Turn) -> GatewayPeers<'a> {
        GatewayPeers {
            handler: self.handler.as_ref(),
            turn,
        }
    }

    /// Begins the delegations of a turn, and finds out which relayed question its message answers.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or the agent that asked may not be called any more: its answer is for nobody else.
    pub(crate) async fn begin<'a>(
        &self,
        turn: &'a Turn,
        progress: &'a Progress,
        peers: &'a dyn Peers,
    ) -> Result<(Delegations<'a>, TurnInput), AgentError> {
        let aliases = self.aliases();
        // An agent that is visible now may have been hidden when it asked: then only the step has its name.
        let recorded = match self.agents.is_empty() || turn.begins_task() {
            true => None,
            false => turn.last_step(WHO_ASKS).await?,
        };
        let question = turn.question.as_deref().and_then(RelayedQuestion::of);
        let question = question.map(|question| question.resolve(recorded.as_ref(), &aliases));
        if let Some(question) = &question
            && !self.agents.contains(&question.agent)
        {
            return Err(AgentError::new(
                "the agent that asked is not called any more: send your message again, as a new task",
            ));
        }
        let budget = turn.budget();
        let stored = match budget.is_limited() {
            true => turn.last_step(LEDGER).await?,
            false => None,
        };
        let input = TurnInput::new(turn, question);
        let delegations = Delegations {
            emitter: Emitter::new(progress, turn.emitted, turn.is_resumed),
            peers,
            task: &turn.task,
            hop: turn.hop().clone(),
            aliases,
            canceled: &turn.canceled,
            ledger: Mutex::new(BudgetLedger::new(budget, stored)),
            references: Mutex::default(),
        };
        Ok((delegations, input))
    }

    /// Cancels what was delegated, for a task that is over.
    ///
    /// # Errors
    ///
    /// If a delegated task could not be canceled now, or its agent refused to stop.
    pub(crate) async fn release(&self, turn: &Turn) -> Result<(), AgentError> {
        let peers: &dyn Peers = &self.peers(turn);
        let mut refused = None;
        for (agent, task) in turn.delegated().await? {
            match peers.cancel(&agent, task).await {
                // The other agents must stop all the same.
                Err(error) if error.refused_cancel().is_some() => refused = Some(error),
                canceled => canceled?,
            }
        }
        // A task that delegates a lot does not keep the names of all its delegated tasks.
        if let Some(question) = RelayedQuestion::last_of(turn).await {
            peers.cancel(&question.agent, question.task).await?;
        }
        refused.map_or(Ok(()), Err)
    }
}
