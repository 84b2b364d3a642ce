//! Which task speaks of which others (`referenceTaskIds`).

use std::collections::{BTreeMap, BTreeSet};

use switchboard_types::model::{Event, Message, TaskId};

/// What tasks are related to, as far as it was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relations(BTreeMap<TaskId, BTreeSet<TaskId>>);

impl Relations {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in what an event says.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Task(task) => {
                let said = task.history.iter().chain(&task.status.message);
                said.for_each(|message| self.relate(&task.id, message));
            }
            Event::Status(update) => {
                if let Some(message) = &update.status.message {
                    self.relate(&update.task_id, message);
                }
            }
            Event::Message(message) => {
                if let Some(task) = &message.task_id {
                    self.relate(task, message);
                }
            }
            Event::Artifact(_) => {}
        }
    }

    /// The tasks that a task speaks of.
    pub fn of(&self, task: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.0.get(task).into_iter().flatten()
    }

    fn relate(&mut self, task: &TaskId, message: &Message) {
        if !message.reference_task_ids.is_empty() {
            let known = self.0.entry(task.clone()).or_default();
            known.extend(message.reference_task_ids.iter().cloned());
        }
    }
}
