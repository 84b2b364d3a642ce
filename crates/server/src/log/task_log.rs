//! The log of one task: what is stored and may be told, and what waits to be stored.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use switchboard_types::model::{
    Content, ContextId, Event, Message, Part, Task, TaskId, TaskState, Timestamp,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Entry, Shared, lock};
use crate::auth::Owner;
use crate::clock;
use crate::engine::lifecycle::{self, IllegalTransition};
use crate::store::{Append, Change, Error, Head, Snapshot};

/// How many events may wait to be stored before the agent is made to wait.
const MAX_PENDING: usize = 512;
/// How many of the latest events are kept in memory for readers that keep up; others read the store.
const MAX_TAIL: usize = 2048;
/// How much those may weigh, roughly, in bytes.
const MAX_TAIL_WEIGHT: usize = 1 << 20;
/// Events of less weight than this are not worth a snapshot.
const MIN_SNAPSHOT_WEIGHT: usize = 64 << 10;

/// Where a task comes from; never changes.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The task.
    pub id: TaskId,
    /// The agent it belongs to.
    pub agent: Arc<str>,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Its conversation.
    pub context: ContextId,
}

/// The log of one task.
pub struct TaskLog {
    shared: Arc<Shared>,
    origin: Origin,
    inner: Mutex<Inner>,
    /// Rings when something was stored, answered or went wrong.
    changed: Notify,
}

struct Inner {
    /// The task up to event `durable`: what may be told.
    told: Option<Arc<Task>>,
    durable: u64,
    /// The latest stored events.
    tail: VecDeque<Arc<Entry>>,
    tail_weight: usize,
    /// Where the task stands once everything pending is stored.
    state: TaskState,
    updated: Timestamp,
    seq: u64,
    pending: Vec<Arc<Entry>>,
    /// Changes that must be stored together with the pending events.
    beside: Vec<Change>,
    /// In the writer's queue, or about to be.
    queued: bool,
    /// Not to be stored yet: the agent may still answer with a bare message.
    held: bool,
    /// The agent has answered with a bare message, so no task may come of this any more.
    replies: bool,
    snapshot_weight: usize,
    since_snapshot: usize,
    turn: Option<RunningTurn>,
    reply: Option<Message>,
    trouble: Option<Error>,
    has_webhooks: bool,
}

#[derive(Debug)]
struct RunningTurn {
    canceled: CancellationToken,
    /// Messages that came while the turn ran.
    inbox: VecDeque<Message>,
}

/// A message for an existing task.
#[derive(Debug)]
pub struct Received {
    /// As it is kept.
    pub recorded: Message,
    /// As the agent hears it.
    pub heard: Message,
}

/// What became of a message for an existing task.
#[derive(Debug)]
pub enum Joined {
    /// A turn begins with it; run it until the token fires.
    Begins(CancellationToken),
    /// A turn is running; the message is stored and waits for it to end.
    Waits,
    /// The task is over.
    Over(TaskState),
}

/// What a cursor finds.
pub(super) enum Found {
    Entries(Vec<Arc<Entry>>),
    /// The events are no longer in memory.
    InStore,
    Reply(Message),
    Nothing,
}

/// A batch handed to the writer.
pub(super) struct Batch {
    pub(super) changes: Vec<Change>,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) beside: Vec<Change>,
}

impl TaskLog {
    pub(super) fn new(shared: Arc<Shared>, origin: Origin) -> Self {
        let inner = Inner::new(None, 0, TaskState::Submitted, clock::now());
        Self::with(shared, origin, inner)
    }

    pub(super) fn stored(shared: Arc<Shared>, head: &Head, task: Task, has_webhooks: bool) -> Self {
        let origin = Origin {
            id: head.id.clone(),
            agent: Arc::clone(&head.agent),
            owner: head.owner.clone(),
            context: head.context.clone(),
        };
        let mut inner = Inner::new(Some(Arc::new(task)), head.seq, head.state, head.updated);
        inner.has_webhooks = has_webhooks;
        Self::with(shared, origin, inner)
    }

    fn with(shared: Arc<Shared>, origin: Origin, inner: Inner) -> Self {
        Self {
            shared,
            origin,
            inner: Mutex::new(inner),
            changed: Notify::new(),
        }
    }

    /// The task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.origin.id
    }

    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Begins the task: its first event, with the changes to be stored in the same transaction, and the
    /// turn that will work on it. A task that is `held` is not stored before [`TaskLog::publish`].
    pub fn begin(
        self: &Arc<Self>,
        task: Task,
        beside: Vec<Change>,
        held: bool,
    ) -> CancellationToken {
        let canceled = CancellationToken::new();
        {
            let mut inner = lock(&self.inner);
            inner.has_webhooks = puts_webhook(&beside);
            inner.beside = beside;
            inner.held = held;
            inner.state = task.status.state;
            inner.updated = task.status.timestamp.unwrap_or(inner.updated);
            inner.push(Event::Task(task), None);
            inner.turn = Some(RunningTurn::new(&canceled));
        }
        if !held {
            self.publish();
        }
        canceled
    }

    /// Lets a held task be stored, unless the agent has answered with a bare message.
    pub fn publish(self: &Arc<Self>) {
        let is_new = {
            let mut inner = lock(&self.inner);
            if inner.replies {
                return;
            }
            inner.held = false;
            inner.durable == 0
        };
        if is_new {
            self.shared.registry.insert(self);
        }
        self.enqueue();
    }

    /// Adds an event; the only way one comes into being. It may be told once it is stored.
    ///
    /// # Errors
    ///
    /// If the event may not happen now.
    pub fn append(
        self: &Arc<Self>,
        event: Event,
        received: Option<Message>,
    ) -> Result<u64, IllegalTransition> {
        let seq = lock(&self.inner).append(event, received)?;
        self.enqueue();
        Ok(seq)
    }

    /// Says that work begins, unless a message that came before the agent began has said so.
    ///
    /// # Errors
    ///
    /// If the task is over.
    pub fn work_begins(self: &Arc<Self>, working: Event) -> Result<(), IllegalTransition> {
        {
            let mut inner = lock(&self.inner);
            if inner.state != TaskState::Working {
                inner.append(working, None)?;
            }
        }
        self.enqueue();
        Ok(())
    }

    /// Adds an event if `last` is still the last one and nothing runs. Tells whether it did.
    pub fn append_if_idle(self: &Arc<Self>, last: u64, event: Event) -> bool {
        let appended = {
            let mut inner = lock(&self.inner);
            inner.turn.is_none() && inner.seq == last && inner.append(event, None).is_ok()
        };
        self.enqueue();
        appended
    }

    /// Takes a message for this task: `working` is the status that goes with it, `beside` what must be stored
    /// in the same transaction.
    pub fn receive(
        self: &Arc<Self>,
        working: Event,
        received: Received,
        beside: Vec<Change>,
    ) -> Joined {
        let joined = {
            let mut inner = lock(&self.inner);
            if inner.state.is_terminal() {
                return Joined::Over(inner.state);
            }
            inner.has_webhooks |= puts_webhook(&beside);
            inner.beside.extend(beside);
            let recorded = inner.append(working, Some(received.recorded));
            debug_assert!(recorded.is_ok(), "a task that is not over can work");
            match &mut inner.turn {
                Some(turn) => {
                    turn.inbox.push_back(received.heard);
                    Joined::Waits
                }
                none => {
                    let canceled = CancellationToken::new();
                    *none = Some(RunningTurn::new(&canceled));
                    Joined::Begins(canceled)
                }
            }
        };
        self.enqueue();
        joined
    }

    /// Begins a turn without a new message, if `last` is still the last event and nothing runs: after a restart
    /// or an input timeout. `event`, if there is one, must be allowed now; `waiting` are messages that came
    /// before the restart and still wait for their turn.
    pub fn begin_turn(
        self: &Arc<Self>,
        last: u64,
        event: Option<Event>,
        waiting: VecDeque<Message>,
    ) -> Option<CancellationToken> {
        let canceled = CancellationToken::new();
        {
            let mut inner = lock(&self.inner);
            if inner.turn.is_some() || inner.state.is_terminal() || inner.seq != last {
                return None;
            }
            if let Some(event) = event {
                inner.append(event, None).ok()?;
            }
            inner.turn = Some(RunningTurn {
                canceled: canceled.clone(),
                inbox: waiting,
            });
        }
        self.enqueue();
        Some(canceled)
    }

    /// Ends the running turn with `event`. Returns the next message if one came meanwhile and the task
    /// waits for it; then `working` is appended and the same turn token goes on.
    pub fn end_turn(
        self: &Arc<Self>,
        event: Event,
        working: impl FnOnce() -> Event,
    ) -> Option<Message> {
        let next = {
            let mut inner = lock(&self.inner);
            // An event that is no longer allowed means that the task was ended by someone else: fine.
            let interrupted = inner.append(event, None).is_ok() && inner.state.is_interrupted();
            let next = inner
                .turn
                .as_mut()
                .filter(|_| interrupted)
                .and_then(|turn| turn.inbox.pop_front());
            match &next {
                Some(_) => {
                    inner.append(working(), None).ok();
                }
                None => inner.turn = None,
            }
            next
        };
        self.enqueue();
        if next.is_none() {
            self.shared.registry.retire(self);
        }
        next
    }

    /// Decides that a bare message will end a held turn; `false` if a task was published already.
    #[must_use]
    pub fn decide_to_reply(&self) -> bool {
        let mut inner = lock(&self.inner);
        inner.replies |= inner.held;
        inner.replies
    }

    /// Ends a held turn with a bare message: no task comes of it.
    pub fn end_with_reply(&self, message: Message) {
        {
            let mut inner = lock(&self.inner);
            inner.reply = Some(message);
            inner.turn = None;
            inner.pending.clear();
            inner.beside.clear();
        }
        self.changed.notify_waiters();
    }

    /// Asks the task to stop. `canceled` is the event to append if nothing runs that could say it.
    ///
    /// # Errors
    ///
    /// If the task is over.
    pub fn cancel(self: &Arc<Self>, canceled: Event) -> Result<(), IllegalTransition> {
        {
            let mut inner = lock(&self.inner);
            match &inner.turn {
                Some(turn) if !inner.state.is_terminal() => turn.canceled.cancel(),
                _ => {
                    inner.append(canceled, None)?;
                }
            }
        }
        self.enqueue();
        Ok(())
    }

    /// The task as it may be told, and where it stands.
    #[must_use]
    pub fn view(&self) -> Option<(Head, Arc<Task>)> {
        let inner = lock(&self.inner);
        let task = Arc::clone(inner.told.as_ref()?);
        let head = self.head(task.status.state, task.status.timestamp?, inner.durable);
        Some((head, task))
    }

    /// Whether the agent may still answer with a bare message.
    #[must_use]
    pub fn is_held(&self) -> bool {
        lock(&self.inner).held
    }

    /// The last event, stored or not, and the state after it.
    #[must_use]
    pub fn last(&self) -> (u64, TaskState) {
        let inner = lock(&self.inner);
        (inner.seq, inner.state)
    }

    /// Says that a webhook was registered for this task.
    pub fn has_webhooks(&self) {
        lock(&self.inner).has_webhooks = true;
    }

    /// Waits until event `seq` is stored.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn stored_up_to(&self, seq: u64) -> Result<(), Error> {
        self.wait(|inner| (inner.durable >= seq).then_some(()))
            .await
    }

    /// Waits until the agent answered with a bare message, or a task was stored (`None`).
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn decided(&self) -> Result<Option<Message>, Error> {
        self.wait(|inner| match &inner.reply {
            Some(message) => Some(Some(message.clone())),
            None => (inner.durable > 0).then_some(None),
        })
        .await
    }

    /// Waits until event `seq` is stored, however long the store is in trouble, or will never be: the agent
    /// answered with a bare message, or the task was given up.
    pub async fn kept(&self, seq: u64) {
        let kept = |inner: &Inner| {
            let given_up = inner.durable == 0 && inner.trouble.is_some();
            inner.durable >= seq || inner.reply.is_some() || given_up
        };
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if kept(&lock(&self.inner)) {
                return;
            }
            ring.await;
        }
    }

    /// Waits until the task is over or waits for the client, event `since` and all before it stored.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn settled(&self, since: u64) -> Result<Arc<Task>, Error> {
        self.wait(|inner| {
            let task = inner.told.as_ref()?;
            let state = task.status.state;
            let settled = state.is_terminal() || state.is_interrupted();
            (settled && inner.durable >= since).then(|| Arc::clone(task))
        })
        .await
    }

    /// Waits until the task is over.
    ///
    /// # Errors
    ///
    /// If the store could not take it.
    pub async fn ended(&self) -> Result<Arc<Task>, Error> {
        self.wait(|inner| {
            let task = inner.told.as_ref()?;
            task.status.state.is_terminal().then(|| Arc::clone(task))
        })
        .await
    }

    /// Says that the turn begun last will not run.
    pub fn turn_is_over(self: &Arc<Self>) {
        lock(&self.inner).turn = None;
        self.shared.registry.retire(self);
    }

    /// Waits until not too much waits to be stored.
    ///
    /// # Errors
    ///
    /// The state, if the task is over.
    pub async fn room(&self) -> Result<(), TaskState> {
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            {
                let inner = lock(&self.inner);
                if inner.state.is_terminal() {
                    return Err(inner.state);
                }
                if inner.pending.len() < MAX_PENDING {
                    return Ok(());
                }
            }
            ring.await;
        }
    }

    /// Waits until `found` finds something, or something goes wrong.
    async fn wait<T>(&self, found: impl Fn(&Inner) -> Option<T>) -> Result<T, Error> {
        loop {
            let ring = self.changed.notified();
            tokio::pin!(ring);
            ring.as_mut().enable();
            {
                let inner = lock(&self.inner);
                if let Some(found) = found(&inner) {
                    return Ok(found);
                }
                if let Some(trouble) = &inner.trouble {
                    return Err(trouble.clone());
                }
            }
            ring.await;
        }
    }

    /// Rings when something changes; for cursors.
    pub(super) fn changed(&self) -> &Notify {
        &self.changed
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The stored events after `after`, `max` at most.
    pub(super) fn find(&self, after: u64, max: usize) -> Result<Found, Error> {
        let inner = lock(&self.inner);
        if let Some(message) = &inner.reply {
            return Ok(Found::Reply(message.clone()));
        }
        if after >= inner.durable {
            return match (&inner.trouble, inner.durable) {
                (Some(trouble), 0) => Err(trouble.clone()),
                _ => Ok(Found::Nothing),
            };
        }
        let first = inner.tail.front().map_or(u64::MAX, |e| e.seq);
        if after + 1 < first {
            return Ok(Found::InStore);
        }
        let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        Ok(Found::Entries(
            inner.tail.iter().skip(skip).take(max).cloned().collect(),
        ))
    }

    /// How much memory this log takes, roughly, in bytes.
    pub(super) fn weight(&self) -> usize {
        let inner = lock(&self.inner);
        512 + inner.tail_weight + inner.since_snapshot + inner.snapshot_weight
    }

    fn head(&self, state: TaskState, updated: Timestamp, seq: u64) -> Head {
        Head {
            id: self.origin.id.clone(),
            agent: Arc::clone(&self.origin.agent),
            owner: self.origin.owner.clone(),
            context: self.origin.context.clone(),
            state,
            updated,
            seq,
        }
    }

    /// Puts this log into the writer's queue, unless it is there or has nothing to say.
    fn enqueue(self: &Arc<Self>) {
        {
            let mut inner = lock(&self.inner);
            if inner.queued || inner.held || inner.pending.is_empty() || inner.reply.is_some() {
                return;
            }
            inner.queued = true;
        }
        lock(&self.shared.queue).logs.push(Arc::clone(self));
        self.shared.work.notify_one();
    }

    /// What the writer is to store now.
    pub(super) fn take_batch(&self) -> Batch {
        let mut inner = lock(&self.inner);
        inner.queued = false;
        let entries = std::mem::take(&mut inner.pending);
        let beside = std::mem::take(&mut inner.beside);
        let snapshot = inner.snapshot_if_worth_it();
        let append = Append {
            head: self.head(inner.state, inner.updated, inner.seq),
            entries: entries.clone(),
            snapshot,
        };
        let mut changes = Vec::with_capacity(1 + beside.len());
        changes.push(Change::Append(append));
        changes.extend(beside.iter().cloned());
        Batch {
            changes,
            entries,
            beside,
        }
    }

    /// The batch is stored: it may be told.
    pub(super) fn commit(&self, entries: Vec<Arc<Entry>>) {
        let has_webhooks = {
            let mut inner = lock(&self.inner);
            for entry in entries {
                inner.tell(entry);
            }
            inner.trouble = None;
            inner.has_webhooks
        };
        if has_webhooks {
            lock(&self.shared.to_push).push(self.origin.id.clone());
            self.shared.push.notify_one();
        }
        self.changed.notify_waiters();
    }

    /// The batch could not be stored. A task that nobody knows yet is given up (`false`); one that exists
    /// keeps its events for another try (`true`).
    pub(super) fn rollback(&self, mut batch: Batch, error: &Error) -> bool {
        let keep = {
            let mut inner = lock(&self.inner);
            inner.trouble = Some(error.clone());
            let keep = inner.durable > 0;
            if keep {
                batch.entries.append(&mut inner.pending);
                inner.pending = batch.entries;
                batch.beside.append(&mut inner.beside);
                inner.beside = batch.beside;
                inner.queued = true;
            } else {
                inner.state = TaskState::Failed;
                if let Some(turn) = inner.turn.take() {
                    turn.canceled.cancel();
                }
            }
            keep
        };
        if !keep {
            self.shared.registry.forget(&self.origin.id);
        }
        self.changed.notify_waiters();
        keep
    }
}

impl fmt::Debug for TaskLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLog")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl RunningTurn {
    fn new(canceled: &CancellationToken) -> Self {
        Self {
            canceled: canceled.clone(),
            inbox: VecDeque::new(),
        }
    }
}

impl Inner {
    fn new(told: Option<Arc<Task>>, seq: u64, state: TaskState, updated: Timestamp) -> Self {
        Self {
            told,
            durable: seq,
            tail: VecDeque::new(),
            tail_weight: 0,
            state,
            updated,
            seq,
            pending: Vec::new(),
            beside: Vec::new(),
            queued: false,
            held: false,
            replies: false,
            snapshot_weight: 0,
            since_snapshot: 0,
            turn: None,
            reply: None,
            trouble: None,
            has_webhooks: false,
        }
    }

    fn append(
        &mut self,
        event: Event,
        received: Option<Message>,
    ) -> Result<u64, IllegalTransition> {
        self.state = lifecycle::check(self.state, &event)?;
        if let Event::Status(update) = &event {
            self.updated = update.status.timestamp.unwrap_or(self.updated);
        }
        Ok(self.push(event, received))
    }

    fn push(&mut self, event: Event, received: Option<Message>) -> u64 {
        self.seq += 1;
        self.pending
            .push(Arc::new(Entry::new(self.seq, event, received)));
        self.seq
    }

    /// A snapshot of what is told, once the events since the last one weigh as much as the task itself:
    /// so the cost of snapshots per event does not grow with the task.
    fn snapshot_if_worth_it(&mut self) -> Option<Snapshot> {
        if self.since_snapshot < MIN_SNAPSHOT_WEIGHT.max(self.snapshot_weight) {
            return None;
        }
        self.snapshot_weight += self.since_snapshot;
        self.since_snapshot = 0;
        self.told.as_ref().map(|task| Snapshot {
            task: Arc::clone(task),
            seq: self.durable,
        })
    }

    fn tell(&mut self, entry: Arc<Entry>) {
        match (&mut self.told, &entry.event) {
            (Some(told), _) => lifecycle::apply(Arc::make_mut(told), &entry),
            (none, Event::Task(task)) => *none = Some(Arc::new(task.clone())),
            (None, _) => {}
        }
        self.durable = entry.seq;
        let weight = weight(&entry);
        self.since_snapshot += weight;
        self.tail_weight += weight;
        self.tail.push_back(entry);
        while self.tail.len() > MAX_TAIL
            || (self.tail_weight > MAX_TAIL_WEIGHT && self.tail.len() > 1)
        {
            if let Some(old) = self.tail.pop_front() {
                self.tail_weight -= self::weight(&old);
            }
        }
    }
}

fn puts_webhook(changes: &[Change]) -> bool {
    changes.iter().any(|c| matches!(c, Change::PutWebhook(_)))
}

/// How much memory an entry takes, roughly, in bytes.
fn weight(entry: &Entry) -> usize {
    let parts = |parts: &[Part]| -> usize {
        parts
            .iter()
            .map(|part| match &part.content {
                Content::Text(text) | Content::Url(text) => text.len(),
                Content::Raw(bytes) => bytes.len(),
                Content::Data(json) => json.as_str().len(),
            })
            .sum()
    };
    let message = |m: Option<&Message>| m.map_or(0, |m| 128 + parts(&m.parts));
    let event = match &entry.event {
        Event::Task(task) => 256 + task.history.iter().map(|m| message(Some(m))).sum::<usize>(),
        Event::Message(m) => message(Some(m)),
        Event::Status(update) => message(update.status.message.as_ref()),
        Event::Artifact(update) => parts(&update.artifact.parts),
    };
    256 + event + message(entry.received.as_ref())
}
