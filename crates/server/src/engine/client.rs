//! A client that goes away.

use switchboard_types::model::TaskId;

use super::{Engine, OnDisconnect};
use crate::log::TaskLog;

impl Engine {
    /// Cancels the task when the client goes away, if the settings say so.
    pub(super) fn watch_client(&self, log: &TaskLog) -> ClientGuard {
        let mut guard = self.client_guard();
        guard.follow(log.id());
        guard
    }

    pub(super) fn client_guard(&self) -> ClientGuard {
        ClientGuard {
            engine: (self.shared.settings.on_disconnect == OnDisconnect::Cancel)
                .then(|| self.clone()),
            task: None,
        }
    }
}

/// Cancels a task when dropped before its time; does nothing unless the agent is set to
/// `on_disconnect: cancel`.
#[derive(Debug)]
pub(crate) struct ClientGuard {
    engine: Option<Engine>,
    task: Option<TaskId>,
}

impl ClientGuard {
    pub(crate) fn follow(&mut self, task: &TaskId) {
        if self.engine.is_some() {
            self.task = Some(task.clone());
        }
    }

    pub(crate) fn disarm(mut self) {
        self.task = None;
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        if let (Some(engine), Some(task)) = (self.engine.take(), self.task.take()) {
            let tasks = engine.shared.tasks.clone();
            if tasks.stopping().is_cancelled() {
                // It is we who go: the task goes on at the next start.
                return;
            }
            tasks.spawn(async move { engine.stop(&task).await });
        }
    }
}
