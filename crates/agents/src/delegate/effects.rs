//! What a turn does to its own task. The real one is an engine's [`Progress`]; tests bring their own.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::Value;
use switchboard_server::agent::{AgentError, Progress, Said};
use switchboard_types::model::Artifact;

type Done = Result<(), AgentError>;

/// What a turn does to its own task.
#[async_trait]
pub(crate) trait Effects: Send + Sync {
    /// Emits a status update.
    async fn status(&self, said: Said) -> Done;

    /// Emits an artifact update.
    async fn artifact(&self, artifact: Artifact, append: bool, last: bool) -> Done;

    /// Waits until the task is durable: nobody else works for a task that a crash could undo.
    async fn persist(&self) -> Done;

    /// Records a private step of the task.
    async fn record(&self, name: &str, value: Value) -> Done;

    /// Records something for operators.
    fn operator_note(&self, name: &str, value: Value);
}

#[async_trait]
impl Effects for Progress {
    async fn status(&self, said: Said) -> Done {
        self.working(said).await
    }

    async fn artifact(&self, artifact: Artifact, append: bool, last: bool) -> Done {
        self.chunk(artifact, append, last).await
    }

    async fn persist(&self) -> Done {
        self.safe().await
    }

    async fn record(&self, name: &str, value: Value) -> Done {
        self.record(name, value).await
    }

    fn operator_note(&self, name: &str, value: Value) {
        self.operator_note(name, value);
    }
}

/// Emits the events of a turn. A turn that a restart cut off runs from its beginning again; if it emits the same events in
/// the same order, those that its earlier run has stored are left out.
pub(crate) struct Emitter<'a> {
    pub(crate) effects: &'a dyn Effects,
    /// How many events an earlier run of this turn has stored.
    stored: u64,
    /// How many events this run has come to.
    emitted: AtomicU64,
    /// The turn may have been begun by an earlier run.
    resumed: bool,
}

impl<'a> Emitter<'a> {
    /// An emitter that leaves out the first `stored` events, which an earlier run of a `resumed` turn has stored.
    pub(crate) fn new(effects: &'a dyn Effects, stored: u64, resumed: bool) -> Self {
        Self {
            effects,
            stored,
            emitted: AtomicU64::new(0),
            resumed,
        }
    }

    /// Emits a status update.
    pub(crate) async fn status(&self, said: Said) -> Done {
        match self.is_stored() {
            true => Ok(()),
            false => self.effects.status(said).await,
        }
    }

    /// Emits an artifact update; none without parts.
    pub(crate) async fn artifact(&self, artifact: Artifact, append: bool, last: bool) -> Done {
        if artifact.parts.is_empty() || self.is_stored() {
            return Ok(());
        }
        self.effects.artifact(artifact, append, last).await
    }

    /// Whether the next event is stored already.
    pub(crate) fn is_replaying(&self) -> bool {
        self.emitted.load(Ordering::Relaxed) < self.stored
    }

    /// Whether an earlier run came to what is next or, if that `delegates`, may have: it emits nothing before it has begun.
    pub(super) fn was_reached(&self, delegates: bool) -> bool {
        let caught_up = self.emitted.load(Ordering::Relaxed) == self.stored;
        self.is_replaying() || (delegates && self.resumed && caught_up)
    }

    /// Counts an event; whether an earlier run has stored it.
    fn is_stored(&self) -> bool {
        self.emitted.fetch_add(1, Ordering::Relaxed) < self.stored
    }
}
