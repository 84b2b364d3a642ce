//! A page of a list, filled task by task until its budget is used up. The same for all stores: they only find tasks.

use std::sync::Arc;

use switchboard_types::model::Task;

use super::{Error, Listed, TaskQuery};
use crate::task::{Head, StoredTask, lifecycle};

/// How much may be stored of the large tasks of one page, in bytes: all of it is read to answer.
const MAX_LARGE: usize = 32 << 20;

/// A page that is being filled.
#[derive(Debug)]
pub(super) struct Page {
    history: Option<u32>,
    artifacts: bool,
    budget: usize,
    shown: usize,
    large: usize,
    tasks: Vec<Listed>,
}

impl Page {
    pub(super) fn new(query: &TaskQuery) -> Self {
        Self {
            history: query.history,
            artifacts: query.artifacts,
            budget: query.bytes,
            shown: 0,
            large: 0,
            tasks: Vec::new(),
        }
    }

    /// Whether a task of which so many bytes are stored is listed without its content.
    pub(super) fn is_large(&self, stored: usize) -> bool {
        stored > self.budget
    }

    /// Whether there is room for another task.
    pub(super) fn has_room(&self) -> bool {
        self.tasks.is_empty() || (self.shown < self.budget && self.large < MAX_LARGE)
    }

    /// Adds a task; what is not asked for goes at once.
    pub(super) fn push(&mut self, stored: StoredTask) -> Result<(), Error> {
        let head = stored.head.clone();
        let task = shortened(lifecycle::fold(stored)?, self.history, self.artifacts);
        if self.budget < usize::MAX {
            self.shown = self.shown.saturating_add(task.weight());
        }
        let task = Some(Arc::new(task));
        self.tasks.push(Listed { head, task });
        Ok(())
    }

    /// Adds a task that is read later, and of which so many bytes are stored.
    pub(super) fn push_large(&mut self, head: Head, stored: usize) {
        self.large = self.large.saturating_add(stored);
        self.tasks.push(Listed { head, task: None });
    }

    pub(super) fn into_tasks(self) -> Vec<Listed> {
        self.tasks
    }
}

/// The task without what is not asked for.
pub(crate) fn shortened(mut task: Task, history: Option<u32>, artifacts: bool) -> Task {
    if !artifacts {
        task.artifacts = Vec::new();
    }
    if let Some(history) = history {
        let wanted = usize::try_from(history).unwrap_or(usize::MAX);
        let from = task.history.len().saturating_sub(wanted);
        task.history = task.history.split_off(from);
    }
    task
}
