//! Writing notes while the turn goes on.

use switchboard_server::agent::{AgentError, Said};
use switchboard_types::model::Task;

use super::note::{NAME, Note, Plan, State};
use super::run::Run;

impl Run<'_> {
    pub(super) async fn waits(&mut self, question: &Said) -> Result<(), AgentError> {
        if let Some(note) = &mut self.note {
            note.waits(&self.turn.task, &self.turn.message, &question.parts);
            self.keep_note();
        }
        self.noted().await
    }

    pub(super) async fn mark(&mut self, state: State) -> Result<(), AgentError> {
        if let Some(note) = &mut self.note {
            note.state = state;
            self.keep_note();
        }
        self.noted().await
    }

    /// Writes down what is to be done as soon as the caller has brought credentials.
    pub(super) async fn set_aside(&mut self, plan: &Plan) -> Result<(), AgentError> {
        if let Some(note) = Note::set_aside(self.note.as_ref(), self.turn, plan) {
            self.note = Some(note);
            self.keep_note();
        }
        self.noted().await
    }

    /// Writes down which task it is, as soon as that is known. One that is over needs not be found again, but its
    /// conversation may go on.
    pub(super) fn know(&mut self, task: &Task) {
        let ours = task.context_id == *self.own_context();
        let Some(note) = &mut self.note else {
            return;
        };
        self.line.learn_context(ours);
        let known = note.state == State::Running && note.task.as_deref() == Some(task.id.as_str());
        if let Some(errand) = self.errand.filter(|_| !known) {
            self.line.is_at(errand, &task.id);
        }
        if known || ours && task.status.state.is_terminal() {
            return;
        }
        note.state = State::Running;
        note.task = Some(task.id.to_string());
        note.context = Some(task.context_id.to_string());
        self.keep_note();
    }

    /// Begins to write the note. What was being written before is in its place already.
    pub(super) fn keep_note(&mut self) {
        if let (Some(progress), Some(note)) = (self.progress, &self.note)
            && let Ok(value) = serde_json::to_value(note)
        {
            let before = self.noting.take();
            self.noting = Some(Box::pin(async move {
                if let Some(before) = before {
                    before.await?;
                }
                progress.note(NAME, value).await
            }));
        }
    }

    pub(super) async fn noted(&mut self) -> Result<(), AgentError> {
        match self.noting.take() {
            Some(noting) => noting.await,
            None => Ok(()),
        }
    }
}
