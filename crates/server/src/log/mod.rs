//! The log: the one truth about tasks.
//!
//! [`TaskLog::append`] is the only way an event comes into being. It is checked, numbered and queued; the
//! writer commits everything that waits in one transaction, and only then readers see it. Readers are
//! [`Cursor`]s. Nothing is told before it is stored.

mod cursor;
mod head_feed;
mod list;
mod loads;
mod registry;
mod store_status;
mod task_end;
mod task_log;
mod trimmed;
mod upkeep;
mod writer;

use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};

use switchboard_types::model::{Message, Task, TaskId};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::metrics::{Meter, Metrics};
use crate::shutdown::Tasks;
use crate::store::{Error, Store};
use crate::task::{Change, Head, Holder, Origin, Owner, TurnRecord, fresh_id};
use crate::trace::{Spans, Trace};

pub use cursor::{Cursor, Item, Until};
pub use head_feed::{FeedGap, HeadFeed};
pub(crate) use list::{TaskPlace, Visible};
pub use store_status::StoreStatus;
pub use task_end::{TASK_LOG, created_at, duration_ms, reason};
pub use task_log::{BegunTurn, INTERNAL, Joined, NewTask, Received, TaskLog};
pub(crate) use trimmed::trimmed;
pub use upkeep::{Retention, Swept};

use head_feed::HeadSender;
pub(crate) use loads::DEFAULT_ANSWERS;
use loads::{Bound, Loads};
use registry::Registry;
use task_end::TaskEndLog;

/// All tasks, live ones in memory, the rest in the store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Log {
    shared: Arc<Shared>,
    writer: Tasks,
}

/// What the log, its task logs and the writer share.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    /// Who appends, to the store: this log.
    holder: Arc<Holder>,
    queue: Mutex<Queue>,
    /// Rings when the queue is no longer empty.
    work: Notify,
    registry: Registry,
    loads: Loads,
    /// Tasks with webhooks that have new events.
    to_push: Mutex<Vec<TaskId>>,
    push: Notify,
    metrics: Arc<Metrics>,
    status: Arc<StoreStatus>,
    task_ends: TaskEndLog,
    heads: HeadSender,
    /// Who wants to know of what is done.
    spans: OnceLock<Spans>,
}

/// What waits to be committed.
#[derive(Debug, Default)]
struct Queue {
    logs: Vec<Arc<TaskLog>>,
    changes: Vec<(Change, oneshot::Sender<Result<(), Error>>)>,
    /// What the store refused, to be tried again later.
    refused: Vec<Arc<TaskLog>>,
    /// The writer has ended: nothing is stored any more.
    closed: bool,
}

impl Log {
    /// A log on `store`; its writer runs until [`Log::close`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let shared = Arc::new(Shared {
            store,
            holder: Holder::new(),
            queue: Mutex::default(),
            work: Notify::new(),
            registry: Registry::default(),
            loads: Loads::default(),
            to_push: Mutex::default(),
            push: Notify::new(),
            metrics: Arc::default(),
            status: Arc::default(),
            task_ends: TaskEndLog::default(),
            heads: HeadSender::default(),
            spans: OnceLock::new(),
        });
        let writer = Tasks::default();
        writer.spawn(writer::run(Arc::clone(&shared), writer.stopping().clone()));
        Self { shared, writer }
    }

    /// Commits what waits and ends the writer.
    pub async fn close(&self) {
        self.writer.stop();
        self.writer.drain(std::time::Duration::from_secs(30)).await;
        self.shared.task_ends.flush();
    }

    /// The store behind the log, for questions. Changes go through the log.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Whether the store accepts commits.
    #[must_use]
    pub fn store_status(&self) -> &Arc<StoreStatus> {
        &self.shared.status
    }

    /// The numbers of all that goes through this log.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Tells what is done from now on, also of what is taken up again; a second time does nothing.
    pub fn tell_spans(&self, spans: Spans) {
        self.shared.spans.get_or_init(|| spans);
    }

    /// The trace that the latest turn of a task belongs to, if it belongs to one.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn trace_of(&self, task: &TaskId) -> Result<Option<Trace>, Error> {
        self.shared.trace_of(task).await
    }

    /// The trace that a turn belongs to, if it belongs to one.
    pub(crate) fn trace_in(&self, turn: &TurnRecord) -> Option<Trace> {
        self.shared.trace_in(turn)
    }

    /// A log for a new task. Nobody finds it before its first event is stored.
    #[must_use]
    pub fn create(&self, origin: Origin) -> Arc<TaskLog> {
        let meter = self.shared.metrics.agent(&origin.agent);
        self.create_for(origin, &meter)
    }

    /// The same, for an agent whose numbers are at hand.
    pub(crate) fn create_for(&self, origin: Origin, meter: &Arc<Meter>) -> Arc<TaskLog> {
        let shared = Arc::clone(&self.shared);
        Arc::new(TaskLog::new(shared, origin, Arc::clone(meter)))
    }

    /// A log that holds nothing but a bare answer given before.
    #[must_use]
    pub(crate) fn replied(&self, message: Arc<Message>) -> Arc<TaskLog> {
        let nowhere = Origin {
            id: fresh_id(),
            agent: Arc::from(""),
            owner: Owner::new(""),
            context: message.context_id.clone().unwrap_or_else(fresh_id),
        };
        let log = self.create(nowhere);
        log.end_with_reply(message);
        log
    }

    /// The log of a task, live or stored.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or callers are reading too many large tasks.
    pub async fn open(&self, id: &TaskId) -> Result<Option<Arc<TaskLog>>, Error> {
        self.open_within(id, Bound::Budget).await
    }

    /// The same for work of the server itself, which goes on however much callers are reading.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn open_internal(&self, id: &TaskId) -> Result<Option<Arc<TaskLog>>, Error> {
        self.open_within(id, Bound::None).await
    }

    async fn open_within(&self, id: &TaskId, bound: Bound) -> Result<Option<Arc<TaskLog>>, Error> {
        loop {
            let (found, epoch) = self.shared.registry.find(id);
            if found.is_some() {
                return Ok(found);
            }
            // Boxed, as below: the future of every call would have room for it.
            let Some((head, task)) = Box::pin(self.shared.load(id, bound)).await? else {
                return Ok(None);
            };
            let has_webhooks = !self.shared.store.webhooks(id).await?.is_empty();
            let turn = match head.state.is_terminal() {
                true => None,
                false => self.shared.store.turn(id).await?,
            };
            let log = TaskLog::stored(Arc::clone(&self.shared), &head, task, turn, has_webhooks);
            log.keeps_its_task();
            if let Some(log) = self.shared.registry.admit(Arc::new(log), epoch) {
                return Ok(Some(log));
            }
        }
    }

    /// A task as it is stored, with where it stands; without bringing it to life.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or callers are reading too many large tasks.
    pub async fn read(&self, id: &TaskId) -> Result<Option<(Head, Arc<Task>)>, Error> {
        if let Some(log) = self.shared.registry.find(id).0
            && let Some(view) = log.view_to_send()?
        {
            return Ok(Some(view));
        }
        Box::pin(self.shared.load(id, Bound::Budget)).await
    }

    /// The same for work of the server itself, which goes on however much callers are reading.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn read_internal(
        &self,
        id: &TaskId,
    ) -> Result<Option<(Head, Arc<Task>)>, Error> {
        if let Some(log) = self.shared.registry.find(id).0
            && let Some(view) = log.view()
        {
            return Ok(Some(view));
        }
        Box::pin(self.shared.load(id, Bound::None)).await
    }

    /// Counts a task that the server holds for itself and shares with nobody among those that are read from the store.
    pub(crate) fn count_load(&self, task: &Arc<Task>) {
        self.shared.loads.count(task);
    }

    /// Bounds how many bytes of large tasks, read from the store, readers may hold at once.
    pub fn limit_loads(&self, bytes: usize) {
        self.shared.loads.limit(bytes);
    }

    /// Whether this log may work on a task: no other log on the same store does.
    ///
    /// # Errors
    ///
    /// If the store cannot tell.
    pub async fn claim(&self, task: &TaskId) -> Result<bool, Error> {
        self.shared.store.claim(task, &self.shared.holder).await
    }

    /// Commits a change that is no event.
    ///
    /// # Errors
    ///
    /// If the store could not; nothing was changed then.
    pub async fn commit(&self, change: Change) -> Result<(), Error> {
        self.shared.commit(change).await
    }

    /// Waits for tasks with webhooks to have new events, and names them.
    pub(crate) async fn to_push(&self) -> Vec<TaskId> {
        loop {
            let ring = self.shared.push.notified();
            let tasks = std::mem::take(&mut *lock(&self.shared.to_push));
            if !tasks.is_empty() {
                return tasks;
            }
            ring.await;
        }
    }

    /// Ends the writer when this fires: for tests that crash on purpose.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        self.writer.stopping()
    }
}

impl Shared {
    async fn trace_of(&self, task: &TaskId) -> Result<Option<Trace>, Error> {
        let turn = self.store.turn(task).await?;
        Ok(turn.and_then(|turn| self.trace_in(&turn)))
    }

    fn trace_in(&self, turn: &TurnRecord) -> Option<Trace> {
        let trace = Trace::from_json(turn.trace.as_ref()?)?;
        Some(trace.recorded_by(self.spans.get()))
    }

    async fn commit(&self, change: Change) -> Result<(), Error> {
        let closed = || Err(Error::Unavailable("the log is closed".to_owned()));
        let (done, outcome) = oneshot::channel();
        {
            let mut queue = lock(&self.queue);
            if queue.closed {
                return closed();
            }
            queue.changes.push((change, done));
        }
        self.work.notify_one();
        outcome.await.unwrap_or_else(|_| closed())
    }
}

/// Locks, also after a panic elsewhere: every critical section leaves its data whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
