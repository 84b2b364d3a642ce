//! Text that comes in drops, and leaves in events.

use std::time::Duration;

use switchboard_server::agent::{AgentError, Progress};
use switchboard_types::model::{Artifact, ArtifactId, Object, Part};
use tokio::time::{Instant, sleep_until};

/// As much as waits for company.
const FULL: usize = 16 << 10;

/// Writes one artifact.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    progress: &'a Progress,
    name: &'static str,
    waiting: String,
    begun: bool,
    /// What was written is to go.
    taken_back: bool,
    every: Duration,
    next: Instant,
}

impl<'a> Writer<'a> {
    /// Writes the artifact of that name, an event at most each `every`.
    pub(crate) fn new(progress: &'a Progress, name: &'static str, every: Duration) -> Self {
        Self {
            progress,
            name,
            waiting: String::new(),
            begun: false,
            taken_back: false,
            every,
            next: Instant::now(),
        }
    }

    /// What it writes to.
    pub(crate) fn progress(&self) -> &'a Progress {
        self.progress
    }

    pub(crate) fn add(&mut self, text: &str) {
        self.waiting.push_str(text);
    }

    /// What was written before a restart stands: what is added comes behind it.
    pub(crate) fn goes_on(&mut self) {
        self.begun = true;
    }

    /// This takes the place of all that was written.
    pub(crate) fn replace(&mut self, text: &str) {
        if self.begun && text.is_empty() {
            // What comes in its place may come soon.
            self.next = Instant::now() + self.every;
        }
        self.taken_back |= self.begun;
        self.begun = false;
        self.waiting = text.to_owned();
    }

    fn has_news(&self) -> bool {
        self.taken_back || !self.waiting.is_empty()
    }

    /// Whether what waits has waited long enough.
    pub(crate) fn is_due(&self) -> bool {
        let ripe = self.waiting.len() >= FULL || Instant::now() >= self.next;
        self.has_news() && ripe
    }

    /// Waits until what waits is to be written; for ever, if nothing does.
    pub(crate) async fn due(&self) {
        if self.has_news() {
            sleep_until(self.next).await;
        } else {
            std::future::pending().await
        }
    }

    /// Writes what waits.
    pub(crate) async fn flush(&mut self) -> Result<(), AgentError> {
        if self.has_news() {
            self.write(None, false).await?;
        }
        Ok(())
    }

    /// Writes the last piece.
    pub(crate) async fn close(mut self, metadata: Option<Object>) -> Result<(), AgentError> {
        self.write(metadata, true).await
    }

    /// Whether there is anything to write, or was: also that what was written is to go.
    pub(crate) fn has_text(&self) -> bool {
        self.begun || self.has_news()
    }

    async fn write(&mut self, metadata: Option<Object>, is_last: bool) -> Result<(), AgentError> {
        let id = ArtifactId::new(self.name);
        let id = id.map_err(|error| AgentError::new(error.to_string()))?;
        let text = std::mem::take(&mut self.waiting);
        let piece = Artifact {
            name: (!self.begun).then(|| self.name.to_owned()),
            metadata,
            ..Artifact::new(id, vec![Part::text(text)])
        };
        // The first piece begins anew, also in place of what was there before a restart.
        self.progress.chunk(piece, self.begun, is_last).await?;
        (self.begun, self.taken_back) = (true, false);
        self.next = Instant::now() + self.every;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchboard_server::agent::{Outcome, Said};
    use switchboard_server::engine::Settings;
    use switchboard_server::log::Log;
    use switchboard_server::store::MemoryStore;
    use switchboard_server::testing::agent::{FnAgent, Line, says};

    use super::*;

    #[tokio::test]
    async fn what_is_taken_back_and_not_replaced_is_still_to_be_written() {
        let agent = FnAgent::new(|_, progress| async move {
            let mut writer = Writer::new(&progress, "answer", Duration::ZERO);
            assert!(!writer.has_text());
            writer.replace("");
            assert!(!writer.has_text(), "nothing was written");
            writer.add("not for you");
            writer.flush().await?;
            writer.replace("");
            assert!(writer.has_text());
            writer.close(None).await?;
            Ok(Outcome::Completed(Said::default()))
        });
        let log = Log::new(Arc::new(MemoryStore::default()));
        let line = Line::new(&log, Arc::new(agent), Settings::default());
        let task = line.send(says("go")).await.unwrap();
        assert_eq!(task.artifacts[0].parts, [Part::text("")]);
    }
}
