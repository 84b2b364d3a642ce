//! Stopping a task: signal, grace, force. Whatever the agent says afterwards comes too late.

use std::sync::Arc;

use switchboard_types::model::{Event, TaskId, TaskState};
use switchboard_types::operation::{CancelTask, Response, TaskView};
use switchboard_types::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;

use super::events::status_event;
use super::run::last_message;
use super::{Engine, Scope, storage};
use crate::agent::Said;
use crate::auth::Principal;
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
        let hears = log
            .cancel(status_event(log.origin(), TaskState::Canceled, said))
            .map_err(|_| not_cancelable(&log))?;
        if !hears {
            self.let_go(&log, scope.principal.clone(), None);
        }
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

    /// Tells the agent that a task is over for which it has no turn. `asked`: a question that the task never told.
    pub(super) fn let_go(&self, log: &Arc<TaskLog>, caller: Principal, asked: Option<Event>) {
        let Some(message) = last_message(log) else {
            return;
        };
        let mut turn = self.turn_for(caller, log, message, 0, CancellationToken::new());
        if let Some(Event::Status(update)) = asked {
            Arc::make_mut(&mut turn.task).status = update.status;
        }
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            let shared = &engine.shared;
            let telling = shared.agent.let_go(turn);
            drop(tokio::time::timeout(shared.settings.cancel_grace, telling).await);
        });
    }

    /// Stops a task nobody waits for any more.
    pub(super) async fn stop(&self, id: &TaskId) {
        if let Ok(Some(log)) = self.shared.log.open(id).await {
            let canceled = status_event(log.origin(), TaskState::Canceled, Said::default());
            // It may be over already: then there is nothing to stop.
            if let Ok(false) = log.cancel(canceled) {
                self.let_go(&log, log.origin().owner.clone().into(), None);
            }
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
