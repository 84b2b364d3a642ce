//! Pages of tasks, bounded by bytes: what is small comes with the list, what is large is read one by one and shared.

use std::sync::Arc;

use switchboard_types::model::{Task, TaskId, Timestamp};
use switchboard_types::operation::TaskView;

use super::Log;
use crate::store::{Error, Listed, TaskQuery, shortened};
use crate::task::{Head, LARGE};

/// A place in the order of a list.
pub type TaskPlace = (Timestamp, TaskId);

/// Tasks that match a query.
#[derive(Debug)]
pub struct TaskPage {
    /// As much of each as was asked for.
    pub tasks: Vec<TaskView>,
    /// After which task the next page begins, if there is one.
    pub next: Option<TaskPlace>,
    /// How many match, pages apart.
    pub total: u64,
}

impl Log {
    /// Lists tasks. The page ends where its count or its bytes are used up, with at least one task if there is one.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; or if history or artifacts are asked for and too many large tasks are held.
    pub async fn list(&self, query: TaskQuery) -> Result<TaskPage, Error> {
        let (state, budget) = (query.state, query.bytes);
        let (history_length, artifacts) = (query.history, query.artifacts);
        let view = |task| TaskView {
            task,
            history_length,
            artifacts,
        };
        let found = self.shared.store.list(query).await?;
        let (mut tasks, mut next) = (Vec::with_capacity(found.tasks.len()), None);
        let mut shown = 0_usize;
        let mut rest = found.tasks.into_iter().peekable();
        while let Some(Listed { head, task }) = rest.next() {
            let task = match task {
                Some(task) => Some(view(task)),
                None => {
                    let found = if artifacts || history_length != Some(0) {
                        self.read(&head.id)
                            .await?
                            .map(|(now, task)| (now, view(task)))
                    } else {
                        self.read_without_content(&head.id).await?
                    };
                    // One that is in another state meanwhile does not match a query for a state any more.
                    let found = found.filter(|(now, _)| state.is_none() || now.state == head.state);
                    found.map(|(_, view)| view)
                }
            };
            if let Some(view) = task {
                let weight = view.weight();
                shown = shown.saturating_add(weight);
                tasks.push(if weight > LARGE { view } else { alone(view) });
            }
            if rest.peek().is_some() && shown >= budget {
                next = Some((head.updated, head.id));
                break;
            }
            if rest.peek().is_none() && found.more {
                next = Some((head.updated, head.id));
            }
        }
        Ok(TaskPage {
            tasks,
            next,
            total: found.total,
        })
    }

    /// A large task without history and artifacts. Large tasks are read for this one after the other and dropped at once,
    /// so it needs none of the room that readers share: a list is not refused because others do not read their answers.
    async fn read_without_content(&self, id: &TaskId) -> Result<Option<(Head, TaskView)>, Error> {
        let _turn = self.shared.loads.turn_without_content().await?;
        let found = self.read_internal(id).await?;
        Ok(found.map(|(head, task)| {
            let view = TaskView {
                task,
                history_length: Some(0),
                artifacts: false,
            };
            (head, alone(view))
        }))
    }
}

/// The view of a task that has nothing but what is shown: the rest need not stay in memory for it.
fn alone(view: TaskView) -> TaskView {
    if view.artifacts && view.history_length.is_none() {
        return view;
    }
    let task = Task::clone(&view.task);
    TaskView {
        task: Arc::new(shortened(task, view.history_length, view.artifacts)),
        ..view
    }
}
