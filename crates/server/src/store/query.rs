//! Lists of tasks: what is asked for, and a page of what was found.

use std::sync::Arc;

use switchboard_types::model::{ContextId, Task, TaskId, TaskState, Timestamp};
use switchboard_types::operation::TaskView;

use crate::task::{Head, Owner};

/// Which tasks to list.
#[derive(Debug, Clone)]
pub struct TaskQuery {
    /// Of this agent.
    pub agent: Arc<str>,
    /// Of this owner.
    pub owner: Owner,
    /// Only of this conversation.
    pub context: Option<ContextId>,
    /// Only in this state.
    pub state: Option<TaskState>,
    /// Only with a status of this moment or later.
    pub updated_from: Option<Timestamp>,
    /// Only those that come after this one in the order of the list.
    pub after: Option<(Timestamp, TaskId)>,
    /// At most so many.
    pub limit: usize,
    /// Only that many of the latest messages of each; all if `None`.
    pub history: Option<u32>,
    /// With artifacts.
    pub artifacts: bool,
    /// What is asked for of all tasks of the page may weigh so many bytes; the last one may go beyond. A task of which
    /// more is stored is listed without its content.
    pub bytes: usize,
}

impl TaskQuery {
    /// All tasks of an agent and owner.
    #[must_use]
    pub fn of(agent: Arc<str>, owner: Owner) -> Self {
        Self {
            agent,
            owner,
            context: None,
            state: None,
            updated_from: None,
            after: None,
            limit: usize::MAX,
            history: None,
            artifacts: true,
            bytes: usize::MAX,
        }
    }

    /// As much of a task as is asked for.
    pub(crate) fn view(&self, task: Arc<Task>) -> TaskView {
        TaskView {
            task,
            history_length: self.history,
            artifacts: self.artifacts,
        }
    }
}

/// Which tasks of all callers to list, for operators. The next page begins after the last task of the page before.
#[derive(Debug, Clone, Default)]
pub struct RecentQuery {
    /// Only of this agent.
    pub agent: Option<Arc<str>>,
    /// Only of this owner.
    pub owner: Option<Owner>,
    /// Only of this context.
    pub context: Option<ContextId>,
    /// Only in one of these states; in any, if there are none.
    pub states: Vec<TaskState>,
    /// Only with a status of this moment or later.
    pub updated_from: Option<Timestamp>,
    /// Only with a status of this moment or earlier.
    pub updated_until: Option<Timestamp>,
    /// Only those that come after this one in the order of the list.
    pub after: Option<(Timestamp, TaskId)>,
    /// At most so many.
    pub limit: usize,
}

impl RecentQuery {
    /// Whether a task matches, but for the limit.
    pub(crate) fn matches(&self, head: &Head) -> bool {
        let place = (head.updated, &head.id);
        let start = self.after.as_ref().map(|(updated, id)| (*updated, id));
        let context = self.context.as_ref();
        self.agent.as_ref().is_none_or(|agent| *agent == head.agent)
            && self.owner.as_ref().is_none_or(|owner| *owner == head.owner)
            && context.is_none_or(|context| *context == head.context)
            && (self.states.is_empty() || self.states.contains(&head.state))
            && self.updated_from.is_none_or(|from| head.updated >= from)
            && self.updated_until.is_none_or(|until| head.updated <= until)
            && start.is_none_or(|start| place < start)
    }
}

/// A page of tasks.
#[derive(Debug, Clone)]
pub struct TaskList {
    /// The tasks of this page.
    pub tasks: Vec<Listed>,
    /// Others follow.
    pub more: bool,
    /// How many match, pages apart.
    pub total: u64,
}

/// A task on a page.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Where it stands.
    pub head: Head,
    /// As much of it as was asked for; `None` if it is too large to be read along with others.
    pub task: Option<Arc<Task>>,
}
