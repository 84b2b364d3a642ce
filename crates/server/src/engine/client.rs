//! A client that goes away.

use switchboard_types::model::TaskId;

use super::{Engine, OnDisconnect};
use crate::log::TaskLog;

impl Engine {
    /// Cancels the task when the guard is dropped before it is disarmed, if the settings say so.
    pub(super) fn watch_client(&self, log: &TaskLog) -> ClientGuard {
        ClientGuard {
            canceled: self
                .cancels_abandoned()
                .then(|| (self.clone(), log.id().clone())),
        }
    }

    /// What to call when the reader of a stream leaves early, if the settings say so.
    pub(super) fn on_abandoned(&self, log: &TaskLog) -> Option<Box<dyn FnOnce() + Send + Sync>> {
        if !self.cancels_abandoned() {
            return None;
        }
        let (engine, task) = (self.clone(), log.id().clone());
        Some(Box::new(move || engine.cancel_abandoned(task)))
    }

    fn cancels_abandoned(&self) -> bool {
        self.shared.settings.on_disconnect == OnDisconnect::Cancel
    }

    fn cancel_abandoned(self, task: TaskId) {
        let tasks = self.shared.tasks.clone();
        if tasks.stopping().is_cancelled() {
            // It is we who go: the task goes on at the next start.
            return;
        }
        tasks.spawn(async move { self.stop(&task).await });
    }
}

/// Cancels a task when dropped before its time; does nothing unless the agent is set to
/// `on_disconnect: cancel`.
#[derive(Debug)]
pub(super) struct ClientGuard {
    canceled: Option<(Engine, TaskId)>,
}

impl ClientGuard {
    pub(super) fn disarm(mut self) {
        self.canceled = None;
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        if let Some((engine, task)) = self.canceled.take() {
            engine.cancel_abandoned(task);
        }
    }
}
