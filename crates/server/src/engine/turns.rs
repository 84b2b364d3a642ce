//! What an agent is given for a turn on a task that is there.

use std::sync::Arc;

use switchboard_types::model::{Message, Task, TaskState};
use tokio_util::sync::CancellationToken;

use super::events::{status, with_message};
use super::question::is_redacted;
use super::{Engine, Scope};
use crate::agent::{Decided, Turn};
use crate::auth::Principal;
use crate::log::TaskLog;

impl Engine {
    /// A turn on an existing task.
    pub(super) fn turn(
        &self,
        scope: &Scope,
        log: &TaskLog,
        message: Arc<Message>,
        canceled: CancellationToken,
    ) -> Turn {
        self.turn_for(scope.principal.clone(), log, message, canceled)
    }

    pub(super) fn turn_for(
        &self,
        principal: Principal,
        log: &TaskLog,
        message: Arc<Message>,
        canceled: CancellationToken,
    ) -> Turn {
        let task = log.view().map(|(_, task)| task);
        let open = task.as_ref().filter(|t| t.status.state.is_interrupted());
        let question = open.and_then(|task| task.status.message.clone());
        // Clients may give one id to several messages.
        let same = |m: &Arc<Message>| m.parts == message.parts || is_redacted(m);
        let known = |task: &Task| task.history.iter().any(|m| m.id == message.id && same(m));
        let task = match task {
            Some(task) if known(&task) => task,
            Some(task) => Arc::new(with_message(&task, &message)),
            None => Arc::new(Task {
                id: log.id().clone(),
                context_id: log.origin().context.clone(),
                status: status(TaskState::Working, None),
                artifacts: Vec::new(),
                history: vec![Arc::clone(&message)],
                metadata: None,
            }),
        };
        Turn {
            metadata: task.metadata.clone(),
            task,
            message,
            question,
            accepted_output_modes: Vec::new(),
            place: Arc::clone(&self.shared.place),
            principal,
            emitted: 0,
            input_timed_out: false,
            canceled,
            trace: log.trace().map(|trace| Box::new(trace.child())),
            decided: Decided::Before,
        }
    }
}
