//! What is behind the lock of a task's log: its state, told and to come. No waiting, no I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::{Event, Message, Task, TaskId, TaskState, Timestamp};
use tokio_util::sync::CancellationToken;

use super::Waited;
use crate::log::TRACE_NOTE;
use crate::store::Error;
use crate::task::lifecycle::{self, IllegalTransition};
use crate::task::{Change, Entry, LARGE, Note, Snapshot};
use crate::trace::Trace;

/// How many of the latest events are kept in memory for readers that keep up; others read the store.
const MAX_TAIL: usize = 2048;
/// How much those may weigh, roughly, in bytes.
const MAX_TAIL_WEIGHT: usize = 1 << 20;
/// Events of less weight than this are not worth a snapshot.
const MIN_SNAPSHOT_WEIGHT: usize = 64 << 10;

/// What is behind the lock of a task's log.
pub(super) struct Inner {
    /// The task up to event `durable`: what may be told.
    pub(super) told: Option<Arc<Task>>,
    /// Marks a large committed state that a reader received; dropped when the next event changes `told`.
    pub(super) current: Option<Arc<()>>,
    pub(super) durable: u64,
    /// The latest stored events.
    pub(super) tail: VecDeque<Arc<Entry>>,
    pub(super) tail_weight: usize,
    /// Where the task stands once everything pending is stored.
    pub(super) state: TaskState,
    pub(super) updated: Timestamp,
    pub(super) seq: u64,
    /// What it asks then, if it waits for an answer.
    pub(super) question: Option<Arc<Message>>,
    pub(super) pending: Vec<Arc<Entry>>,
    /// Changes that must be stored together with the pending events.
    pub(super) beside: Vec<Change>,
    /// In the writer's queue, or about to be.
    pub(super) queued: bool,
    /// Not to be stored yet: the agent may still answer with a bare message.
    pub(super) held: bool,
    /// Not to be stored yet: the turn is at its first poll, and what it says goes into one commit.
    pub(super) corked: bool,
    /// The agent has answered with a bare message, so no task may come of this any more.
    pub(super) replies: bool,
    /// What the task weighed when it was read from the store.
    pub(super) loaded_weight: usize,
    pub(super) snapshot_weight: usize,
    pub(super) since_snapshot: usize,
    pub(super) turn: Option<RunningTurn>,
    /// Messages that came while a turn ran, and wait for theirs.
    pub(super) inbox: VecDeque<Waited>,
    /// There may be more of them in the store.
    pub(super) more_waits: bool,
    pub(super) reply: Option<Arc<Message>>,
    pub(super) trouble: Option<Error>,
    pub(super) has_webhooks: bool,
    /// What the events of the turn are part of.
    pub(super) trace: Option<Arc<Trace>>,
    /// How much was said that is not for callers.
    pub(super) internal: u32,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) canceled: CancellationToken,
    /// The turn has not begun, though the task counts as working.
    pub(super) in_line: bool,
    /// The event that began it, if more messages may wait in the store.
    pub(super) recalls: Option<u64>,
}

impl RunningTurn {
    pub(super) fn new(canceled: &CancellationToken) -> Self {
        Self {
            canceled: canceled.clone(),
            in_line: false,
            recalls: None,
        }
    }
}

impl Inner {
    pub(super) fn new(
        told: Option<Arc<Task>>,
        seq: u64,
        state: TaskState,
        updated: Timestamp,
    ) -> Self {
        let open = told.as_ref().filter(|_| state.is_interrupted());
        let loaded_weight = told.as_ref().map_or(0, |task| task.weight());
        Self {
            question: open.and_then(|task| task.status.message.clone()),
            told,
            current: None,
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
            corked: false,
            replies: false,
            loaded_weight,
            snapshot_weight: 0,
            since_snapshot: 0,
            turn: None,
            inbox: VecDeque::new(),
            more_waits: false,
            reply: None,
            trouble: None,
            has_webhooks: false,
            trace: None,
            internal: 0,
        }
    }

    /// Whether the task can be large: weighing it takes longer.
    pub(super) fn may_be_large(&self) -> bool {
        self.loaded_weight + self.snapshot_weight + self.since_snapshot > LARGE
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.turn.is_none() && self.state.is_interrupted()
    }

    /// Goes on as part of `trace`, or of none; that is stored with what is said next.
    pub(super) fn follow(&mut self, trace: Option<Arc<Trace>>, task: &TaskId) {
        if trace.is_some() || self.trace.is_some() {
            let note = Note {
                task: task.clone(),
                name: TRACE_NOTE.to_owned(),
                value: Trace::to_json(trace.as_deref()),
            };
            self.beside.push(Change::Note(note));
            self.trace = trace;
        }
    }

    pub(super) fn append(
        &mut self,
        event: Event,
        received: Option<Arc<Message>>,
    ) -> Result<u64, IllegalTransition> {
        self.state = lifecycle::check(self.state, &event)?;
        if let Event::Status(update) = &event {
            self.updated = update.status.timestamp.unwrap_or(self.updated);
            let asked = update.status.message.as_ref();
            self.question = asked.filter(|_| self.state.is_interrupted()).cloned();
        }
        Ok(self.push(event, received))
    }

    pub(super) fn push(&mut self, mut event: Event, received: Option<Arc<Message>>) -> u64 {
        self.seq += 1;
        if let Some(trace) = &self.trace {
            trace.stamp(&mut event);
        }
        self.pending
            .push(Arc::new(Entry::new(self.seq, event, received)));
        self.seq
    }

    /// A snapshot of what is told, once the events since the last one weigh as much as the task itself:
    /// so the cost of snapshots per event does not grow with the task.
    pub(super) fn snapshot_if_worth_it(&mut self) -> Option<Snapshot> {
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

    pub(super) fn tell(&mut self, entry: Arc<Entry>) {
        self.current = None;
        match (&mut self.told, &entry.event) {
            (Some(told), _) => lifecycle::apply(Arc::make_mut(told), &entry),
            (none, Event::Task(task)) => *none = Some(Arc::clone(task)),
            (None, _) => {}
        }
        self.durable = entry.seq;
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
