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
    /// Which of the messages of callers it is. Clients may give the same id to several.
    #[serde(default)]
    nth: usize,
    /// It says that nobody has answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unanswered: bool,
    /// Which of them has begun the turn that wrote this.
    #[serde(default)]
    began: usize,
    /// How many questions our task had told before that turn.
    #[serde(default)]
    told: usize,
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

impl Note {
    /// What is to be done in this turn.
    pub(crate) fn plan(note: Option<&Self>, turn: &Turn) -> Plan {
        Self::decide(note, &turn.task, &turn.message, turn.input_timed_out)
    }

    /// `timed_out`: nobody has answered our task.
    fn decide(note: Option<&Self>, ours: &Task, message: &Message, timed_out: bool) -> Plan {
        let Some(note) = note else {
            return Plan::Send(None);
        };
        let task = note.task.as_deref().and_then(|id| TaskId::new(id).ok());
        match (note.state, task) {
            (State::Unsent, task) => Plan::Send(task),
            // Cut off between writing down that it waits and saying so.
            (State::Waiting, Some(task)) if !note.was_passed_on(ours, message, timed_out) => {
                Plan::Attach(task)
            }
            (State::Waiting, task) => Plan::Send(task),
            // No turn follows on one that has ended, unless it has asked: so this is the same one, or one that brings
            // the credentials to go on with it.
            (State::Sending, Some(task)) => Plan::Check(task),
            (State::Running, Some(task)) => Plan::Attach(task),
            (State::Sending | State::Running, None) => Plan::Look,
        }
    }

    /// Whether the turn goes on without what its message says: that was sent, or the message has brought no more than
    /// credentials for another one.
    pub(crate) fn does_without_words(&self, turn: &Turn) -> bool {
        match Self::plan(Some(self), turn) {
            Plan::Attach(_) | Plan::Look => true,
            Plan::Send(_) | Plan::Check(_) => {
                let another = self.nth != place(&turn.task, &turn.message);
                self.state != State::Waiting && another && turn.heard(self.nth).is_some()
            }
        }
    }

    /// Whether our task has told that it waits, and what for. The same may be asked twice, so it is counted. What was
    /// asked before may be asked again after a restart, so it is compared. And what was told last may not be stored yet:
    /// then it is the next message that tells.
    fn was_passed_on(&self, ours: &Task, message: &Message, timed_out: bool) -> bool {
        let told = told(ours);
        if told.len() > self.told {
            let last = told.last().map(|message| message.text());
            return self.asked.is_none() || self.asked == last;
        }
        // What was asked without a word is nowhere to be seen.
        timed_out && self.asked.is_none() || place(ours, message) != self.began
    }

    /// A message goes out: the one that could not before, or that of the turn.
    pub(crate) fn sending(
        before: Option<&Self>,
        turn: &Turn,
        to: Option<&TaskId>,
        context: Option<&ContextId>,
    ) -> Self {
        // One that was set aside may have arrived after all: then it must be known as the same.
        let number = match before {
            Some(note) if note.state == State::Unsent => note.turn,
            before => before.map_or(0, |note| note.turn) + 1,
        };
        let waited = before.filter(|note| note.state == State::Waiting && note.asked.is_some());
        let least = waited.map_or(0, |note| note.told + 1);
        let began = place(&turn.task, &turn.message);
        let before = before.filter(|note| note.state == State::Unsent);
        Self {
            turn: number,
            said: before.map_or_else(|| turn.message.id.to_string(), |note| note.said.clone()),
            nth: before.map_or(began, |note| note.nth),
            unanswered: before.map_or(turn.input_timed_out, |note| note.unanswered),
            began,
            told: told(&turn.task).len().max(least),
            asked: None,
            context: context.map(ToString::to_string),
            task: to.map(ToString::to_string),
            state: State::Sending,
        }
    }

    /// What is to be written down before the caller is asked for credentials; nothing, if that stands there already.
    pub(crate) fn set_aside(before: Option<&Self>, turn: &Turn, plan: &Plan) -> Option<Self> {
        match (plan, before) {
            (Plan::Send(_), Some(note)) if note.state == State::Unsent => None,
            (Plan::Send(to), _) => {
                let context = before.and_then(Self::context_id);
                let sending = Self::sending(before, turn, to.as_ref(), context.as_ref());
                Some(Self {
                    state: State::Unsent,
                    ..sending
                })
            }
            // Its question was not told, and ours will be.
            (_, Some(note)) if note.state == State::Waiting => Some(Self {
                state: State::Running,
                ..note.clone()
            }),
            _ => None,
        }
    }

    /// It waits for an answer to this.
    pub(crate) fn waits(&mut self, ours: &Task, message: &Message, question: &[Part]) {
        let texts: Vec<&str> = question.iter().filter_map(Part::as_text).collect();
        self.asked = Some(texts.join("\n")).filter(|text| !text.is_empty());
        self.told = self.told.max(told(ours).len());
        self.began = place(ours, message);
        self.state = State::Waiting;
    }

    /// The message of the caller that the note is about. The turn may have begun with another one, that brought no more
    /// than the credentials for it.
    pub(crate) fn words<'t>(&self, turn: &'t Turn) -> &'t Arc<Message> {
        if self.nth == place(&turn.task, &turn.message) {
            return &turn.message;
        }
        let kept = turn.heard(self.nth).filter(|m| m.id.as_str() == self.said);
        kept.unwrap_or(&turn.message)
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

/// The questions that a task has told.
fn told(task: &Task) -> Vec<&Arc<Message>> {
    let open = task.status.message.iter();
    let open = open.filter(|_| task.status.state.is_interrupted());
    let told = task.history.iter().filter(|m| m.role == Role::Agent);
    told.chain(open).collect()
}

/// Which of the messages of callers it is. Clients may give one id to several; and of some it is not kept what they say.
fn place(task: &Task, message: &Message) -> usize {
    let from_caller = |m: &&Arc<Message>| m.role == Role::User;
    let heard = task.history.iter().filter(from_caller);
    let same = |m: &Message| m.id == message.id;
    let heard: Vec<&Arc<Message>> = heard.collect();
    let wholly = heard
        .iter()
        .rposition(|m| same(m) && m.parts == message.parts);
    let known = wholly.or_else(|| heard.iter().rposition(|m| same(m)));
    known.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_server::agent::{Outcome, Said};
    use switchboard_server::engine::Settings;
    use switchboard_server::log::Log;
    use switchboard_server::store::MemoryStore;
    use switchboard_server::testing::agent::{FnAgent, Line, says};
    use switchboard_types::Dialect;
    use switchboard_types::model::TaskState;
    use switchboard_types::wire::decode_task;

    fn note(state: State, task: Option<&str>) -> Note {
        Note {
            turn: 3,
            said: "m".to_owned(),
            nth: 0,
            unanswered: false,
            began: 0,
            told: 0,
            asked: None,
            context: None,
            task: task.map(str::to_owned),
            state,
        }
    }

    /// A task of ours in which this was said: `?` begins a question. All messages have one id.
    fn ours(said: &[&str]) -> Task {
        let said = said.iter().map(|text| {
            let role = if text.starts_with('?') {
                "agent"
            } else {
                "user"
            };
            format!(
                r#"{{"role":"{role}","messageId":"m","parts":[{{"kind":"text","text":"{text}"}}]}}"#
            )
        });
        let said: Vec<String> = said.collect();
        let json = format!(
            r#"{{"kind":"task","id":"ours","contextId":"c","status":{{"state":"working"}},"history":[{}]}}"#,
            said.join(",")
        );
        decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap()
    }

    fn message(text: &str) -> Message {
        let id = MessageId::new("m").unwrap();
        Message::new(id, Role::User, vec![Part::text(text)])
    }

    /// What is done in the turn of a message.
    fn decided(note: &Note, said: &[&str], now: &str) -> Plan {
        Note::decide(Some(note), &ours(said), &message(now), false)
    }

    fn waits(note: &mut Note, said: &[&str], now: &str, question: &[Part]) {
        note.waits(&ours(said), &message(now), question);
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
            // As well after a question of ours, which was for credentials.
            for said in [&["a"][..], &["a", "?b", "c"], &["a", "?b", "c", "?b", "d"]] {
                let decided = decided(&note(state, id), said, said[said.len() - 1]);
                assert_eq!(decided, plan, "{state:?} {id:?} {said:?}");
            }
        }
        let nothing = Note::decide(None, &ours(&["a"]), &message("a"), false);
        assert_eq!(nothing, Plan::Send(None));
    }

    #[test]
    fn a_question_that_is_asked_twice_is_answered_twice_and_not_before_it_was_told() {
        let (attach, send) = (
            Plan::Attach(TaskId::new("t").unwrap()),
            Plan::Send(Some(TaskId::new("t").unwrap())),
        );
        let mut note = note(State::Running, Some("t"));
        let question = [Part::text("?which")];
        waits(&mut note, &["a"], "a", &question);
        assert_eq!(decided(&note, &["a"], "a"), attach);
        // Another message came meanwhile, and answers nothing yet.
        assert_eq!(decided(&note, &["a", "b"], "a"), attach);
        // Now it does, though it is not stored yet that it was asked for.
        assert_eq!(decided(&note, &["a", "b"], "b"), send);
        assert_eq!(decided(&note, &["a", "?which", "b"], "b"), send);
        waits(&mut note, &["a", "?which", "b"], "b", &question);
        assert_eq!(decided(&note, &["a", "?which", "b"], "b"), attach);
        let twice = ["a", "?which", "b", "?which", "b"];
        assert_eq!(decided(&note, &twice, "b"), send);
        // Another one was asked again: this one was not told.
        waits(&mut note, &["a", "?key", "b"], "b", &question);
        let again = ["a", "?key", "b", "?key", "c"];
        assert_eq!(decided(&note, &again, "c"), attach);
    }

    #[test]
    fn a_question_without_words_is_answered_by_the_next_message_or_by_nobody() {
        let task = TaskId::new("t").unwrap();
        let mut note = note(State::Running, Some("t"));
        waits(&mut note, &["a"], "a", &[]);
        assert_eq!(decided(&note, &["a"], "a"), Plan::Attach(task.clone()));
        let send = Plan::Send(Some(task));
        assert_eq!(decided(&note, &["a", "b"], "b"), send);
        let nobody = Note::decide(Some(&note), &ours(&["a"]), &message("a"), true);
        assert_eq!(nobody, send);
    }

    #[test]
    fn messages_of_one_id_are_told_apart_by_their_place() {
        let task = ours(&["a", "?which", "b", "?which", "[redacted]"]);
        assert_eq!(place(&task, &message("a")), 0);
        assert_eq!(place(&task, &message("b")), 1);
        assert_eq!(place(&task, &message("my key")), 2);
    }

    #[tokio::test]
    async fn a_message_that_was_not_kept_is_not_there_to_be_sent() {
        // The first message was kept. The second was a secret, of which nothing is left but what the third brings.
        let agent = FnAgent::new(|turn, _| async move {
            if turn
                .task
                .history
                .iter()
                .filter(|m| m.role == Role::User)
                .count()
                < 3
            {
                return Ok(Outcome::AuthRequired(Said::text("password?")));
            }
            for state in [State::Unsent, State::Sending] {
                let goes_on = [0, 1, 2].map(|nth| {
                    let about = Note {
                        nth,
                        ..note(state, Some("t"))
                    };
                    about.does_without_words(&turn)
                });
                assert_eq!(goes_on, [true, false, false], "{state:?}");
            }
            Ok(Outcome::Completed(Said::default()))
        });
        let log = Log::new(Arc::new(MemoryStore::default()));
        let line = Line::new(&log, Arc::new(agent), Settings::default());
        let mut task = line.send(says("log me in")).await.unwrap();
        for text in ["hunter1", "hunter2"] {
            let secret = Message {
                task_id: Some(task.id.clone()),
                ..says(text)
            };
            task = line.send(secret).await.unwrap();
        }
        assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
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
