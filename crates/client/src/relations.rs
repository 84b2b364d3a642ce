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

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::Dialect;
    use switchboard_types::wire::decode_event;

    #[test]
    fn s2_047_tasks_are_related_to_those_they_speak_of() {
        let mut relations = Relations::new();
        for (task, others) in [("a", r#"["b","c"]"#), ("a", r#"["c","d"]"#), ("b", "[]")] {
            let json = format!(
                r#"{{"kind":"status-update","taskId":"{task}","contextId":"c","status":{{"state":"working",
                "message":{{"role":"agent","messageId":"m","parts":[{{"kind":"text","text":"x"}}],
                "referenceTaskIds":{others}}}}}}}"#
            );
            let older = Dialect::from_tag("0.3").unwrap();
            relations.see(&decode_event(older, &json).unwrap());
        }
        let of = |task: &str| {
            let task = TaskId::new(task).unwrap();
            let all: Vec<String> = relations.of(&task).map(ToString::to_string).collect();
            all.join(" ")
        };
        assert_eq!((of("a").as_str(), of("b").as_str()), ("b c d", ""));
    }
}
