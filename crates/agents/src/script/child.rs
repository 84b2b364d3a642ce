//! The task of another agent, as far as it was heard of.

use std::sync::Arc;

use switchboard_server::agent::Said;
use switchboard_server::budget::Spent;
use switchboard_types::model::{
    Artifact, Event, Message, Part, Task, TaskId, TaskState, TaskStatus,
};

use super::delegate::{delegate, with_delegate};
use super::scope::Answer;

/// The other agent's task, as far as it was heard of.
#[derive(Default)]
pub(super) struct Child {
    pub(super) task: Option<TaskId>,
    pub(super) artifacts: Vec<Arc<Artifact>>,
    /// How it ended, or what it waits for; `None` while it works.
    pub(super) end: Option<TaskState>,
    /// What it said last.
    pub(super) said: Option<Arc<Message>>,
    /// The number of the last event.
    pub(super) event: u64,
    /// What it has cost, as far as it tells.
    pub(super) cost: Spent,
}

impl Child {
    /// Takes in an event; gives back what is to be passed on.
    pub(super) fn hear(&mut self, event: Event) -> Option<Arc<Message>> {
        match event {
            Event::Task(task) => self.take(&task),
            Event::Message(message) => {
                self.said = Some(message);
                self.end = Some(TaskState::Completed);
            }
            Event::Status(update) => {
                self.task = Some(update.task_id);
                if let Some(metadata) = &update.metadata {
                    self.cost = self.cost.at_least(Spent::told(metadata));
                }
                self.stand(update.status);
                if self.end.is_none() {
                    return self.said.take();
                }
            }
            Event::Artifact(update) => {
                let known = self
                    .artifacts
                    .iter_mut()
                    .find(|a| a.id == update.artifact.id);
                match known {
                    Some(known) if update.append => {
                        Arc::make_mut(known).append(&update.artifact.parts);
                    }
                    Some(known) => *known = update.artifact,
                    None => self.artifacts.push(update.artifact),
                }
            }
        }
        None
    }

    /// Takes the task as it stands.
    fn take(&mut self, task: &Task) {
        self.task = Some(task.id.clone());
        self.artifacts.clone_from(&task.artifacts);
        self.stand(task.status.clone());
    }

    fn stand(&mut self, status: TaskStatus) {
        let state = status.state;
        self.end = (state.is_terminal() || state.is_interrupted()).then_some(state);
        self.said = status.message;
    }

    /// What it said at its end, with where it was said.
    pub(super) fn last_words(self, told: &str) -> Said {
        // Where nothing was said there is a word all the same: it names the task that has done the work.
        let parts = self.said.as_ref().map(|message| message.parts.clone());
        let parts = parts.unwrap_or_else(|| vec![Part::text(format!("done by {told}"))]);
        let said = self.said.and_then(|message| message.metadata.clone());
        let whose = self.task.map(|task| delegate(told, &task));
        Said {
            parts,
            message_metadata: match whose {
                Some(whose) => Some(with_delegate(said.as_ref(), whose)),
                None => said,
            },
            ..Said::default()
        }
    }

    /// What is brought back: what the task made, or else what it said last.
    pub(super) fn answer(self, unheard: Option<String>) -> Answer {
        let state = self.end.filter(|_| unheard.is_none());
        let state = state.unwrap_or(TaskState::Failed);
        let made = self.artifacts.iter();
        let mut parts: Vec<Part> = made.flat_map(|artifact| artifact.joined()).collect();
        let said = self.said.map(|m| m.parts.clone()).unwrap_or_default();
        if state != TaskState::Completed {
            let reason = unheard.unwrap_or_else(|| text(&said));
            parts = vec![Part::text(match reason.is_empty() {
                true => state.name().to_owned(),
                false => reason,
            })];
        } else if parts.is_empty() {
            parts = said;
        }
        Answer {
            text: text(&parts),
            state: state.name().to_owned(),
            task: self.task.map(|id| id.to_string()).unwrap_or_default(),
            parts,
        }
    }
}

fn text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}
