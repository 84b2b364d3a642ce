//! What an agent is given for a turn on a task that is there.

use std::sync::Arc;

use switchboard_types::model::{Message, Task, TaskState};
use tokio_util::sync::CancellationToken;

use super::Engine;
use super::events::with_message;
use crate::agent::{Decided, Turn, status};
use crate::log::TaskLog;
use crate::principal::Principal;

impl Engine {
    /// A turn on an existing task, with a message that came with the event `at`.
    pub(super) fn turn_for(
        &self,
        principal: Principal,
        log: &TaskLog,
        message: Arc<Message>,
        at: u64,
        canceled: CancellationToken,
    ) -> Turn {
        let (told, task) = log.view().unzip();
        // Not by its id: clients may give one to several messages.
        let known = told.is_some_and(|told| told.seq >= at);
        let open = task.as_ref().filter(|t| t.status.state.is_interrupted());
        let question = open.and_then(|task| task.status.message.clone());
        let task = match task {
            Some(task) if known => task,
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
            began: 0,
            input_timed_out: false,
            canceled,
            trace: log.trace().map(|trace| Box::new(trace.child())),
            decided: Decided::Before,
        }
    }
}
