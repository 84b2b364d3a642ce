//! The checkpoint of an upstream task, so that a turn can be resumed, and what to do with it. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_server::agent::Turn;
use switchboard_types::model::{ContextId, Message, MessageId, TaskId};

/// The name of the step.
pub(super) const NAME: &str = "a2a";

/// How the upstream task stands, as far as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// Counts the messages that were sent; with our task it makes the id of the last one.
    #[serde(rename = "turn")]
    sends: u64,
    /// Which of the caller's messages was sent last.
    #[serde(rename = "nth", default)]
    message: usize,
    /// It says that nobody has answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unanswered: bool,
    /// The turn that recorded this. Earlier versions did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<u32>,
    /// The upstream context.
    pub(crate) context: Option<String>,
    /// The upstream task, as soon as it is known.
    pub(crate) task: Option<String>,
    pub(crate) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The message did not go out: the caller is asked for credentials first.
    Unsent,
    /// The message goes out, and may have arrived.
    Sending,
    /// It has arrived.
    Running,
    /// The upstream task waits for the next one.
    Waiting,
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

impl Checkpoint {
    /// What is to be done in this turn.
    pub(crate) fn plan(checkpoint: Option<&Self>, turn: &Turn) -> Plan {
        let turn = (turn.number, turn.is_resumed);
        checkpoint.map_or(Plan::Send(None), |checkpoint| checkpoint.next(turn))
    }

    /// What is to be done in a turn of that number, which may be resumed.
    fn next(&self, turn: (u32, bool)) -> Plan {
        let task = self.task.as_deref().and_then(|id| TaskId::new(id).ok());
        match (self.state, task) {
            (State::Unsent, task) => Plan::Send(task),
            // Cut off between recording that it waits and asking the caller.
            (State::Waiting, Some(task)) if !self.was_asked_before(turn) => Plan::Attach(task),
            (State::Waiting, task) => Plan::Send(task),
            // No turn follows one that has ended, unless it asked: so this is the same one, or one that brings the
            // credentials to go on with it.
            (State::Sending, Some(task)) => Plan::Check(task),
            (State::Running, Some(task)) => Plan::Attach(task),
            (State::Sending | State::Running, None) => Plan::Look,
        }
    }

    /// Whether the question that was recorded ended an earlier turn: then the caller was asked, and this turn answers.
    fn was_asked_before(&self, (number, is_resumed): (u32, bool)) -> bool {
        self.by.map_or(!is_resumed, |by| by < number)
    }

    /// A message goes out: the one that could not before, or that of the turn.
    pub(crate) fn sending(
        before: Option<&Self>,
        turn: &Turn,
        to: Option<&TaskId>,
        context: Option<&ContextId>,
    ) -> Self {
        // One that was set aside may have arrived after all: then it must be known as the same.
        let unsent = before.filter(|checkpoint| checkpoint.state == State::Unsent);
        let sends = before.map_or(0, |checkpoint| checkpoint.sends);
        Self {
            sends: unsent.map_or(sends + 1, |checkpoint| checkpoint.sends),
            message: unsent.map_or_else(|| turn.message_index(), |checkpoint| checkpoint.message),
            unanswered: unsent.map_or(turn.input_timed_out, |checkpoint| checkpoint.unanswered),
            by: Some(turn.number),
            context: context.map(ToString::to_string),
            task: to.map(ToString::to_string),
            state: State::Sending,
        }
    }

    /// What is to be recorded before the caller is asked for credentials; nothing, if it is recorded already.
    pub(crate) fn set_aside(before: Option<&Self>, turn: &Turn, plan: &Plan) -> Option<Self> {
        match (plan, before) {
            (Plan::Send(_), Some(checkpoint)) if checkpoint.state == State::Unsent => None,
            (Plan::Send(to), _) => {
                let context = before.and_then(Self::context_id);
                let sending = Self::sending(before, turn, to.as_ref(), context.as_ref());
                Some(Self {
                    state: State::Unsent,
                    ..sending
                })
            }
            // The caller was not asked its question, and is asked ours.
            (_, Some(checkpoint)) if checkpoint.state == State::Waiting => Some(Self {
                state: State::Running,
                by: Some(turn.number),
                ..checkpoint.clone()
            }),
            _ => None,
        }
    }

    /// The upstream task waits for an answer, and this turn ends with its question.
    pub(crate) fn waits(&mut self, turn: &Turn) {
        self.by = Some(turn.number);
        self.state = State::Waiting;
    }

    /// The message of the caller that the checkpoint is about. The turn may have begun with another one, that brought no
    /// more than the credentials for it.
    pub(crate) fn message<'t>(&self, turn: &'t Turn) -> &'t Arc<Message> {
        if self.message == turn.message_index() {
            return &turn.message;
        }
        turn.received(self.message).unwrap_or(&turn.message)
    }

    /// The id that the message has upstream: the same, however often the turn is run.
    pub(crate) fn message_id(&self, task: &TaskId) -> Option<MessageId> {
        MessageId::new(format!("{task}-{}", self.sends)).ok()
    }

    /// The upstream context.
    pub(crate) fn context_id(&self) -> Option<ContextId> {
        self.context
            .as_deref()
            .and_then(|id| ContextId::new(id).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(state: State, task: Option<&str>, by: Option<u32>) -> Checkpoint {
        Checkpoint {
            sends: 3,
            message: 0,
            unanswered: false,
            by,
            context: None,
            task: task.map(str::to_owned),
            state,
        }
    }

    #[test]
    fn a_message_is_sent_once_whenever_the_turn_was_cut_off() {
        let task = || TaskId::new("t").unwrap();
        let known = Some("t");
        for (state, id, plan) in [
            (State::Unsent, None, Plan::Send(None)),
            (State::Unsent, known, Plan::Send(Some(task()))),
            (State::Sending, None, Plan::Look),
            (State::Sending, known, Plan::Check(task())),
            (State::Running, known, Plan::Attach(task())),
            (State::Running, None, Plan::Look),
        ] {
            // Also in a later turn, which brought the credentials that were missing.
            for turn in [(2, true), (3, false)] {
                let next = checkpoint(state, id, Some(2)).next(turn);
                assert_eq!(next, plan, "{state:?} {id:?} {turn:?}");
            }
        }
    }

    #[test]
    fn a_question_is_answered_by_the_turn_after_the_one_that_asked() {
        let task = TaskId::new("t").unwrap();
        let (attach, send) = (Plan::Attach(task.clone()), Plan::Send(Some(task)));
        let waits = checkpoint(State::Waiting, Some("t"), Some(2));
        assert_eq!(waits.next((2, true)), attach);
        assert_eq!(waits.next((3, false)), send);
        assert_eq!(waits.next((3, true)), send);
        // A checkpoint of an earlier version does not tell its turn.
        let old = checkpoint(State::Waiting, Some("t"), None);
        assert_eq!(old.next((1, true)), attach);
        assert_eq!(old.next((2, false)), send);
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written() {
        let written = checkpoint(State::Waiting, Some("t"), Some(1));
        let json = serde_json::to_value(&written).unwrap();
        assert_eq!(json["state"], "waiting");
        assert_eq!(serde_json::from_value::<Checkpoint>(json).unwrap(), written);
        let task = TaskId::new("ours").unwrap();
        assert_eq!(written.message_id(&task).unwrap().as_str(), "ours-3");
    }

    #[test]
    fn a_checkpoint_of_an_earlier_version_is_read() {
        let old = r#"{"turn":2,"said":"m","nth":1,"began":1,"told":1,"asked":"which?","context":"c","task":"t","state":"waiting"}"#;
        let read: Checkpoint = serde_json::from_str(old).unwrap();
        assert_eq!((read.sends, read.message, read.by), (2, 1, None));
    }
}
