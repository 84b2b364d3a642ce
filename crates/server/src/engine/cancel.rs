//! Stopping a task: signal, grace, force. Whatever the agent says afterwards comes too late.

use std::sync::Arc;

use switchboard_types::model::{TaskId, TaskState};
use switchboard_types::operation::{CancelTask, Response, TaskView};
use switchboard_types::{Error, ErrorKind};

use super::events::status_event;
use super::{Engine, Scope, storage};
use crate::agent::Said;
use crate::log::TaskLog;

impl Engine {
    pub(super) async fn cancel(
        &self,
        scope: &Scope,
        cancel: &CancelTask,
    ) -> Result<Response, Error> {
        let log = self.task_of(scope, &cancel.id).await?;
        let said = Said {
            metadata: cancel.metadata.clone(),
            ..Said::default()
        };
        log.cancel(status_event(log.origin(), TaskState::Canceled, said))
            .map_err(|_| not_cancelable(&log))?;
        let task = log.ended().await.map_err(storage)?;
        if task.status.state != TaskState::Canceled {
            // It ended by itself before the signal reached it.
            return Err(not_cancelable(&log));
        }
        Ok(Response::Task(TaskView {
            task,
            history_length: None,
            artifacts: true,
        }))
    }

    /// Stops a task nobody waits for any more.
    pub(super) async fn stop(&self, id: &TaskId) {
        if let Ok(Some(log)) = self.shared.log.open(id).await {
            let canceled = status_event(log.origin(), TaskState::Canceled, Said::default());
            // It may be over already: then there is nothing to stop.
            log.cancel(canceled).ok();
        }
    }
}

fn not_cancelable(log: &Arc<TaskLog>) -> Error {
    let state = log.last().1;
    Error::new(
        ErrorKind::TaskNotCancelable,
        format!("task cannot be canceled: it is {}", state.name()),
    )
    .fact("taskId", log.id().as_str())
    .fact("state", state.name())
}
