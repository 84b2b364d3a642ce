//! Keeps the store small: finished tasks are folded into their snapshots after the replay window, and go
//! when their time is over. In small batches, never touching a task that is not over.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use switchboard_types::model::{Task, TaskId, TaskState};

use super::Log;
use crate::clock;
use crate::shutdown::Tasks;
use crate::store::Error;
use crate::task::{Change, Head, Snapshot};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

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

impl Default for Retention {
    /// Finished tasks are kept for 30 days, their single events for one: these weigh far more than what they add up to.
    fn default() -> Self {
        Self::of_tasks(DEFAULT_RETENTION)
    }
}

impl Retention {
    /// For tasks in memory: everything is kept for a day. A month of tasks would fill it.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::of_tasks(DAY)
    }

    fn of_tasks(time: Duration) -> Self {
        Self {
            completed: Some(time),
            failed: Some(time),
            canceled: Some(time),
            rejected: Some(time),
            replay_window: Some(DAY),
            idempotency_keys: DAY,
        }
    }

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
                log.shared.task_ends.flush();
                tokio::select! {
                    swept = log.sweep(&retention) => match swept {
                        Ok(swept) if swept != Swept::default() => {
                            tracing::info!(swept.folded, swept.removed, "retention sweep finished");
                        }
                        Ok(_) => {}
                        Err(error) => tracing::warn!(%error, "retention sweep failed"),
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
            let so_far = folded;
            let due = self.store().foldable(before, BATCH).await?;
            let (mut snapshots, mut weight) = (Vec::with_capacity(due.len()), 0);
            for id in &due {
                if let Some((head, task)) = self.read_to_fold(id).await? {
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
            // Those that were skipped would be found again.
            if due.len() < BATCH || folded == so_far {
                return Ok(folded);
            }
        }
    }

    /// A task to fold. One that cannot be read does not keep others from being folded.
    async fn read_to_fold(&self, id: &TaskId) -> Result<Option<(Head, Arc<Task>)>, Error> {
        match self.read_internal(id).await {
            Err(error @ (Error::Damaged(_) | Error::Exhausted(_))) => {
                tracing::warn!(task = %id, %error, "retention sweep skipped an unreadable task");
                Ok(None)
            }
            read => read,
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::testing::store_suite::{Story, at, commit};
    use crate::testing::troubled::{Request, Trouble, Troubled};

    impl Retention {
        /// Everything is kept, but for events.
        pub(in crate::log) fn replay(window: Duration) -> Self {
            Self {
                completed: None,
                failed: None,
                canceled: None,
                rejected: None,
                replay_window: Some(window),
                idempotency_keys: Duration::MAX,
            }
        }
    }

    /// One task is damaged.
    #[derive(Debug)]
    struct DamagedTask(TaskId);

    #[async_trait]
    impl Trouble for DamagedTask {
        async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
            match request {
                Request::Task(id) if *id == self.0 => Err(Error::Damaged("no task".to_owned())),
                _ => Ok(()),
            }
        }
    }

    #[tokio::test]
    async fn a_task_that_cannot_be_read_does_not_stop_the_sweep() {
        let mut stories = [1, 2].map(Story::new);
        let store = Arc::new(Troubled::by(DamagedTask(stories[0].id().clone())));
        for story in &mut stories {
            commit(&*store, [story.step(TaskState::Working, at(1))]).await;
            for _ in 0..100 {
                commit(&*store, [story.say("more")]).await;
            }
            commit(&*store, [story.step(TaskState::Completed, at(2))]).await;
        }
        let log = Log::new(store);
        let swept = log.sweep(&Retention::replay(Duration::ZERO)).await;
        assert_eq!(swept.unwrap().folded, 1);
    }
}
