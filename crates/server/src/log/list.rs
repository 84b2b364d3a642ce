//! Pages of tasks, bounded by bytes: what is small comes with the list, what is large is read one by one and shared.

use std::sync::Arc;

use switchboard_types::model::{Task, TaskId, Timestamp};
use switchboard_types::operation::TaskView;

use super::{LARGE, Log};
use crate::store::{Error, Head, Listed, TaskQuery, shortened};

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
    /// If the store cannot be read, or too many large tasks are held.
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
                None => self.read_listed(&head, state.is_some()).await?.map(view),
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

    /// A task that a list has found, as it stands now. One that is in another state meanwhile does not match a query for
    /// a state any more.
    async fn read_listed(&self, listed: &Head, of_state: bool) -> Result<Option<Arc<Task>>, Error> {
        let found = self.read(&listed.id).await?;
        let found = found.filter(|(head, _)| !of_state || head.state == listed.state);
        Ok(found.map(|(_, task)| task))
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
