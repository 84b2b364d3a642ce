//! Keeps the store small: finished tasks are folded into their snapshots after the replay window, and go
//! when their time is over. In small batches, never touching a task that is not over.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::TaskState;

use super::Log;
use crate::clock;
use crate::shutdown::Tasks;
use crate::store::{Change, Error, Snapshot};

/// How often the store is swept.
const INTERVAL: Duration = Duration::from_secs(60);
/// How many tasks are taken at once; others get a turn in between.
const BATCH: usize = 64;

/// How long things are kept, counted from a task's end; `None` is for ever.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Completed tasks.
    pub completed: Option<Duration>,
    /// Failed tasks.
    pub failed: Option<Duration>,
    /// Canceled tasks.
    pub canceled: Option<Duration>,
    /// Rejected tasks.
    pub rejected: Option<Duration>,
    /// The single events of a finished task; afterwards only the task itself can be read.
    pub replay_window: Option<Duration>,
    /// Idempotency keys, counted from the first request.
    pub idempotency_keys: Duration,
}

impl Retention {
    fn of(&self) -> [(TaskState, Option<Duration>); 4] {
        [
            (TaskState::Completed, self.completed),
            (TaskState::Failed, self.failed),
            (TaskState::Canceled, self.canceled),
            (TaskState::Rejected, self.rejected),
        ]
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Tasks folded into their snapshots.
    pub folded: u64,
    /// Tasks that are gone.
    pub removed: u64,
}

impl Log {
    /// Sweeps the store from time to time until shutdown.
    pub fn keep_up(&self, retention: Retention, tasks: &Tasks) {
        let log = self.clone();
        let stopping = tasks.stopping().clone();
        tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(INTERVAL) => {}
                    () = stopping.cancelled() => return,
                }
                tokio::select! {
                    swept = log.sweep(&retention) => match swept {
                        Ok(swept) if swept != Swept::default() => {
                            tracing::info!(swept.folded, swept.removed, "swept the store");
                        }
                        Ok(_) => {}
                        Err(error) => tracing::warn!(%error, "could not sweep the store"),
                    },
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// Folds and removes what is due.
    ///
    /// # Errors
    ///
    /// If the store could not; what was swept before stays so.
    pub async fn sweep(&self, retention: &Retention) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        for (state, keep) in retention.of() {
            let Some(keep) = keep else { continue };
            loop {
                let before = clock::before_now(keep);
                let due = self.store().expired(state, before, BATCH).await?;
                for id in &due {
                    self.commit(Change::Remove(id.clone())).await?;
                    self.shared.registry.forget(id);
                    swept.removed += 1;
                }
                if due.len() < BATCH {
                    break;
                }
            }
        }
        if let Some(window) = retention.replay_window {
            swept.folded = self.fold_finished(window).await?;
        }
        let forgotten = clock::before_now(retention.idempotency_keys);
        self.commit(Change::ForgetAnswers(forgotten)).await?;
        Ok(swept)
    }

    async fn fold_finished(&self, window: Duration) -> Result<u64, Error> {
        let mut folded = 0;
        loop {
            let before = clock::before_now(window);
            let due = self.store().foldable(before, BATCH).await?;
            for id in &due {
                if let Some((head, task)) = self.read(id).await? {
                    let snapshot = Snapshot {
                        task: Arc::clone(&task),
                        seq: head.seq,
                    };
                    self.commit(Change::Fold(snapshot)).await?;
                    folded += 1;
                }
            }
            if due.len() < BATCH {
                return Ok(folded);
            }
        }
    }
}
