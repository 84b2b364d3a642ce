//! Writing notes while the turn goes on.

use switchboard_server::agent::{AgentError, Said};

use super::note::{NAME, State};
use super::run::Run;

impl Run<'_> {
    pub(super) async fn waits(&mut self, question: &Said) -> Result<(), AgentError> {
        if let Some(note) = &mut self.note {
            note.waits(&question.parts);
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
