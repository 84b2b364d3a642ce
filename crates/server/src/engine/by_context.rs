//! Answers without a task id, for clients that cannot send one: the context says which task they answer.
//!
//! [`Authorized`](crate::authorize::Authorized) asks here before it decides, and names the task in the message. So what the
//! policy judges is what the engine does.

use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId, TaskState};
use switchboard_types::operation::Operation;
use switchboard_types::{Error, ErrorKind};

use super::Engine;
use crate::call::{Call, Origin};
use crate::principal::Principal;
use crate::store;
use crate::store::TaskQuery;
use crate::task::tool_result_id;

/// How many tasks of a context are looked at, and how many bytes of their content are read for it: only ids are needed.
const MAX_CANDIDATES: usize = 16;
const MAX_CANDIDATE_BYTES: usize = 64 << 10;

/// The fact in the error for a message whose task went on before it came.
const WENT_ON: &str = "wentOn";

impl Engine {
    /// The context of a message that may answer the question of a task it does not name. Other agents name their tasks.
    pub(crate) fn answered_context<'a>(&self, call: &'a Call) -> Option<&'a ContextId> {
        let (Operation::Send(send) | Operation::Stream(send)) = &call.operation else {
            return None;
        };
        let message = &send.message;
        let names_task = message.task_id.is_some() || tool_result_id(message).is_some();
        let by_context = self.shared.settings.answers_by_context && call.origin == Origin::Network;
        message
            .context_id
            .as_ref()
            .filter(|_| by_context && !names_task)
    }

    /// The task of this caller that waits in a context, if it is the only one.
    pub(crate) async fn waiting_in(
        &self,
        context: &ContextId,
        caller: &Principal,
    ) -> Result<Option<TaskId>, Error> {
        let mut waiting = None;
        for state in [TaskState::InputRequired, TaskState::AuthRequired] {
            let query = TaskQuery {
                context: Some(context.clone()),
                state: Some(state),
                limit: MAX_CANDIDATES,
                history: Some(0),
                artifacts: false,
                bytes: MAX_CANDIDATE_BYTES,
                ..TaskQuery::of(Arc::clone(&self.shared.name), caller.owner().clone())
            };
            let found = self
                .shared
                .log
                .store()
                .list(query)
                .await
                .map_err(store::Error::for_caller)?;
            if found.more {
                return Ok(None);
            }
            for stored in found.tasks {
                let id = stored.head.id;
                let log = self
                    .shared
                    .log
                    .open(&id)
                    .await
                    .map_err(store::Error::for_caller)?;
                // It may have gone on since, and that is not committed yet.
                if log.is_some_and(|log| log.is_waiting()) && waiting.replace(id).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(waiting)
    }
}

/// The error for an answer to a task that no longer waits.
pub(super) fn went_on(task: &TaskId) -> Error {
    let text = "the task that this message answers has continued meanwhile: send the message again";
    Error::new(ErrorKind::Unavailable, text).fact(WENT_ON, task.as_str())
}

/// Whether nothing was done, because the task no longer waited.
pub(crate) fn has_gone_on(error: &Error) -> bool {
    error.facts().iter().any(|(name, _)| name == WENT_ON)
}
