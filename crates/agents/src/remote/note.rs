//! What is remembered of an upstream task, so that a turn can be taken up again, and what to do with it. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_server::agent::Turn;
use switchboard_types::model::{ContextId, Message, MessageId, Role, Task, TaskId};

/// The name of the note.
pub(super) const NAME: &str = "a2a";

/// How the upstream task stands, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The number of the message that was sent last; with our task it makes the id it was sent with.
    turn: u64,
    /// The id that the caller gave to that message.
    said: String,
    /// How many messages of callers there were then.
    heard: usize,
    /// The upstream conversation.
    pub(super) context: Option<String>,
    /// The upstream task, as soon as it is known.
    pub(super) task: Option<String>,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
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
pub(super) enum Plan {
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
    pub(super) fn plan(note: Option<&Self>, turn: &Turn) -> Plan {
        let heard = heard(&turn.task);
        Self::decide(note, &turn.message, heard, turn.input_timed_out)
    }

    fn decide(note: Option<&Self>, message: &Message, heard: usize, timed_out: bool) -> Plan {
        let Some(note) = note else {
            return Plan::Send(None);
        };
        let task = note.task.as_deref().and_then(|id| TaskId::new(id).ok());
        let same = note.said == message.id.as_str();
        match (note.state, task) {
            (State::Detached, Some(task)) => Plan::Attach(task),
            (State::Detached, None) => Plan::Look,
            // Cut off between writing down that it waits and saying so.
            (State::Waiting, Some(task)) if same && note.heard == heard && !timed_out => {
                Plan::Attach(task)
            }
            (State::Waiting, task) => Plan::Send(task),
            (State::Sending, Some(task)) if same => Plan::Check(task),
            (State::Running, Some(task)) if same => Plan::Attach(task),
            (State::Sending | State::Running, None) if same => Plan::Look,
            // The last one is over, and this message came meanwhile.
            (State::Sending | State::Running, _) => Plan::Send(None),
        }
    }

    /// A message goes out.
    pub(super) fn sending(
        before: Option<&Self>,
        turn: &Turn,
        to: Option<&TaskId>,
        context: Option<&ContextId>,
    ) -> Self {
        Self {
            turn: before.map_or(0, |note| note.turn) + 1,
            said: turn.message.id.to_string(),
            heard: heard(&turn.task),
            context: context.map(ToString::to_string),
            task: to.map(ToString::to_string),
            state: State::Sending,
        }
    }

    /// The id that the message has upstream: the same, however often the turn is run.
    pub(super) fn message_id(&self, task: &TaskId) -> Option<MessageId> {
        MessageId::new(format!("{task}-{}", self.turn)).ok()
    }

    /// The upstream conversation.
    pub(super) fn context_id(&self) -> Option<ContextId> {
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
    use switchboard_types::model::Part;

    fn note(state: State, task: Option<&str>) -> Note {
        Note {
            turn: 3,
            said: "m".to_owned(),
            heard: 1,
            context: None,
            task: task.map(str::to_owned),
            state,
        }
    }

    fn decided(note: Option<Note>, message: &str, heard: usize) -> Plan {
        let id = MessageId::new(message).unwrap();
        let message = Message::new(id, Role::User, vec![Part::text("x")]);
        Note::decide(note.as_ref(), &message, heard, false)
    }

    #[test]
    fn a_message_is_sent_once_whenever_the_turn_was_cut_off() {
        let task = || TaskId::new("t").unwrap();
        let known = Some("t");
        for (state, id, message, heard, plan) in [
            (State::Sending, None, "m", 1, Plan::Look),
            (State::Sending, known, "m", 1, Plan::Check(task())),
            (State::Running, known, "m", 1, Plan::Attach(task())),
            (State::Running, known, "m", 2, Plan::Attach(task())),
            (State::Waiting, known, "m", 1, Plan::Attach(task())),
            (State::Waiting, known, "m", 2, Plan::Send(Some(task()))),
            (State::Waiting, known, "n", 2, Plan::Send(Some(task()))),
            (State::Detached, known, "n", 2, Plan::Attach(task())),
            (State::Detached, None, "n", 2, Plan::Look),
            (State::Running, known, "n", 2, Plan::Send(None)),
        ] {
            let decided = decided(Some(note(state, id)), message, heard);
            assert_eq!(decided, plan, "{state:?} {id:?} {message} {heard}");
        }
        assert_eq!(decided(None, "m", 1), Plan::Send(None));
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
