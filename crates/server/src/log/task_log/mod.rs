//! The log of one task: what is committed and readers may see, and what waits to be committed.
//!
//! Here is what the engine does to it, with what `input` defines. `state` is what is behind its lock, `commit` how the writer commits it and how
//! cursors find events, `wait` how others wait for it, `steps` what its turns record privately, `view` how it stands.

mod commit;
mod input;
mod state;
mod steps;
mod view;
mod wait;

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use switchboard_types::model::{Event, Message, Task, TaskId, TaskState};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard, Notify};
use tokio_util::sync::CancellationToken;

use super::{Shared, lock};
use crate::clock;
use crate::metrics::Meter;
use crate::task::lifecycle::IllegalTransition;
use crate::task::{Change, Entry, Head, Origin, TurnRecord};
use crate::trace::Trace;

pub(super) use commit::{Batch, Found};
pub use input::{BegunTurn, Joined, NewTask, Received};
use state::{Phase, RunningTurn, State, TurnStart, puts_webhook};
pub use steps::INTERNAL;

/// The log of one task.
pub struct TaskLog {
    shared: Arc<Shared>,
    origin: Origin,
    state: Mutex<State>,
    meter: Arc<Meter>,
    /// Rings when something was committed, answered or went wrong, and when a turn ends.
    changed: Notify,
    /// Held by the caller whose message is the next to be taken: messages are taken in the order they came.
    next_message: AsyncMutex<()>,
    /// Large events that readers have read from the store and still hold.
    large: AsyncMutex<Vec<Weak<Entry>>>,
}

impl TaskLog {
    pub(super) fn new(shared: Arc<Shared>, origin: Origin, meter: Arc<Meter>) -> Self {
        let state = State::new(None, 0, TaskState::Submitted, clock::now());
        Self::with(shared, origin, meter, state)
    }

    pub(super) fn stored(
        shared: Arc<Shared>,
        head: &Head,
        task: Arc<Task>,
        turn: Option<TurnRecord>,
        has_webhooks: bool,
    ) -> Self {
        let origin = Origin {
            id: head.id.clone(),
            agent: Arc::clone(&head.agent),
            owner: head.owner.clone(),
            context: head.context.clone(),
        };
        let mut state = State::new(Some(task), head.seq, head.state, head.updated);
        state.has_webhooks = has_webhooks;
        state.record = turn.filter(|turn| !turn.is_implied()).map(Box::new);
        let meter = shared.metrics.agent(&origin.agent);
        Self::with(shared, origin, meter, state)
    }

    fn with(shared: Arc<Shared>, origin: Origin, meter: Arc<Meter>, state: State) -> Self {
        Self {
            shared,
            origin,
            meter,
            state: Mutex::new(state),
            changed: Notify::new(),
            next_message: AsyncMutex::default(),
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

    /// Begins the task with its first event and its first turn. Nothing is stored before [`TaskLog::uncork`], and a draft
    /// not before [`TaskLog::publish`].
    pub fn begin(self: &Arc<Self>, new: NewTask) -> CancellationToken {
        let canceled = CancellationToken::new();
        {
            let mut state = lock(&self.state);
            state.has_webhooks = puts_webhook(&new.changes);
            state.ahead.changes = new.changes;
            state.trace = new.trace;
            if new.decision.is_some() || state.trace.is_some() {
                let record = TurnRecord {
                    decision: new.decision,
                    trace: state.trace.as_deref().map(Trace::to_json),
                    ..TurnRecord::first(self.origin.id.clone())
                };
                state.ahead.changes.push(Change::Turn(record.clone()));
                state.record = Some(Box::new(record));
            }
            state.ahead.state = new.task.status.state;
            let timestamp = new.task.status.timestamp;
            state.ahead.updated = timestamp.unwrap_or(state.ahead.updated);
            state.push(Event::Task(new.task), None);
            let turn = RunningTurn::new(&canceled, true);
            state.phase = match new.draft {
                true => Phase::Draft(turn),
                false => Phase::Live(turn),
            };
        }
        if !new.draft {
            self.shared.registry.insert(self);
        }
        canceled
    }

    /// Lets a draft be stored as a task, unless the agent has chosen a direct message reply.
    pub fn publish(self: &Arc<Self>) {
        {
            let mut state = lock(&self.state);
            if !matches!(state.phase, Phase::Draft(_)) {
                return;
            }
            if let Phase::Draft(turn) = std::mem::replace(&mut state.phase, Phase::Idle) {
                state.phase = Phase::Live(turn);
            }
        }
        self.shared.registry.insert(self);
        self.enqueue();
    }

    /// Adds an event; the only way one comes into being. Readers see it once it is committed.
    ///
    /// # Errors
    ///
    /// If the event may not happen now.
    pub fn append(self: &Arc<Self>, event: Event) -> Result<u64, IllegalTransition> {
        let seq = lock(&self.state).append(event, None)?;
        self.enqueue();
        Ok(seq)
    }

    /// Adds an event and changes to be committed with it, if `last` is still the last event and no turn runs. Tells
    /// whether it did.
    pub(crate) fn append_if_idle(
        self: &Arc<Self>,
        last: u64,
        event: Event,
        change: Option<Change>,
    ) -> bool {
        let appended = {
            let mut state = lock(&self.state);
            let idle = state.phase.turn().is_none() && state.ahead.seq == last;
            let appended = idle && state.append(event, None).is_ok();
            if appended {
                state.ahead.changes.extend(change);
                state.end_turn();
            }
            appended
        };
        self.enqueue();
        appended
    }

    /// Waits for this caller's place among those whose messages wait for the running turn to end. One caller has it at a
    /// time, in the order of arrival.
    pub async fn next_message(&self) -> AsyncMutexGuard<'_, ()> {
        self.next_message.lock().await
    }

    /// Takes a message for this task, if no turn runs: `working` is the status that goes with it. Nothing is stored before
    /// [`TaskLog::uncork`].
    pub fn receive(self: &Arc<Self>, working: Event, received: Received) -> Joined {
        let mut state = lock(&self.state);
        if received.only_if_waiting && !state.is_waiting() {
            return Joined::WentOn;
        }
        if state.ahead.state.is_terminal() {
            return Joined::Over(state.ahead.state);
        }
        if state.phase.turn().is_some() {
            return Joined::Busy;
        }
        state.has_webhooks |= puts_webhook(&received.changes);
        state.ahead.changes.extend(received.changes);
        state.trace = received.trace;
        let waited = state.ahead.state.is_interrupted();
        let start = TurnStart {
            has_message: true,
            answers: waited.then_some(state.ahead.seq),
            queued: received.queued,
            secret: received.secret,
        };
        match self.start_turn(&mut state, working, Some(received.message), start, true) {
            Some(begun) => Joined::Begins(Box::new(begun)),
            None => Joined::Over(state.ahead.state),
        }
    }

    /// Begins a turn because nobody answered, if the question is still the last event and no turn runs.
    pub(crate) fn begin_unanswered(
        self: &Arc<Self>,
        asked: u64,
        working: Event,
        queued: bool,
    ) -> Option<BegunTurn> {
        let begun = {
            let mut state = lock(&self.state);
            if state.phase.turn().is_some() || state.ahead.seq != asked {
                return None;
            }
            let start = TurnStart {
                has_message: false,
                answers: Some(asked),
                queued,
                secret: None,
            };
            self.start_turn(&mut state, working, None, start, false)?
        };
        self.enqueue();
        Some(begun)
    }

    fn start_turn(
        &self,
        state: &mut State,
        working: Event,
        message: Option<Arc<Message>>,
        start: TurnStart,
        at_first_poll: bool,
    ) -> Option<BegunTurn> {
        let question = state.ahead.question.clone();
        let begins_at = state.append(working, message).ok()?;
        let record = state.begin_turn(self.id(), begins_at, start);
        let canceled = CancellationToken::new();
        state.phase = Phase::Live(RunningTurn::new(&canceled, at_first_poll));
        Some(BegunTurn {
            canceled,
            record,
            question,
        })
    }

    /// Runs the latest turn again, which a restart cut off, if `last` is still the last event and no turn runs.
    pub(crate) fn resume_turn(
        self: &Arc<Self>,
        last: u64,
        trace: Option<Arc<Trace>>,
    ) -> Option<CancellationToken> {
        let mut state = lock(&self.state);
        let idle = matches!(state.phase, Phase::Idle);
        if !idle || state.ahead.seq != last {
            return None;
        }
        let canceled = CancellationToken::new();
        state.trace = trace;
        state.phase = Phase::Live(RunningTurn::new(&canceled, false));
        Some(canceled)
    }

    /// Ends the running turn with `event`, and `change` is committed with it.
    ///
    /// # Errors
    ///
    /// The event, if it asks something and the task was canceled: nobody will answer. The turn has not ended then.
    pub fn end_turn(
        self: &Arc<Self>,
        event: Event,
        change: Option<Change>,
    ) -> Result<(), Box<Event>> {
        {
            let mut state = lock(&self.state);
            let canceled = |turn: &RunningTurn| turn.canceled.is_cancelled();
            if asks(&event) && state.phase.turn().is_some_and(canceled) {
                return Err(Box::new(event));
            }
            // An event that is no longer allowed means that the task was ended by someone else: fine.
            let appended = state.append(event, None).is_ok();
            state.ahead.changes.extend(change.filter(|_| appended));
            state.end_turn();
            if !appended {
                // No commit follows that would wake those who wait for the end of the turn.
                self.changed.notify_waiters();
            }
        }
        self.enqueue();
        self.shared.registry.retire(self);
        Ok(())
    }

    /// Decides that a direct message ends the turn of a draft; `false` if a task was published already.
    #[must_use]
    pub(crate) fn decide_to_reply(&self) -> bool {
        let mut state = lock(&self.state);
        let is_draft = matches!(state.phase, Phase::Draft(_));
        if is_draft {
            state.phase = Phase::Replying;
        }
        is_draft
    }

    /// Ends the turn of a draft with a direct message: no task comes of it.
    pub(crate) fn end_with_reply(&self, message: Arc<Message>) {
        {
            let mut state = lock(&self.state);
            state.phase = Phase::Replied(message);
            state.ahead.pending.clear();
            state.ahead.changes.clear();
        }
        self.changed.notify_waiters();
    }

    /// Asks the task to stop. `canceled` is the event to append if no turn runs that could do it, and `change` what is to
    /// be committed with it. Whether a turn runs.
    ///
    /// # Errors
    ///
    /// If the task is over.
    pub fn cancel(
        self: &Arc<Self>,
        canceled: Event,
        change: Change,
    ) -> Result<bool, IllegalTransition> {
        let runs = {
            let mut state = lock(&self.state);
            match state.phase.turn() {
                Some(turn) if !state.ahead.state.is_terminal() => {
                    turn.canceled.cancel();
                    true
                }
                _ => {
                    state.append(canceled, None)?;
                    state.ahead.changes.push(change);
                    state.end_turn();
                    false
                }
            }
        };
        self.enqueue();
        Ok(runs)
    }
}

fn asks(event: &Event) -> bool {
    matches!(event, Event::Status(update) if update.status.state.is_interrupted())
}

impl fmt::Debug for TaskLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLog")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
