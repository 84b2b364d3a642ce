//! Recording checkpoints while the turn goes on.

use switchboard_server::agent::AgentError;
use switchboard_types::model::Task;

use super::checkpoint::{Checkpoint, NAME, Plan, State};
use super::run::Run;

impl Run<'_> {
    pub(super) async fn waits(&mut self) -> Result<(), AgentError> {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.waits(self.turn);
            self.record_checkpoint();
        }
        self.recorded().await
    }

    pub(super) async fn mark(&mut self, state: State) -> Result<(), AgentError> {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.state = state;
            self.record_checkpoint();
        }
        self.recorded().await
    }

    /// Writes down what is to be done as soon as the caller has brought credentials.
    pub(super) async fn set_aside(&mut self, plan: &Plan) -> Result<(), AgentError> {
        if let Some(checkpoint) = Checkpoint::set_aside(self.checkpoint.as_ref(), self.turn, plan) {
            self.checkpoint = Some(checkpoint);
            self.record_checkpoint();
        }
        self.recorded().await
    }

    /// Writes down which task it is, as soon as that is known. One that is over need not be found again, but its
    /// conversation may go on.
    pub(super) fn know(&mut self, task: &Task) {
        let ours = task.context_id == *self.own_context();
        let Some(checkpoint) = &mut self.checkpoint else {
            return;
        };
        self.line.learn_context(ours);
        let known = checkpoint.state == State::Running
            && checkpoint.task.as_deref() == Some(task.id.as_str());
        if let Some(errand) = self.errand.filter(|_| !known) {
            self.line.is_at(errand, &task.id);
        }
        if known || ours && task.status.state.is_terminal() {
            return;
        }
        checkpoint.state = State::Running;
        checkpoint.task = Some(task.id.to_string());
        checkpoint.context = Some(task.context_id.to_string());
        self.record_checkpoint();
    }

    /// Begins to write the checkpoint. What was being written before is in its place already.
    pub(super) fn record_checkpoint(&mut self) {
        if let (Some(progress), Some(checkpoint)) = (self.progress, &self.checkpoint)
            && let Ok(value) = serde_json::to_value(checkpoint)
        {
            let before = self.recording.take();
            self.recording = Some(Box::pin(async move {
                if let Some(before) = before {
                    before.await?;
                }
                progress.record(NAME, value).await
            }));
        }
    }

    pub(super) async fn recorded(&mut self) -> Result<(), AgentError> {
        match self.recording.take() {
            Some(recording) => recording.await,
            None => Ok(()),
        }
    }
}
