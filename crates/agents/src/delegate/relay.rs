//! A question of a delegated task: it is relayed as the delegating task's own, and the answer goes back to the agent that
//! asked.

use std::sync::Arc;

use serde_json::Value;
use switchboard_server::agent::{AgentError, Outcome, Turn};
use switchboard_server::hops::DELEGATE;
use switchboard_server::task::{OUT_OF_BAND, asks_for_secret, is_redacted, place_of};
use switchboard_types::model::{Message, Role, Task, TaskId, TaskState};

use super::task::{DelegatedTask, delegate, with_delegate};
use super::{Aliases, Delegations};

/// The note that names the agent of a relayed question, if the question itself must not.
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
    pub(super) fn of(question: &Message) -> Option<Self> {
        let delegate: Value = question.metadata.as_ref()?.get(DELEGATE)?;
        Some(Self {
            agent: delegate["agent"].as_str()?.to_owned(),
            task: TaskId::new(delegate["taskId"].as_str()?).ok()?,
            event: delegate["event"].as_u64()?,
        })
    }

    /// The relayed question that a message answers. A question becomes part of the history when the answer is stored;
    /// until then it is the task's status.
    pub(crate) fn before(task: &Task, message: &Arc<Message>) -> Option<Self> {
        let status = task.status.message.as_ref();
        let open = status.filter(|_| task.status.state.is_interrupted());
        let latest = before(task, message).last();
        Self::of(open.or(latest.filter(|m| m.role == Role::Agent))?)
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
        let noted = turn.note(WHO_ASKS).await.unwrap_or_default();
        Some(question.resolve(noted.as_ref(), &Aliases::default()))
    }

    /// The same by the name that its agent really has: the note's if it is about this question, else whoever has the alias.
    pub(crate) fn resolve(mut self, noted: Option<&Value>, aliases: &Aliases) -> Self {
        let noted = noted.filter(|noted| noted["taskId"] == *self.task.as_str());
        let noted = noted.and_then(|noted| noted["agent"].as_str());
        let mut hidden = aliases.0.iter();
        let aliased = hidden.find(|(_, alias)| **alias == self.agent);
        if let Some(name) = noted.or(aliased.map(|(name, _)| name.as_str())) {
            self.agent = name.to_owned();
        }
        self
    }
}

/// The message of a turn, and the relayed question that it answers.
#[derive(Debug)]
pub(crate) struct TurnInput {
    /// The message itself. Of a secret nothing but that it came is left after a restart.
    pub(crate) received: Arc<Message>,
    /// What may be repeated: the message or, if that is a secret, the latest before it that is none.
    pub(crate) last_public: Arc<Message>,
    /// The number of the message within the task, from 1.
    pub(crate) turn: u32,
    /// There is no answer to the last question: nobody gave one in time.
    pub(crate) timed_out: bool,
    /// Taken by whoever passes the answer on.
    pub(crate) question: Option<RelayedQuestion>,
}

impl TurnInput {
    pub(crate) fn new(
        task: &Task,
        received: Arc<Message>,
        question: Option<RelayedQuestion>,
    ) -> Self {
        let public = match place_of(&received, task).map(|place| task.history.split_at(place)) {
            Some((before, [stored, ..])) if is_redacted(stored) => {
                let is_public = |m: &&Arc<Message>| m.role == Role::User && !is_redacted(m);
                before.iter().rfind(is_public).unwrap_or(stored)
            }
            _ => &received,
        };
        Self {
            last_public: Arc::clone(public),
            turn: number_of(task, &received),
            timed_out: false,
            question,
            received,
        }
    }

    /// What an agent gets: the message itself, even if it is a secret, for the one that has asked; else what is public.
    pub(crate) fn message_for(&self, question: Option<&RelayedQuestion>) -> &Arc<Message> {
        question.map_or(&self.last_public, |_| &self.received)
    }

    /// Whether the message is a secret, and only for the agent that has asked for it.
    pub(crate) fn is_secret(&self) -> bool {
        !Arc::ptr_eq(&self.last_public, &self.received)
    }

    /// Whether the task of the question is to get the answer. A task that went on without one gets it for its next
    /// question. A secret goes only to a task that asks for one, and is not known any more after a restart.
    pub(super) fn is_expected_by(&self, task: &Task) -> bool {
        let state = task.status.state;
        match self.is_secret() {
            true => asks_for_secret(task) && !is_redacted(&self.received),
            false if self.timed_out => state.is_interrupted(),
            false => !state.is_terminal(),
        }
    }
}

/// What was said before a message. Later ones may wait in the history already.
fn before<'t>(task: &'t Task, message: &Arc<Message>) -> &'t [Arc<Message>] {
    &task.history[..place_of(message, task).unwrap_or(task.history.len())]
}

/// The number of a message within its task, from 1.
pub(super) fn number_of(task: &Task, message: &Arc<Message>) -> u32 {
    let before = before(task, message).iter();
    let before = before.filter(|m| m.role == Role::User).count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
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
                self.emitter.effects.note(WHO_ASKS, name).await?;
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
