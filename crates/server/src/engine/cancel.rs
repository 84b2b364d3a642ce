//! Stopping a task: signal, grace, force. Whatever the agent says afterwards comes too late.

use std::sync::Arc;

use switchboard_types::model::{TaskId, TaskState};
use switchboard_types::operation::{CancelTask, Response, TaskView};
use switchboard_types::{Error, ErrorKind};

use super::{Engine, Scope, release};
use crate::agent::Said;
use crate::agent::status_event;
use crate::log::TaskLog;
use crate::principal::Principal;
use crate::store;
use crate::task::lifecycle::IllegalTransition;

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
        self.end(&log, said, scope.principal.clone())
            .map_err(|_| not_cancelable(&log))?;
        let task = log.ended().await.map_err(store::Error::for_caller)?;
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
        if let Ok(Some(log)) = self.shared.log.open_internal(id).await {
            let owner = log.origin().owner.clone();
            // It may be over already: then there is nothing to stop.
            self.end(&log, Said::default(), owner.into()).ok();
        }
    }

    /// Tells the turn of a task to stop. Without one, the task is over, and the upstream is released.
    fn end(
        &self,
        log: &Arc<TaskLog>,
        said: Said,
        caller: Principal,
    ) -> Result<(), IllegalTransition> {
        self.shared.lineage.input_deadlines.remove(log.id());
        let canceled = status_event(log.origin(), TaskState::Canceled, said);
        if !log.cancel(canceled, release::pending(log.origin(), None))? {
            self.release_in_background(log, caller);
        }
        Ok(())
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
