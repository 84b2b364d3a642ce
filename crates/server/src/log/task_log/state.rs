//! What is behind the lock of a task's log: what is committed, and what is ahead of it. No waiting, no I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::{Event, Message, Task, TaskId, TaskState, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::store::Error;
use crate::task::lifecycle::{self, IllegalTransition};
use crate::task::{Change, Entry, LARGE, Snapshot, TurnRecord};
use crate::trace::Trace;

/// How many of the latest events are kept in memory for readers that keep up; others read the store.
const MAX_TAIL: usize = 2048;
/// How much those may weigh, roughly, in bytes.
const MAX_TAIL_WEIGHT: usize = 1 << 20;
/// Events of less weight than this are not worth a snapshot.
const MIN_SNAPSHOT_WEIGHT: usize = 64 << 10;

/// What is behind the lock of a task's log.
pub(super) struct State {
    pub(super) committed: Committed,
    pub(super) ahead: Ahead,
    pub(super) phase: Phase,
    /// The latest turn; `None` if it is the [implied](TurnRecord::first) first one.
    pub(super) record: Option<Box<TurnRecord>>,
    /// The trace that the events of the turn belong to.
    pub(super) trace: Option<Arc<Trace>>,
    /// Why the last commit was refused.
    pub(super) trouble: Option<Error>,
    pub(super) has_webhooks: bool,
}

/// What a task log is busy with.
pub(super) enum Phase {
    /// A new task that is not stored: its agent may still answer with a direct message instead.
    Draft(RunningTurn),
    /// The agent chose a direct message reply: no task comes of this any more.
    Replying,
    /// The direct message reply.
    Replied(Arc<Message>),
    /// A turn runs, or waits for capacity.
    Live(RunningTurn),
    /// The task waits for a message, or nobody has resumed it yet.
    Idle,
    /// The task is over.
    Over,
    /// Nothing more is committed: `State::trouble` says why.
    GivenUp,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) canceled: CancellationToken,
    /// The turn is at its first poll: what it says there goes into one commit with the event that began it.
    pub(super) at_first_poll: bool,
}

/// What readers may see.
pub(super) struct Committed {
    /// The task up to event `seq`.
    pub(super) task: Option<Arc<Task>>,
    pub(super) seq: u64,
    /// Marks a large state of the task that a reader received; dropped when the next event changes it.
    pub(super) current: Option<Arc<()>>,
    /// The latest events.
    pub(super) tail: VecDeque<Arc<Entry>>,
    pub(super) tail_weight: usize,
    /// What the task weighed when it was read from the store, at the last snapshot, and since then.
    pub(super) loaded_weight: usize,
    pub(super) snapshot_weight: usize,
    pub(super) since_snapshot: usize,
}

/// Where the task stands once everything pending is committed, and what is pending.
pub(super) struct Ahead {
    pub(super) state: TaskState,
    pub(super) updated: Timestamp,
    pub(super) seq: u64,
    /// What it asks then, if it waits for an answer.
    pub(super) question: Option<Arc<Message>>,
    pub(super) pending: Vec<Arc<Entry>>,
    /// Changes to be committed together with the pending events.
    pub(super) changes: Vec<Change>,
    /// In the writer's queue, or about to be.
    pub(super) in_queue: bool,
}

impl RunningTurn {
    pub(super) fn new(canceled: &CancellationToken, at_first_poll: bool) -> Self {
        Self {
            canceled: canceled.clone(),
            at_first_poll,
        }
    }
}

impl Phase {
    /// The turn that runs.
    pub(super) fn turn(&self) -> Option<&RunningTurn> {
        match self {
            Self::Draft(turn) | Self::Live(turn) => Some(turn),
            Self::Replying | Self::Replied(_) | Self::Idle | Self::Over | Self::GivenUp => None,
        }
    }

    /// Whether what is pending may be committed now.
    pub(super) fn may_commit(&self) -> bool {
        match self {
            Self::Draft(_) | Self::Replying | Self::Replied(_) | Self::GivenUp => false,
            Self::Live(turn) => !turn.at_first_poll,
            Self::Idle | Self::Over => true,
        }
    }

    /// The direct message reply that stands in for a task.
    pub(super) fn reply(&self) -> Option<&Arc<Message>> {
        match self {
            Self::Replied(message) => Some(message),
            Self::Draft(_)
            | Self::Replying
            | Self::Live(_)
            | Self::Idle
            | Self::Over
            | Self::GivenUp => None,
        }
    }
}

impl State {
    /// A task that is new, or was read from the store up to event `seq`.
    pub(super) fn new(
        task: Option<Arc<Task>>,
        seq: u64,
        state: TaskState,
        updated: Timestamp,
    ) -> Self {
        let open = task.as_ref().filter(|_| state.is_interrupted());
        let question = open.and_then(|task| task.status.message.clone());
        let loaded_weight = task.as_ref().map_or(0, |task| task.weight());
        Self {
            committed: Committed {
                task,
                seq,
                current: None,
                tail: VecDeque::new(),
                tail_weight: 0,
                loaded_weight,
                snapshot_weight: 0,
                since_snapshot: 0,
            },
            ahead: Ahead {
                state,
                updated,
                seq,
                question,
                pending: Vec::new(),
                changes: Vec::new(),
                in_queue: false,
            },
            phase: match state.is_terminal() {
                true => Phase::Over,
                false => Phase::Idle,
            },
            record: None,
            trace: None,
            trouble: None,
            has_webhooks: false,
        }
    }

    /// Whether the task waits for a message, and none has come.
    pub(super) fn is_waiting(&self) -> bool {
        self.phase.turn().is_none() && self.ahead.state.is_interrupted()
    }

    /// The store will not take what is pending: nothing more comes of this log.
    pub(super) fn give_up(&mut self, error: Error) {
        if let Some(turn) = self.phase.turn() {
            turn.canceled.cancel();
        }
        self.phase = Phase::GivenUp;
        self.trouble = Some(error);
        self.ahead.state = TaskState::Failed;
        self.ahead.pending.clear();
        self.ahead.changes.clear();
    }

    pub(super) fn is_given_up(&self) -> bool {
        matches!(self.phase, Phase::GivenUp)
    }

    /// The number of the latest turn.
    pub(super) fn turn_number(&self) -> u32 {
        self.record.as_ref().map_or(1, |record| record.number)
    }

    /// Makes the record of a turn that begins now with event `begins_at`; it is committed with that event.
    pub(super) fn begin_turn(
        &mut self,
        task: &TaskId,
        begins_at: u64,
        start: TurnStart,
    ) -> TurnRecord {
        let decision = self.record.as_mut().and_then(|last| last.decision.take());
        let record = TurnRecord {
            task: task.clone(),
            number: self.turn_number() + 1,
            message_at: start.has_message.then_some(begins_at),
            begins_at,
            answers: start.answers,
            decision,
            trace: self.trace.as_deref().map(Trace::to_json),
            queued: start.queued,
            secret: start.secret,
        };
        self.ahead.changes.push(Change::Turn(record.clone()));
        self.record = Some(Box::new(record.clone()));
        record
    }

    pub(super) fn append(
        &mut self,
        event: Event,
        received: Option<Arc<Message>>,
    ) -> Result<u64, IllegalTransition> {
        let ahead = &mut self.ahead;
        ahead.state = lifecycle::check(ahead.state, &event)?;
        if let Event::Status(update) = &event {
            ahead.updated = update.status.timestamp.unwrap_or(ahead.updated);
            let asked = update.status.message.as_ref();
            ahead.question = asked.filter(|_| ahead.state.is_interrupted()).cloned();
        }
        Ok(self.push(event, received))
    }

    pub(super) fn push(&mut self, mut event: Event, received: Option<Arc<Message>>) -> u64 {
        let ahead = &mut self.ahead;
        ahead.seq += 1;
        if let Some(trace) = &self.trace {
            trace.stamp(&mut event);
        }
        let at = Entry::stated_time(&event).unwrap_or_else(clock::now);
        ahead
            .pending
            .push(Arc::new(Entry::new(ahead.seq, at, event, received)));
        ahead.seq
    }

    /// No turn runs any more. What its message kept secret is erased with the event that ended it.
    pub(super) fn end_turn(&mut self) {
        if self.is_given_up() {
            return;
        }
        self.phase = match self.ahead.state.is_terminal() {
            true => Phase::Over,
            false => Phase::Idle,
        };
        if let Some(record) = &mut self.record
            && record.secret.take().is_some()
        {
            let erased = TurnRecord::clone(record);
            self.ahead.changes.push(Change::Turn(erased));
        }
    }
}

/// What a turn begins with, beyond its event.
#[derive(Debug)]
pub(super) struct TurnStart {
    /// The event holds a message of the caller; without one, nobody answered in time.
    pub(super) has_message: bool,
    pub(super) answers: Option<u64>,
    pub(super) queued: bool,
    pub(super) secret: Option<String>,
}

impl Committed {
    /// The state that readers see.
    pub(super) fn state(&self) -> Option<TaskState> {
        self.task.as_ref().map(|task| task.status.state)
    }

    /// Whether the task can be large: weighing it takes longer.
    pub(super) fn may_be_large(&self) -> bool {
        self.weight() > LARGE
    }

    /// What the task weighs, roughly, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.loaded_weight + self.snapshot_weight + self.since_snapshot
    }

    /// A snapshot of the task, once the events since the last one weigh as much as the task itself: so the cost of
    /// snapshots per event does not grow with the task.
    pub(super) fn snapshot_if_worth_it(&mut self) -> Option<Snapshot> {
        if self.since_snapshot < MIN_SNAPSHOT_WEIGHT.max(self.snapshot_weight) {
            return None;
        }
        self.snapshot_weight += self.since_snapshot;
        self.since_snapshot = 0;
        self.task.as_ref().map(|task| Snapshot {
            task: Arc::clone(task),
            seq: self.seq,
        })
    }

    /// Applies an event that was committed.
    pub(super) fn apply(&mut self, entry: Arc<Entry>) {
        self.current = None;
        match (&mut self.task, &entry.event) {
            (Some(task), _) => lifecycle::apply(Arc::make_mut(task), &entry),
            (none, Event::Task(task)) => *none = Some(Arc::clone(task)),
            (None, _) => {}
        }
        self.seq = entry.seq;
        let weight = entry.weight();
        self.since_snapshot += weight;
        self.tail_weight += weight;
        self.tail.push_back(entry);
        while self.tail.len() > MAX_TAIL
            || (self.tail_weight > MAX_TAIL_WEIGHT && self.tail.len() > 1)
        {
            if let Some(old) = self.tail.pop_front() {
                self.tail_weight -= old.weight();
            }
        }
    }
}

/// Whether a webhook is among them.
pub(super) fn puts_webhook(changes: &[Change]) -> bool {
    changes.iter().any(|c| matches!(c, Change::PutWebhook(_)))
}
