//! The log of one task: what is stored and may be told, and what waits to be stored.
//!
//! Here is what is said to it. [`wait`] is how others wait for it, [`storing`] how the writer and the cursors
//! use it, [`mod@line`] how it is kept that a turn has not begun,
//! [`waiting`] what waits for its turn, [`aside`] what is
//! not for callers, [`traced`] what it is part of, [`inner`] what is behind its lock.

mod aside;
mod inner;
mod line;
mod look;
mod storing;
mod traced;
mod wait;
mod waiting;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use switchboard_types::model::{Event, Message, Task, TaskId, TaskState};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio_util::sync::CancellationToken;

use super::{Shared, lock};
use crate::clock;
use crate::metrics::Meter;
use crate::principal::Principal;
use crate::task::lifecycle::IllegalTransition;
use crate::task::{Change, Entry, Head, Origin};
use crate::trace::Trace;

pub use aside::INTERNAL;
pub(crate) use aside::internal_note;
use inner::{Inner, RunningTurn, puts_webhook};
pub(super) use storing::{Batch, Found};
pub use waiting::Waited;

/// The log of one task.
pub struct TaskLog {
    shared: Arc<Shared>,
    origin: Origin,
    inner: Mutex<Inner>,
    meter: Arc<Meter>,
    /// Rings when something was stored, answered or went wrong.
    changed: Notify,
    /// Large events that readers have read from the store and still hold.
    large: AsyncMutex<Vec<Weak<Entry>>>,
}

/// A message for an existing task.
#[derive(Debug)]
pub struct Received {
    /// As it is kept.
    pub recorded: Arc<Message>,
    /// As the agent hears it.
    pub heard: Arc<Message>,
    /// Who sends it. Callers of one owner may have been granted different things.
    pub from: Principal,
    /// What it is part of.
    pub trace: Option<Arc<Trace>>,
    /// It is taken only if the task waits for an answer.
    pub only_if_waiting: bool,
}

/// What became of a message for an existing task.
#[derive(Debug)]
pub enum Joined {
    /// A turn begins with it; run it until the token fires.
    Begins {
        /// Fires when the task is to stop.
        canceled: CancellationToken,
        /// What the task had asked, if it waited: nobody may have been told yet.
        question: Option<Arc<Message>>,
    },
    /// A turn is running; the message is stored and waits for it to end.
    Waits,
    /// The task does not wait for an answer; nothing was taken.
    WentOn,
    /// The task is over.
    Over(TaskState),
}

impl TaskLog {
    pub(super) fn new(shared: Arc<Shared>, origin: Origin, meter: Arc<Meter>) -> Self {
        let inner = Inner::new(None, 0, TaskState::Submitted, clock::now());
        Self::with(shared, origin, meter, inner)
    }

    pub(super) fn stored(
        shared: Arc<Shared>,
        head: &Head,
        task: Arc<Task>,
        has_webhooks: bool,
    ) -> Self {
        let origin = Origin {
            id: head.id.clone(),
            agent: Arc::clone(&head.agent),
            owner: head.owner.clone(),
            context: head.context.clone(),
        };
        let mut inner = Inner::new(Some(task), head.seq, head.state, head.updated);
        inner.has_webhooks = has_webhooks;
        inner.more_waits = true;
        let meter = shared.metrics.agent(&origin.agent);
        Self::with(shared, origin, meter, inner)
    }

    fn with(shared: Arc<Shared>, origin: Origin, meter: Arc<Meter>, inner: Inner) -> Self {
        Self {
            shared,
            origin,
            meter,
            inner: Mutex::new(inner),
            changed: Notify::new(),
            large: AsyncMutex::default(),
        }
    }

    /// The task.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.origin.id
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Begins the task: its first event, with the changes to be stored in the same transaction, and the
    /// turn that will work on it. Nothing is stored before [`TaskLog::uncork`], nor, if it is `held`, before
    /// [`TaskLog::publish`].
    pub fn begin(
        self: &Arc<Self>,
        task: Arc<Task>,
        beside: Vec<Change>,
        trace: Option<Arc<Trace>>,
        held: bool,
    ) -> CancellationToken {
        let canceled = CancellationToken::new();
        {
            let mut inner = lock(&self.inner);
            inner.has_webhooks = puts_webhook(&beside);
            inner.beside = beside;
            inner.follow(trace, &self.origin.id);
            inner.held = held;
            inner.corked = true;
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
        received: Option<Arc<Message>>,
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

    /// Adds an event, and what is to be stored with it, if `last` is still the last one and nothing runs. Tells whether
    /// it did.
    pub fn append_if_idle(
        self: &Arc<Self>,
        last: u64,
        event: Event,
        beside: Option<Change>,
    ) -> bool {
        let appended = {
            let mut inner = lock(&self.inner);
            let idle = inner.turn.is_none() && inner.seq == last;
            let appended = idle && inner.append(event, None).is_ok();
            if appended {
                inner.beside.extend(beside);
            }
            appended
        };
        self.enqueue();
        appended
    }

    /// Takes a message for this task: `working` is the status that goes with it, `beside` what must be stored
    /// in the same transaction. If a turn begins with it, nothing is stored before [`TaskLog::uncork`].
    pub fn receive(
        self: &Arc<Self>,
        working: Event,
        received: Received,
        beside: Vec<Change>,
    ) -> Joined {
        let joined = {
            let mut inner = lock(&self.inner);
            if received.only_if_waiting && !inner.is_waiting() {
                return Joined::WentOn;
            }
            if inner.state.is_terminal() {
                return Joined::Over(inner.state);
            }
            inner.has_webhooks |= puts_webhook(&beside);
            inner.beside.extend(beside);
            if inner.turn.is_none() {
                inner.follow(received.trace.clone(), &self.origin.id);
            }
            // Only who is asked for a secret is waited for by others.
            let secret = !Arc::ptr_eq(&received.recorded, &received.heard);
            let question = inner.question.clone();
            let at = inner.append(working, Some(Arc::clone(&received.recorded)));
            debug_assert!(at.is_ok(), "a task that is not over can work");
            if inner.turn.is_some() {
                let at = inner.seq;
                inner.inbox.push_back(Waited {
                    message: received.heard,
                    recorded: received.recorded,
                    from: received.from,
                    trace: received.trace,
                    at,
                });
                Joined::Waits
            } else {
                let canceled = CancellationToken::new();
                let recalls = std::mem::take(&mut inner.more_waits) && secret;
                inner.turn = Some(RunningTurn {
                    recalls: at.ok().filter(|_| recalls),
                    ..RunningTurn::new(&canceled)
                });
                inner.corked = true;
                Joined::Begins { canceled, question }
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
        waiting: VecDeque<Arc<Message>>,
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
            let waiting = waiting.into_iter();
            inner
                .inbox
                .extend(waiting.map(|message| self.of_its_owner(message)));
            inner.more_waits = false;
            inner.turn = Some(RunningTurn::new(&canceled));
        }
        self.enqueue();
        Some(canceled)
    }

    /// Decides that a bare message will end a held turn; `false` if a task was published already.
    #[must_use]
    pub fn decide_to_reply(&self) -> bool {
        let mut inner = lock(&self.inner);
        inner.replies |= inner.held;
        inner.replies
    }

    /// Ends a held turn with a bare message: no task comes of it.
    pub fn end_with_reply(&self, message: Arc<Message>) {
        {
            let mut inner = lock(&self.inner);
            inner.reply = Some(message);
            inner.turn = None;
            inner.pending.clear();
            inner.beside.clear();
        }
        self.changed.notify_waiters();
    }

    /// Asks the task to stop. `canceled` is the event to append if nothing runs that could say it, and `beside` what is
    /// to be stored with it. Whether something runs.
    ///
    /// # Errors
    ///
    /// If the task is over.
    pub fn cancel(
        self: &Arc<Self>,
        canceled: Event,
        beside: Change,
    ) -> Result<bool, IllegalTransition> {
        let runs = {
            let mut inner = lock(&self.inner);
            match &inner.turn {
                Some(turn) if !inner.state.is_terminal() => {
                    turn.canceled.cancel();
                    true
                }
                _ => {
                    inner.append(canceled, None)?;
                    inner.beside.push(beside);
                    false
                }
            }
        };
        self.enqueue();
        Ok(runs)
    }

    /// Says that the turn begun last will not run.
    pub fn turn_is_over(self: &Arc<Self>) {
        lock(&self.inner).turn = None;
        self.shared.registry.retire(self);
    }
}

impl fmt::Debug for TaskLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLog")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
