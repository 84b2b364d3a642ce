//! What a script can see while it runs: the message, the task around it, and what has come up so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::{ContextId, Message, Object, Task, TaskId};

use super::template::{CallField, Variable};
use crate::delegate::{DelegationResult, TurnInput};

/// What templates and conditions read.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) input: TurnInput,
    /// The message that conditions test: a secret, if the script itself has asked for it.
    pub(super) visible_to_conditions: Arc<Message>,
    pub(super) metadata: Option<Object>,
    pub(super) task_id: TaskId,
    pub(super) context_id: ContextId,
    /// What was said in earlier tasks of the conversation.
    pub(super) earlier: Vec<String>,
    pub(super) word: String,
    pub(super) n: u32,
    pub(super) matched: BTreeMap<String, String>,
    pub(super) calls: BTreeMap<String, DelegationResult>,
}

impl Scope {
    /// The scope at the beginning of a turn.
    pub(super) fn new(task: &Task, input: TurnInput, metadata: Option<Object>) -> Self {
        let visible = match input.question.is_some() {
            true => &input.last_public,
            false => &input.received,
        };
        Self {
            visible_to_conditions: Arc::clone(visible),
            // What comes with a secret may be one, too.
            metadata: match input.is_secret {
                true => task.metadata.clone(),
                false => metadata,
            },
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            earlier: Vec::new(),
            word: String::new(),
            n: 0,
            matched: BTreeMap::new(),
            calls: BTreeMap::new(),
            input,
        }
    }

    /// What a variable stands for; empty if there is nothing.
    pub(super) fn value(&self, variable: &Variable) -> String {
        match variable {
            Variable::Text => self.input.last_public.text(),
            Variable::Word => self.word.clone(),
            Variable::N => self.n.to_string(),
            Variable::MessageId => self.input.received.id.to_string(),
            Variable::TaskId => self.task_id.to_string(),
            Variable::ContextId => self.context_id.to_string(),
            Variable::Turn => self.input.turn.to_string(),
            Variable::Earlier => self.earlier.len().to_string(),
            Variable::EarlierText => self.earlier.join("\n"),
            Variable::Match(group) => self.matched.get(group).cloned().unwrap_or_default(),
            Variable::Metadata(key) => {
                let value = self.metadata(&self.input.last_public, key);
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
