//! A delegated task, as far as its events were read.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_server::agent::Said;
use switchboard_server::budget::Spent;
use switchboard_server::hops::DELEGATE;
use switchboard_types::model::{
    Artifact, Event, Message, Object, Part, TaskId, TaskState, TaskStatus, apply_artifact,
};

use super::peers::EventSource;

/// A delegated task, as far as its events were read.
#[derive(Default)]
pub(crate) struct DelegatedTask {
    /// Whose task it is.
    pub(crate) agent: String,
    /// The key of the call that created it.
    pub(crate) key: String,
    /// Unknown until the first event, and of an agent that replies with a message.
    pub(crate) id: Option<TaskId>,
    pub(super) artifacts: Vec<Arc<Artifact>>,
    /// How it ended, or what it waits for; `None` while it works.
    pub(crate) state: Option<TaskState>,
    /// What it said last.
    pub(super) message: Option<Arc<Message>>,
    /// The number of the last event that was read.
    pub(super) cursor: u64,
    /// What it has spent, as far as it reports that.
    pub(crate) spent: Spent,
    /// Why its events cannot be read.
    pub(super) failure: Option<String>,
    pub(super) source: Option<Box<dyn EventSource>>,
}

/// What a delegated task brought.
#[derive(Debug, Clone, Default)]
pub(crate) struct DelegationResult {
    /// The texts of `parts`.
    pub(crate) text: String,
    pub(crate) state: String,
    pub(crate) task: String,
    /// Its artifacts, or else its last message; the reason unless it is completed.
    pub(crate) parts: Vec<Part>,
}

impl DelegatedTask {
    /// The same with these events; failed if there are none.
    pub(super) fn with_events(mut self, source: Result<Box<dyn EventSource>, String>) -> Self {
        match source {
            Ok(source) => self.source = Some(source),
            Err(reason) => self.fail(reason),
        }
        self
    }

    fn fail(&mut self, reason: String) {
        self.failure = Some(reason);
        self.state = Some(TaskState::Failed);
    }

    /// Reads the next event. The task has failed if there is none.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let next = match &mut self.source {
            Some(source) => source.next().await,
            None => Ok(None),
        };
        match next {
            Ok(Some((number, event))) => {
                self.cursor = number;
                return Some(event);
            }
            Ok(None) => self.fail("stopped without an answer".to_owned()),
            Err(reason) => self.fail(reason),
        }
        None
    }

    /// Applies an event; returns the message of a task that works on.
    pub(super) fn apply(&mut self, event: Event) -> Option<Arc<Message>> {
        match event {
            Event::Task(task) => {
                self.id = Some(task.id.clone());
                self.artifacts.clone_from(&task.artifacts);
                self.set_status(task.status.clone());
            }
            Event::Message(message) => {
                self.message = Some(message);
                self.state = Some(TaskState::Completed);
            }
            Event::Status(update) => {
                self.id = Some(update.task_id);
                if let Some(metadata) = &update.metadata {
                    self.spent = self.spent.at_least(Spent::told(metadata));
                }
                self.set_status(update.status);
                if self.state.is_none() {
                    return self.message.take();
                }
            }
            Event::Artifact(update) => {
                apply_artifact(&mut self.artifacts, update.artifact, update.append);
            }
        }
        None
    }

    fn set_status(&mut self, status: TaskStatus) {
        let state = status.state;
        self.state = (state.is_terminal() || state.is_interrupted()).then_some(state);
        self.message = status.message;
    }

    /// Whether it waits for an answer.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.state.is_some_and(TaskState::is_interrupted)
    }

    /// Its last message, or else `fallback`, as one of the delegating task, which calls the agent `alias`.
    pub(super) fn last_message(&self, alias: &str, fallback: &str) -> Said {
        let message = self.message.as_ref();
        let none = || vec![Part::text(fallback)];
        let metadata = message.and_then(|message| message.metadata.as_ref());
        Said {
            parts: message.map_or_else(none, |message| message.parts.clone()),
            message_metadata: match &self.id {
                Some(id) => Some(with_delegate(metadata, delegate(alias, id))),
                None => metadata.cloned(),
            },
            ..Said::default()
        }
    }

    /// What it brought: what it made, or else what it said last.
    pub(crate) fn result(self) -> DelegationResult {
        let state = self.state.unwrap_or(TaskState::Failed);
        let made = self.artifacts.iter();
        let mut parts: Vec<Part> = made.flat_map(|artifact| artifact.joined()).collect();
        let said = self.message.map(|m| m.parts.clone()).unwrap_or_default();
        if state != TaskState::Completed {
            let reason = self.failure.unwrap_or_else(|| text(&said));
            parts = vec![Part::text(match reason.is_empty() {
                true => state.name().to_owned(),
                false => reason,
            })];
        } else if parts.is_empty() {
            parts = said;
        }
        DelegationResult {
            text: text(&parts),
            state: state.name().to_owned(),
            task: self.id.map(|id| id.to_string()).unwrap_or_default(),
            parts,
        }
    }
}

fn text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// Names a delegated task in metadata.
pub(super) fn delegate(agent: &str, task: &TaskId) -> Value {
    json!({ "agent": agent, "taskId": task.as_str() })
}

/// Metadata that names a delegated task.
pub(super) fn with_delegate(metadata: Option<&Object>, delegate: Value) -> Object {
    Object::with(metadata, [(DELEGATE, delegate)])
}
