//! Text that comes in drops, and leaves in events.

use std::time::Duration;

use switchboard_server::agent::{AgentError, Progress};
use switchboard_types::model::{Artifact, ArtifactId, Object, Part};
use tokio::time::{Instant, sleep_until};

use super::messages::ANSWER;

/// As much as waits for company.
const FULL: usize = 16 << 10;

/// Writes one artifact.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    progress: &'a Progress,
    waiting: String,
    begun: bool,
    every: Duration,
    next: Instant,
}

impl<'a> Writer<'a> {
    /// Writes the answer, an event at most each `every`.
    pub(super) fn new(progress: &'a Progress, every: Duration) -> Self {
        Self {
            progress,
            waiting: String::new(),
            begun: false,
            every,
            next: Instant::now(),
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.waiting.push_str(text);
    }

    /// Whether what waits has waited long enough.
    pub(super) fn is_due(&self) -> bool {
        let ripe = self.waiting.len() >= FULL || Instant::now() >= self.next;
        !self.waiting.is_empty() && ripe
    }

    /// Waits until what waits is to be written; for ever, if nothing does.
    pub(super) async fn due(&self) {
        if self.waiting.is_empty() {
            std::future::pending().await
        } else {
            sleep_until(self.next).await;
        }
    }

    /// Writes what waits.
    pub(super) async fn flush(&mut self) -> Result<(), AgentError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.write(None).await
    }

    /// Writes the last piece.
    pub(super) async fn close(mut self, metadata: Object) -> Result<(), AgentError> {
        self.write(Some(metadata)).await
    }

    async fn write(&mut self, last: Option<Object>) -> Result<(), AgentError> {
        let id = ArtifactId::new(ANSWER);
        let id = id.map_err(|error| AgentError::new(error.to_string()))?;
        let text = std::mem::take(&mut self.waiting);
        let is_last = last.is_some();
        let piece = Artifact {
            name: (!self.begun).then(|| ANSWER.to_owned()),
            metadata: last,
            ..Artifact::new(id, vec![Part::text(text)])
        };
        // The first piece begins anew, also in place of what was there before a restart.
        self.progress.chunk(piece, self.begun, is_last).await?;
        self.begun = true;
        self.next = Instant::now() + self.every;
        Ok(())
    }
}
