//! What is remembered of an upstream task, so that a turn can be taken up again, and what to do with it. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_server::agent::Turn;
use switchboard_types::model::{ContextId, Message, MessageId, Part, Role, Task, TaskId};

/// The name of the note.
pub(super) const NAME: &str = "a2a";

/// How the upstream task stands, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The number of the message that was sent last; with our task it makes the id it was sent with.
    turn: u64,
    /// The id that the caller gave to that message.
    said: String,
    /// How many messages of callers there were then.
    heard: usize,
    /// What it asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// The upstream conversation.
    pub(crate) context: Option<String>,
    /// The upstream task, as soon as it is known.
    pub(crate) task: Option<String>,
    pub(crate) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The message goes out, and may have arrived.
    Sending,
    /// It has arrived.
    Running,
    /// The upstream task waits for the next one.
    Waiting,
    /// The upstream task runs, and we need the caller's credentials to look at it.
    Detached,
}

/// What a turn has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Send the message; to a task that waits, if there is one.
    Send(Option<TaskId>),
    /// It was sent: follow the task.
    Attach(TaskId),
    /// It may have been sent to a task that waited.
    Check(TaskId),
    /// It may have been sent, and began a task that is not known.
    Look,
}

impl Note {
    /// What is to be done in this turn.
    pub(crate) fn plan(note: Option<&Self>, turn: &Turn) -> Plan {
        let fresh = turn.emitted == 0 && note.is_some_and(|note| note.was_passed_on(&turn.task));
        Self::decide(note, &turn.message, fresh || turn.input_timed_out)
    }

    /// Whether our task has told that it waits. Clients may answer with a message of the same id as before, so that
    /// does not tell.
    fn was_passed_on(&self, task: &Task) -> bool {
        let mut history = task.history.iter().rev();
        let said = task.status.message.as_ref();
        let said = said.or_else(|| history.find(|message| message.role == Role::Agent));
        let said = said.map(|message| message.text());
        task.status.state.is_interrupted()
            || heard(task) > self.heard
            || said.is_some() && said == self.asked
    }

    /// `fresh`: our task has told that it waits, and this is the next turn.
    fn decide(note: Option<&Self>, message: &Message, fresh: bool) -> Plan {
        let Some(note) = note else {
            return Plan::Send(None);
        };
        let task = note.task.as_deref().and_then(|id| TaskId::new(id).ok());
        let same = note.said == message.id.as_str();
        match (note.state, task) {
            (State::Detached, Some(task)) => Plan::Attach(task),
            (State::Detached, None) => Plan::Look,
            // Cut off between writing down that it waits and saying so.
            (State::Waiting, Some(task)) if same && !fresh => Plan::Attach(task),
            (State::Waiting, task) => Plan::Send(task),
            (State::Sending, Some(task)) if same => Plan::Check(task),
            (State::Running, Some(task)) if same => Plan::Attach(task),
            (State::Sending | State::Running, None) if same => Plan::Look,
            // The last one is over, and this message came meanwhile.
            (State::Sending | State::Running, _) => Plan::Send(None),
        }
    }

    /// A message goes out.
    pub(crate) fn sending(
        before: Option<&Self>,
        turn: &Turn,
        to: Option<&TaskId>,
        context: Option<&ContextId>,
    ) -> Self {
        Self {
            turn: before.map_or(0, |note| note.turn) + 1,
            said: turn.message.id.to_string(),
            heard: heard(&turn.task),
            asked: None,
            context: context.map(ToString::to_string),
            task: to.map(ToString::to_string),
            state: State::Sending,
        }
    }

    /// It waits for an answer to this.
    pub(crate) fn waits(&mut self, question: &[Part]) {
        let texts: Vec<&str> = question.iter().filter_map(Part::as_text).collect();
        self.asked = Some(texts.join("\n")).filter(|text| !text.is_empty());
        self.state = State::Waiting;
    }

    /// The id that the message has upstream: the same, however often the turn is run.
    pub(crate) fn message_id(&self, task: &TaskId) -> Option<MessageId> {
        MessageId::new(format!("{task}-{}", self.turn)).ok()
    }

    /// The upstream conversation.
    pub(crate) fn context_id(&self) -> Option<ContextId> {
        self.context
            .as_deref()
            .and_then(|id| ContextId::new(id).ok())
    }
}

/// How many messages of callers a task has.
fn heard(task: &Task) -> usize {
    let from_caller = |message: &&Arc<Message>| message.role == Role::User;
    task.history.iter().filter(from_caller).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(state: State, task: Option<&str>) -> Note {
        Note {
            turn: 3,
            said: "m".to_owned(),
            heard: 1,
            asked: None,
            context: None,
            task: task.map(str::to_owned),
            state,
        }
    }

    fn decided(note: Option<&Note>, message: &str, fresh: bool) -> Plan {
        let id = MessageId::new(message).unwrap();
        let message = Message::new(id, Role::User, vec![Part::text("x")]);
        Note::decide(note, &message, fresh)
    }

    #[test]
    fn a_message_is_sent_once_whenever_the_turn_was_cut_off() {
        let task = || TaskId::new("t").unwrap();
        let known = Some("t");
        for (state, id, message, fresh, plan) in [
            (State::Sending, None, "m", false, Plan::Look),
            (State::Sending, known, "m", false, Plan::Check(task())),
            (State::Running, known, "m", false, Plan::Attach(task())),
            (State::Running, known, "m", true, Plan::Attach(task())),
            (State::Waiting, known, "m", false, Plan::Attach(task())),
            (State::Waiting, known, "m", true, Plan::Send(Some(task()))),
            (State::Waiting, known, "n", true, Plan::Send(Some(task()))),
            (State::Detached, known, "n", true, Plan::Attach(task())),
            (State::Detached, None, "n", true, Plan::Look),
            (State::Running, known, "n", true, Plan::Send(None)),
        ] {
            let decided = decided(Some(&note(state, id)), message, fresh);
            assert_eq!(decided, plan, "{state:?} {id:?} {message} {fresh}");
        }
        assert_eq!(decided(None, "m", false), Plan::Send(None));
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = note(State::Waiting, Some("t"));
        let json = serde_json::to_value(&note).unwrap();
        assert_eq!(json["state"], "waiting");
        assert_eq!(serde_json::from_value::<Note>(json).unwrap(), note);
        let task = TaskId::new("ours").unwrap();
        assert_eq!(note.message_id(&task).unwrap().as_str(), "ours-3");
    }
}
