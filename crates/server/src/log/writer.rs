//! The one writer: takes everything that waits, commits it in one transaction, then wakes the readers.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::TaskId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::task_log::Batch;
use super::{Queue, Shared, TaskLog, lock};
use crate::store::{Change, Error};

/// How long the writer waits before it tries again what the store refused, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// Tasks whose events the store refused, to be tried again.
#[derive(Default)]
struct Retry {
    logs: Vec<Arc<TaskLog>>,
    delay: Option<Duration>,
    at: Option<Instant>,
}

type Ack = oneshot::Sender<Result<(), Error>>;

/// Commits what waits until `stop` fires and nothing waits any more.
pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut retry = Retry::default();
    loop {
        let mut queue = take(&shared);
        if queue.logs.is_empty() && queue.changes.is_empty() {
            tokio::select! {
                biased;
                () = shared.work.notified() => continue,
                () = retry.due() => queue.logs = std::mem::take(&mut retry.logs),
                () = stop.cancelled() => {
                    if close(&shared) {
                        return;
                    }
                    continue;
                }
            }
        }
        let stored = commit(&shared, queue, &mut retry).await;
        if stored && !retry.logs.is_empty() {
            retry.at = Some(Instant::now());
        }
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

/// Commits one batch. Tells whether the store took it.
async fn commit(shared: &Shared, queue: Queue, retry: &mut Retry) -> bool {
    let mut changes: Vec<Change> = Vec::with_capacity(queue.logs.len() + queue.changes.len());
    let mut batches: Vec<(Arc<TaskLog>, Batch)> = Vec::with_capacity(queue.logs.len());
    for log in queue.logs {
        let mut batch = log.take_batch();
        changes.append(&mut batch.changes);
        batches.push((log, batch));
    }
    let mut acks: Vec<Ack> = Vec::with_capacity(queue.changes.len());
    for (change, ack) in queue.changes {
        changes.push(change);
        acks.push(ack);
    }
    // A webhook that was made while its task went on may have events to hear already.
    let armed: Vec<TaskId> = changes.iter().filter_map(armed).collect();
    let outcome = shared.store.commit(changes).await;
    match &outcome {
        Ok(()) => {
            retry.delay = None;
            for (log, batch) in batches {
                log.commit(batch.entries);
            }
            if !armed.is_empty() {
                lock(&shared.to_push).extend(armed);
                shared.push.notify_one();
            }
        }
        Err(error) => {
            tracing::error!(%error, tasks = batches.len(), "could not store");
            for (log, batch) in batches {
                if log.rollback(batch, error) {
                    retry.logs.push(log);
                }
            }
            retry.postpone();
        }
    }
    for ack in acks {
        // Whoever asked may be gone; the change is stored all the same.
        drop(ack.send(outcome.clone()));
    }
    outcome.is_ok()
}

/// The task whose webhook was put.
fn armed(change: &Change) -> Option<TaskId> {
    match change {
        Change::PutWebhook(webhook) => Some(webhook.task.clone()),
        _ => None,
    }
}

impl Retry {
    fn postpone(&mut self) {
        let delay = self.delay.map_or(RETRY_FIRST, |d| (d * 2).min(RETRY_LAST));
        self.delay = Some(delay);
        self.at = Some(Instant::now() + delay);
    }

    async fn due(&self) {
        match self.at {
            Some(at) if !self.logs.is_empty() => tokio::time::sleep_until(at).await,
            _ => std::future::pending().await,
        }
    }
}
