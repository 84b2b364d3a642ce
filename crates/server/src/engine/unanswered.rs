//! Questions that nobody answers in time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use switchboard_types::ErrorKind;
use switchboard_types::model::{TaskId, TaskState};

use super::events::{failure, status_event};
use super::run::last_message;
use super::{Engine, OnInputTimeout, untold};
use crate::agent::Said;
use crate::log::TaskLog;

impl Engine {
    /// Bounds how long a task waits for an answer, or for credentials.
    pub(super) fn watch_input(&self, log: &TaskLog) {
        let (seq, state) = log.last();
        if state.is_interrupted() {
            self.expire_input_after(log.id().clone(), seq, self.shared.settings.input_timeout);
        }
    }

    /// Acts on a question that is still open `after` that long; `asked` is the event that asked it.
    pub(super) fn expire_input_after(&self, id: TaskId, asked: u64, after: Duration) {
        let engine = self.clone();
        self.shared.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = engine.shared.tasks.stopping().cancelled() => return,
            }
            match engine.shared.log.open_internal(&id).await {
                Ok(Some(log)) => engine.expire_input(&log, asked).await,
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, task = %id, "could not expire an unanswered question")
                }
            }
        });
    }

    async fn expire_input(&self, log: &Arc<TaskLog>, asked: u64) {
        let settings = &self.shared.settings;
        // No agent continues without the credentials that it asked for, whatever `on_input_timeout` says.
        let wants_credentials = log.last().1 == TaskState::AuthRequired;
        if settings.on_input_timeout == OnInputTimeout::Fail || wants_credentials {
            let seconds = settings.input_timeout.as_secs_f64();
            let text = match wants_credentials {
                true => format!("input timeout: no credentials within {seconds} s"),
                false => format!("input timeout: no answer within {seconds} s"),
            };
            let failed = failure(&text, ErrorKind::InputTimeout.reason());
            let failed = status_event(log.origin(), TaskState::Failed, failed);
            if log.append_if_idle(asked, failed, Some(untold::noted(log.origin(), None))) {
                let owner = log.origin().owner.clone();
                self.latest().tell(log, owner.into());
            }
            return;
        }
        // What was said before a secret was asked for goes on without it.
        let mut waiting = match log.more_waits() {
            true => self.waiting(log, asked).await,
            false => VecDeque::new(),
        };
        let next = waiting.pop_front();
        let said = match &next {
            Some(_) => Said::default(),
            None => Said::text("Continuing without client input..."),
        };
        let working = status_event(log.origin(), TaskState::Working, said);
        let Some(canceled) = log.begin_turn(asked, Some(working), waiting) else {
            return;
        };
        let input_timed_out = next.is_none();
        match next.or_else(|| last_message(log)) {
            Some(message) => {
                let (engine, owner) = (self.latest(), log.origin().owner.clone());
                let mut turn = engine.turn_for(owner.into(), log, message, 0, canceled);
                turn.input_timed_out = input_timed_out;
                engine.start_when_there_is_room(log, turn);
            }
            None => log.turn_is_over(),
        }
    }
}
