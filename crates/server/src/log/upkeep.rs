//! Keeps the store small: finished tasks are folded into their snapshots after the replay window, and go
//! when their time is over. In small batches, never touching a task that is not over.

use std::time::Duration;

use futures_util::future::try_join_all;
use switchboard_types::model::TaskState;

use super::Log;
use crate::clock;
use crate::shutdown::Tasks;
use crate::store::{Change, Error, Snapshot};

/// How often the store is swept.
const INTERVAL: Duration = Duration::from_secs(60);
/// How many tasks are taken at once, in one transaction; others get a turn in between.
const BATCH: usize = 256;
/// What the tasks weigh together that are folded in one commit, roughly, in bytes.
const MAX_BATCH_WEIGHT: usize = 32 << 20;

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
    pub folded: usize,
    /// Tasks that are gone.
    pub removed: usize,
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
                let gone = due.iter().map(|id| self.commit(Change::Remove(id.clone())));
                try_join_all(gone).await?;
                for id in &due {
                    self.shared.registry.forget(id);
                }
                swept.removed += due.len();
                if due.len() < BATCH {
                    break;
                }
            }
        }
        if let Some(window) = retention.replay_window {
            swept.folded = self.fold_finished(window).await?;
        }
        self.forget_answers(retention.idempotency_keys).await?;
        Ok(swept)
    }

    async fn forget_answers(&self, keep: Duration) -> Result<(), Error> {
        loop {
            let before = clock::before_now(keep);
            let old = self.store().old_answers(before, BATCH).await?;
            let many = old.len() == BATCH;
            let gone = old
                .into_iter()
                .map(|key| self.commit(Change::ForgetAnswer(key, before)));
            try_join_all(gone).await?;
            if !many {
                return Ok(());
            }
        }
    }

    async fn keep(&self, snapshots: Vec<Snapshot>) -> Result<usize, Error> {
        let count = snapshots.len();
        let kept = snapshots.into_iter().map(|s| self.commit(Change::Fold(s)));
        try_join_all(kept).await?;
        Ok(count)
    }

    async fn fold_finished(&self, window: Duration) -> Result<usize, Error> {
        let mut folded = 0;
        loop {
            let before = clock::before_now(window);
            let due = self.store().foldable(before, BATCH).await?;
            let (mut snapshots, mut weight) = (Vec::with_capacity(due.len()), 0);
            for id in &due {
                if let Some((head, task)) = self.read(id).await? {
                    weight += task.weight();
                    snapshots.push(Snapshot {
                        task,
                        seq: head.seq,
                    });
                }
                if weight >= MAX_BATCH_WEIGHT {
                    folded += self.keep(std::mem::take(&mut snapshots)).await?;
                    weight = 0;
                }
            }
            folded += self.keep(snapshots).await?;
            if due.len() < BATCH {
                return Ok(folded);
            }
        }
    }
}
