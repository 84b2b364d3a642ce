//! What a script can see while it runs: the message, the task around it, and what has come up so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_server::hops::{DELEGATE, Hop};
use switchboard_server::task::{is_redacted, place_of};
use switchboard_types::model::{ContextId, Message, Object, Part, Role, Task, TaskId, TaskState};

use super::template::{CallField, Variable};

/// What templates and conditions read.
#[derive(Debug)]
pub(super) struct Scope {
    /// What is repeated and handed on: the message, or if that is a secret, the latest before it that was none.
    pub(super) message: Arc<Message>,
    /// The message itself.
    pub(super) heard: Arc<Message>,
    /// What conditions look at: a secret that the script itself has asked for, it may check.
    pub(super) judged: Arc<Message>,
    pub(super) metadata: Option<Object>,
    pub(super) task_id: TaskId,
    pub(super) context_id: ContextId,
    /// What the agent is called on the way of a call through agents.
    pub(super) hop: Option<Hop>,
    /// The number of this message within the task, from 1.
    pub(super) turn: u32,
    /// The turn may have been begun by an earlier run.
    pub(super) resumed: bool,
    /// Nobody answered the last question in time.
    pub(super) timed_out: bool,
    /// The question this message answers, if it was another agent's.
    pub(super) asked: Option<Asked>,
    /// What was said in earlier tasks of the conversation.
    pub(super) earlier: Vec<String>,
    pub(super) word: String,
    pub(super) n: u32,
    pub(super) matched: BTreeMap<String, String>,
    pub(super) calls: BTreeMap<String, Answer>,
}

/// A question of another agent that was passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked {
    /// The agent that asked.
    pub(super) agent: String,
    /// Its task.
    pub(super) task_id: String,
    /// The event of that task that asked.
    pub(super) event: u64,
}

/// What a call brought back.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) state: String,
    pub(super) task: String,
    pub(super) parts: Vec<Part>,
}

/// The note that names it where the question does not.
pub(super) const WHO_ASKS: &str = "who-asks";

impl Scope {
    /// The scope at the beginning of a turn; `asked` is the question of another agent that the message answers.
    pub(super) fn new(
        task: &Task,
        heard: Arc<Message>,
        metadata: Option<Object>,
        asked: Option<Asked>,
    ) -> Self {
        let open = match place_of(&heard, task).map(|place| task.history.split_at(place)) {
            Some((before, [kept, ..])) if is_redacted(kept) => {
                let is_open = |m: &&Arc<Message>| m.role == Role::User && !is_redacted(m);
                Some(before.iter().rfind(is_open).unwrap_or(kept))
            }
            _ => None,
        };
        let message = Arc::clone(open.unwrap_or(&heard));
        let judged = match asked.is_some() || is_redacted(&heard) {
            true => Arc::clone(&message),
            false => Arc::clone(&heard),
        };
        Self {
            asked,
            // A turn that begins finds its task submitted, or waiting for the message.
            resumed: task.status.state == TaskState::Working,
            timed_out: false,
            // What comes with a secret may be one, and is kept no more than it.
            metadata: match open {
                Some(_) => task.metadata.clone(),
                None => metadata,
            },
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            hop: None,
            turn: number_of(task, &heard),
            message,
            heard,
            judged,
            earlier: Vec::new(),
            word: String::new(),
            n: 0,
            matched: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Whether the message is a secret, and only for whoever has asked for it.
    pub(super) fn is_secret(&self) -> bool {
        !Arc::ptr_eq(&self.message, &self.heard)
    }

    /// What a variable stands for; empty if there is nothing.
    pub(super) fn value(&self, variable: &Variable) -> String {
        match variable {
            Variable::Text => self.message.text(),
            Variable::Word => self.word.clone(),
            Variable::N => self.n.to_string(),
            Variable::MessageId => self.heard.id.to_string(),
            Variable::TaskId => self.task_id.to_string(),
            Variable::ContextId => self.context_id.to_string(),
            Variable::Turn => self.turn.to_string(),
            Variable::Earlier => self.earlier.len().to_string(),
            Variable::EarlierText => self.earlier.join("\n"),
            Variable::Match(group) => self.matched.get(group).cloned().unwrap_or_default(),
            Variable::Metadata(key) => {
                let value = self.metadata(&self.message, key);
                value.as_ref().map(plain).unwrap_or_default()
            }
            Variable::Call(name, field) => {
                let answer = self.calls.get(name);
                let value = answer.map(|answer| match field {
                    CallField::Text => &answer.text,
                    CallField::State => &answer.state,
                    CallField::Task => &answer.task,
                });
                value.cloned().unwrap_or_default()
            }
        }
    }

    /// A member of the metadata of a message, or else of the request's.
    pub(super) fn metadata(&self, message: &Message, key: &str) -> Option<Value> {
        let sources = [&message.metadata, &self.metadata];
        sources.into_iter().flatten().find_map(|o| o.get(key))
    }
}

/// A JSON value as people write it: strings without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
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

/// The question that a message answers, if it was another agent's. A question becomes part of the history when the
/// answer is stored; until then it is the task's status.
pub(super) fn asked(task: &Task, message: &Arc<Message>) -> Option<Asked> {
    let status = task.status.message.as_ref();
    let open = status.filter(|_| task.status.state.is_interrupted());
    let latest = before(task, message).last();
    passed_on(open.or(latest.filter(|m| m.role == Role::Agent))?)
}

/// Whose question a message is, if it was passed on.
pub(super) fn passed_on(question: &Message) -> Option<Asked> {
    question.metadata.as_ref()?.get(DELEGATE)
}

impl Asked {
    /// The same by the name that the agent has, where the question does not tell it.
    pub(super) fn known_as(mut self, noted: Option<&Value>) -> Self {
        let noted = noted.filter(|noted| noted["taskId"] == *self.task_id);
        if let Some(name) = noted.and_then(|noted| noted["agent"].as_str()) {
            name.clone_into(&mut self.agent);
        }
        self
    }
}
