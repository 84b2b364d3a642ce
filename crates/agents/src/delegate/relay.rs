//! A question of a delegated task: it is relayed as the delegating task's own, and the answer goes back to the agent that
//! asked.

use std::sync::Arc;

use serde_json::Value;
use switchboard_server::agent::{AgentError, Outcome, Turn};
use switchboard_server::hops::DELEGATE;
use switchboard_server::task::{OUT_OF_BAND, asks_for_secret};
use switchboard_types::model::{Message, Role, Task, TaskId, TaskState};

use super::task::{DelegatedTask, delegate, with_delegate};
use super::{Aliases, Delegations};

/// The step that names the agent of a relayed question, if the question itself must not.
pub(super) const WHO_ASKS: &str = "who-asks";

/// A question that was relayed, as the metadata of its message has it.
#[derive(Debug)]
pub(crate) struct RelayedQuestion {
    /// The agent that asked.
    pub(crate) agent: String,
    /// Its task.
    pub(super) task: TaskId,
    /// The number of the event of that task that asked.
    pub(super) event: u64,
}

impl RelayedQuestion {
    /// Whose question a message is, if it was relayed.
    pub(crate) fn of(question: &Message) -> Option<Self> {
        let delegate: Value = question.metadata.as_ref()?.get(DELEGATE)?;
        Some(Self {
            agent: delegate["agent"].as_str()?.to_owned(),
            task: TaskId::new(delegate["taskId"].as_str()?).ok()?,
            event: delegate["event"].as_u64()?,
        })
    }

    /// The relayed question that the task of a turn asked last. An answer that was not passed on changes nothing.
    pub(super) async fn last_of(turn: &Turn) -> Option<Self> {
        let mut history = turn.task.history.iter().rev();
        let last = || history.find(|message| message.role == Role::Agent);
        Self::asked_in(turn.question.as_ref().or_else(last)?, turn).await
    }

    /// The same of a question that the task of a turn asked.
    pub(super) async fn asked_in(question: &Message, turn: &Turn) -> Option<Self> {
        let question = Self::of(question)?;
        let recorded = turn.last_step(WHO_ASKS).await.unwrap_or_default();
        Some(question.resolve(recorded.as_ref(), &Aliases::default()))
    }

    /// The same by the name that its agent really has: the recorded one if it is about this question, else
    /// the agent that has the alias.
    pub(crate) fn resolve(mut self, recorded: Option<&Value>, aliases: &Aliases) -> Self {
        let recorded = recorded.filter(|recorded| recorded["taskId"] == *self.task.as_str());
        let recorded = recorded.and_then(|recorded| recorded["agent"].as_str());
        let mut hidden = aliases.0.iter();
        let aliased = hidden.find(|(_, alias)| **alias == self.agent);
        if let Some(name) = recorded.or(aliased.map(|(name, _)| name.as_str())) {
            self.agent = name.to_owned();
        }
        self
    }
}

/// The message of a turn, and the relayed question that it answers.
#[derive(Debug)]
pub(crate) struct TurnInput {
    /// The message itself.
    pub(crate) received: Arc<Message>,
    /// What may be repeated: the message or, if that is a secret, the latest before it that is none.
    pub(crate) last_public: Arc<Message>,
    /// The number of the message within the task, from 1.
    pub(crate) turn: u32,
    /// The message is a secret, and only for the agent that asked for it.
    pub(crate) is_secret: bool,
    /// There is no answer to the last question: nobody gave one in time.
    pub(crate) timed_out: bool,
    /// Taken by whoever passes the answer on.
    pub(crate) question: Option<RelayedQuestion>,
}

impl TurnInput {
    pub(crate) fn new(turn: &Turn, question: Option<RelayedQuestion>) -> Self {
        let index = turn.message_index();
        let public = match turn.is_secret {
            true => (0..index).rev().find_map(|nth| turn.received(nth)),
            false => Some(&turn.message),
        };
        // The history shows of a secret only that it came.
        let shown = || turn.task.history.iter().rfind(|m| m.role == Role::User);
        let public = public.or_else(shown).unwrap_or(&turn.message);
        Self {
            last_public: Arc::clone(public),
            turn: u32::try_from(index + 1).unwrap_or(u32::MAX),
            is_secret: turn.is_secret,
            timed_out: turn.input_timed_out,
            question,
            received: Arc::clone(&turn.message),
        }
    }

    /// What an agent gets: the message itself, even if it is a secret, for the one that has asked; else what is public.
    pub(crate) fn message_for(&self, question: Option<&RelayedQuestion>) -> &Arc<Message> {
        question.map_or(&self.last_public, |_| &self.received)
    }

    /// Whether the task of the question is to get the answer. A task that went on without one gets it for its next
    /// question. A secret goes only to a task that asks for one.
    pub(super) fn is_expected_by(&self, task: &Task) -> bool {
        let state = task.status.state;
        match self.is_secret {
            true => asks_for_secret(task),
            false if self.timed_out => state.is_interrupted(),
            false => !state.is_terminal(),
        }
    }
}

impl Delegations<'_> {
    /// The question of a delegated task as the delegating task's own. The next turn finds by its metadata where the answer
    /// goes.
    pub(crate) async fn relay(&self, task: &DelegatedTask) -> Result<Outcome, AgentError> {
        let alias = self.aliases.of(&task.agent);
        let mut said = task.last_message(alias, &format!("{alias} waits for an answer"));
        if let Some(id) = &task.id {
            if alias != task.agent {
                let name = delegate(&task.agent, id);
                self.emitter.effects.record(WHO_ASKS, name).await?;
            }
            let mut question = delegate(alias, id);
            question["event"] = task.cursor.into();
            // This turn ends here: it does not go on by itself when the other agent gets its credentials out of band.
            let metadata = said.message_metadata.map(|m| m.without(&[OUT_OF_BAND]));
            said.message_metadata = Some(with_delegate(metadata.as_ref(), question));
        }
        Ok(match task.state {
            Some(TaskState::AuthRequired) => Outcome::AuthRequired(said),
            _ => Outcome::InputRequired(said),
        })
    }
}
