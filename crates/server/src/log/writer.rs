//! The one writer: takes everything that waits, commits it in one transaction, then wakes the readers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_types::backoff::Backoff;
use switchboard_types::model::TaskId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::task_log::Batch;
use super::{Queue, Shared, TaskLog, lock};
use crate::store::{CommitReport, Error};
use crate::task::Change;

/// How long the writer waits before it tries again what the store refused, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// Tasks whose events the store refused, to be tried again, and when to try. Without tasks, the store itself is tried:
/// callers who were told that it is not ready send nothing by which it could be seen to recover.
struct Retry {
    logs: Vec<Arc<TaskLog>>,
    backoff: Backoff,
    at: Option<Instant>,
}

type Ack = oneshot::Sender<Result<(), Error>>;

/// How often the writer lets others go first while more and more comes into the queue.
const GATHER: usize = 16;

/// Where tasks come one by one, the writer lets others go first only before every so many commits: to find that nobody
/// comes costs as much as a small commit.
const GATHER_INTERVAL: u32 = 16;

/// Commits what waits until `stop` fires and nothing waits any more. Then others may work on the tasks.
pub(super) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut retry = Retry::new();
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
                        shared.holder.release();
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
    /// Who waits for a change, and the task that it is about.
    acks: Vec<(Option<TaskId>, Ack)>,
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
            work.batches.extend(batch.map(|batch| (log, batch)));
        }
        for (change, ack) in queue.changes {
            work.acks.push((change.task().cloned(), ack));
            work.changes.push(change);
        }
        work.armed.extend(work.changes.iter().filter_map(armed));
        work
    }

    fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Tells everyone what became of it. A task that was refused is not tried again: what is stored of it is not what its
    /// log expects.
    fn conclude(self, shared: &Shared, outcome: &Result<CommitReport, Error>) {
        match outcome {
            Ok(report) => {
                for (log, batch) in self.batches {
                    match report.refusal(log.id()) {
                        None => log.commit(batch.entries),
                        Some(refusal) => log.refuse(refusal),
                    }
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
        for (task, ack) in self.acks {
            let done = match outcome {
                Ok(report) => match task.and_then(|task| report.refusal(&task).cloned()) {
                    Some(refusal) => Err(refusal.into()),
                    None => Ok(()),
                },
                Err(error) => Err(error.clone()),
            };
            // Whoever asked may be gone; the change is stored all the same.
            drop(ack.send(done));
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
    const fn new() -> Self {
        Self {
            logs: Vec::new(),
            backoff: Backoff::new(RETRY_FIRST, RETRY_LAST),
            at: None,
        }
    }

    /// Tries these again when it is time.
    fn add(&mut self, mut refused: Vec<Arc<TaskLog>>) {
        self.logs.append(&mut refused);
    }

    /// A commit of so many tasks was made, or refused: then the next attempt is due, each time after a longer pause.
    fn note(&mut self, shared: &Shared, outcome: &Result<CommitReport, Error>, tasks: usize) {
        match outcome {
            Ok(_) => {
                shared.status.accepted();
                self.backoff.reset();
                self.at = (!self.logs.is_empty()).then(Instant::now);
            }
            Err(error) => {
                let now = Instant::now();
                shared.status.refused(error, tasks);
                if self.at.is_none_or(|at| at <= now) {
                    self.at = Some(now + self.backoff.next_delay());
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

#[cfg(test)]
mod tests {
    use switchboard_types::model::{Event, StatusUpdate, Task, TaskState, TaskStatus};

    use super::*;
    use crate::clock;
    use crate::log::{Cursor, Log, NewTask, Until};
    use crate::store::{MemoryStore, Refusal, Store};
    use crate::task::{Origin, Owner, fresh_id};

    /// A task that begins to work in a log.
    fn begun(log: &Log) -> (Arc<TaskLog>, CancellationToken) {
        let origin = Origin {
            id: fresh_id(),
            agent: "echo".into(),
            owner: Owner::new("ann"),
            context: fresh_id(),
        };
        let task = log.create(origin);
        let canceled = task.begin(NewTask {
            task: Arc::new(Task {
                id: task.id().clone(),
                context_id: task.origin().context.clone(),
                status: status(TaskState::Submitted),
                artifacts: Vec::new(),
                history: Vec::new(),
                metadata: None,
            }),
            changes: Vec::new(),
            decision: None,
            trace: None,
            draft: false,
        });
        goes_to(&task, TaskState::Working);
        task.uncork();
        (task, canceled)
    }

    fn status(state: TaskState) -> TaskStatus {
        TaskStatus {
            state,
            message: None,
            timestamp: Some(clock::now()),
        }
    }

    fn goes_to(task: &Arc<TaskLog>, state: TaskState) -> u64 {
        let event = Event::Status(StatusUpdate {
            task_id: task.id().clone(),
            context_id: task.origin().context.clone(),
            status: status(state),
            metadata: None,
        });
        task.append(event).unwrap()
    }

    fn is_fenced(error: &Error) -> bool {
        matches!(error, Error::Refused(Refusal::Fenced))
    }

    /// A task on which one log works, opened by another one.
    async fn shared_task() -> (Log, Log, Arc<TaskLog>, Arc<TaskLog>) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let (one, two) = (Log::new(Arc::clone(&store)), Log::new(store));
        let (held, _) = begun(&one);
        held.stored_up_to(2).await.unwrap();
        let opened = two.open(held.id()).await.unwrap().unwrap();
        (one, two, held, opened)
    }

    #[tokio::test]
    async fn a_refused_task_costs_no_stranger() {
        let (_one, two, held, opened) = shared_task().await;
        let mut strangers = Vec::new();
        for n in 0..8_652 {
            if n == 4_000 {
                goes_to(&opened, TaskState::Completed);
            }
            strangers.push(begun(&two).0);
            if n % 500 == 0 {
                tokio::task::yield_now().await;
            }
        }
        let mut refused = 0;
        for stranger in &strangers {
            refused += usize::from(stranger.stored_up_to(2).await.is_err());
        }
        assert_eq!(refused, 0);
        let error = opened.stored_up_to(3).await.unwrap_err();
        assert!(is_fenced(&error), "{error}");
        assert!(two.store_status().error().is_none());
        goes_to(&held, TaskState::Completed);
        held.stored_up_to(3).await.unwrap();
    }

    #[tokio::test]
    async fn a_refused_log_is_read_again_from_the_store() {
        let (_one, two, held, opened) = shared_task().await;
        let mut reader = Cursor::after(Arc::clone(&opened), 2, Until::TaskEnds);
        let seq = goes_to(&opened, TaskState::Failed);
        assert!(is_fenced(&opened.stored_up_to(seq).await.unwrap_err()));
        assert!(is_fenced(&reader.next().await.unwrap_err()));
        opened.kept(seq).await;

        goes_to(&held, TaskState::Completed);
        held.stored_up_to(3).await.unwrap();
        let again = two.open(held.id()).await.unwrap().unwrap();
        assert!(!Arc::ptr_eq(&again, &opened));
        let (head, _) = again.view().unwrap();
        assert_eq!((head.state, head.seq), (TaskState::Completed, 3));
    }

    #[tokio::test]
    async fn a_refusal_cancels_the_turn() {
        let (_one, _two, held, opened) = shared_task().await;
        let canceled = opened.resume_turn(2, None).unwrap();
        goes_to(&opened, TaskState::Working);
        canceled.cancelled().await;
        opened.turn_ended().await;
        goes_to(&held, TaskState::Working);
        held.stored_up_to(3).await.unwrap();
    }

    #[tokio::test]
    async fn a_task_is_free_when_the_log_that_works_on_it_is_closed() {
        let (one, two, held, _) = shared_task().await;
        assert!(one.claim(held.id()).await.unwrap());
        assert!(!two.claim(held.id()).await.unwrap());
        one.close().await;
        assert!(two.claim(held.id()).await.unwrap());
    }

    #[tokio::test]
    async fn followers_see_heads_once_they_are_committed() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let log = Log::new(Arc::clone(&store));
        begun(&log).0.stored_up_to(2).await.unwrap();
        let mut feed = log.follow_heads();
        let (task, _) = begun(&log);
        let head = feed.next().await.unwrap().unwrap();
        assert_eq!(store.head(task.id()).await.unwrap(), Some(head.clone()));
        assert_eq!((head.state, head.seq), (TaskState::Working, 2));
        goes_to(&task, TaskState::Completed);
        let head = feed.next().await.unwrap().unwrap();
        assert_eq!((head.state, head.seq), (TaskState::Completed, 3));
        assert_eq!(&head.id, task.id());
    }

    #[tokio::test]
    async fn a_slow_follower_is_told_how_much_it_has_missed() {
        let log = Log::new(Arc::new(MemoryStore::new()));
        let mut feed = log.follow_heads();
        let tasks: Vec<_> = (0..1500).map(|_| begun(&log).0).collect();
        for task in &tasks {
            task.stored_up_to(2).await.unwrap();
        }
        let lagged = feed.next().await.unwrap_err();
        assert_eq!(lagged.missed, 1500 - 1024);
        let next = feed.next().await.unwrap().unwrap();
        assert_eq!(&next.id, tasks[1500 - 1024].id());
    }
}
