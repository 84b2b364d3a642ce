//! The one writer: takes everything that waits, commits it in one transaction, then wakes the readers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::TaskId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::task_log::Batch;
use super::{Queue, Shared, TaskLog, lock};
use crate::store::Error;
use crate::task::Change;

/// How long the writer waits before it tries again what the store refused, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// Tasks whose events the store refused, to be tried again, and when to try. Without tasks, the store itself is tried:
/// callers who were told that it is not ready send nothing by which it could be seen to recover.
#[derive(Default)]
struct Retry {
    logs: Vec<Arc<TaskLog>>,
    delay: Option<Duration>,
    at: Option<Instant>,
}

type Ack = oneshot::Sender<Result<(), Error>>;

/// How often the writer lets others go first while more and more comes into the queue.
const GATHER: usize = 16;

/// Where tasks come one by one, the writer lets others go first only before every so many commits: to find that nobody
/// comes costs as much as a small commit.
const GATHER_INTERVAL: u32 = 16;

/// Commits what waits until `stop` fires and nothing waits any more.
pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut retry = Retry::default();
    // Registered once, not for every commit.
    let mut stopped = pin!(stop.cancelled());
    let mut lone_commits = 0_u32;
    loop {
        if lone_commits.is_multiple_of(GATHER_INTERVAL) {
            gather(&shared).await;
        }
        let mut queue = take(&shared);
        retry.add(std::mem::take(&mut queue.refused));
        if queue.logs.is_empty() && queue.changes.is_empty() {
            tokio::select! {
                biased;
                () = shared.work.notified() => continue,
                () = retry.due() => {
                    if retry.logs.is_empty() {
                        probe(&shared, &mut retry).await;
                    }
                    lock(&shared.queue).logs.append(&mut retry.logs);
                    continue;
                }
                () = &mut stopped => {
                    if close(&shared) {
                        return;
                    }
                    continue;
                }
            }
        }
        let mut work = Work::of(queue);
        lone_commits = match work.batches.len() {
            0 | 1 => lone_commits.wrapping_add(1),
            _ => 0,
        };
        let began = Instant::now();
        let outcome = shared.store.commit(work.take_changes()).await;
        if outcome.is_ok() {
            // A refusal is quick: it would make an outage look fast.
            shared.metrics.committed(began.elapsed());
        }
        retry.note(&shared, &outcome, work.batches.len());
        work.conclude(&shared, &outcome);
    }
}

/// Finds out whether a store that has refused a commit accepts one again, by one that changes nothing.
async fn probe(shared: &Shared, retry: &mut Retry) {
    let outcome = shared.store.commit(Vec::new()).await;
    retry.note(shared, &outcome, 0);
}

/// Lets more come into the queue, as long as more comes: one transaction then serves them all.
async fn gather(shared: &Shared) {
    let waiting = || lock(&shared.queue).logs.len();
    let mut before = waiting();
    for _ in 0..GATHER {
        if before == 0 {
            return;
        }
        tokio::task::yield_now().await;
        let now = waiting();
        if now == before {
            return;
        }
        before = now;
    }
}

fn take(shared: &Shared) -> Queue {
    std::mem::take(&mut *lock(&shared.queue))
}

/// Closes the queue, unless something came into it meanwhile.
fn close(shared: &Shared) -> bool {
    let mut queue = lock(&shared.queue);
    queue.closed = queue.logs.is_empty() && queue.changes.is_empty();
    queue.closed
}

/// What is committed together.
struct Work {
    changes: Vec<Change>,
    batches: Vec<(Arc<TaskLog>, Batch)>,
    acks: Vec<Ack>,
    /// Tasks with new webhooks: one that was made while its task went on may have events to hear already.
    armed: Vec<TaskId>,
}

impl Work {
    fn of(queue: Queue) -> Self {
        let mut work = Self {
            changes: Vec::with_capacity(queue.logs.len() + queue.changes.len()),
            batches: Vec::with_capacity(queue.logs.len()),
            acks: Vec::with_capacity(queue.changes.len()),
            armed: Vec::new(),
        };
        for log in queue.logs {
            let batch = log.take_batch(&mut work.changes);
            work.batches.push((log, batch));
        }
        for (change, ack) in queue.changes {
            work.changes.push(change);
            work.acks.push(ack);
        }
        work.armed.extend(work.changes.iter().filter_map(armed));
        work
    }

    fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Tells everyone what became of it.
    fn conclude(self, shared: &Shared, outcome: &Result<(), Error>) {
        match outcome {
            Ok(()) => {
                for (log, batch) in self.batches {
                    log.commit(batch.entries);
                }
                if !self.armed.is_empty() {
                    lock(&shared.to_push).extend(self.armed);
                    shared.push.notify_one();
                }
            }
            Err(error) => {
                let batches = self.batches.into_iter();
                let kept =
                    batches.filter_map(|(log, batch)| log.rollback(batch, error).then_some(log));
                let refused: Vec<_> = kept.collect();
                lock(&shared.queue).refused.extend(refused);
                shared.work.notify_one();
            }
        }
        for ack in self.acks {
            // Whoever asked may be gone; the change is stored all the same.
            drop(ack.send(outcome.clone()));
        }
    }
}

/// The task whose webhook was put.
fn armed(change: &Change) -> Option<TaskId> {
    match change {
        Change::PutWebhook(webhook) => Some(webhook.task.clone()),
        _ => None,
    }
}

impl Retry {
    /// Tries these again when it is time.
    fn add(&mut self, mut refused: Vec<Arc<TaskLog>>) {
        self.logs.append(&mut refused);
    }

    /// A commit of so many tasks was made, or refused: then the next attempt is due, each time after a longer pause.
    fn note(&mut self, shared: &Shared, outcome: &Result<(), Error>, tasks: usize) {
        match outcome {
            Ok(()) => {
                shared.status.accepted();
                self.delay = None;
                self.at = (!self.logs.is_empty()).then(Instant::now);
            }
            Err(error) => {
                let now = Instant::now();
                shared.status.refused(error, tasks);
                if self.at.is_none_or(|at| at <= now) {
                    let delay = self.delay.map_or(RETRY_FIRST, |d| (d * 2).min(RETRY_LAST));
                    self.delay = Some(delay);
                    self.at = Some(now + delay);
                }
            }
        }
    }

    async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
