//! How the writer commits what is pending, and how cursors find what is committed.

use std::sync::{Arc, Weak};

use switchboard_types::model::{Message, TaskState, Timestamp};
use tokio::sync::Notify;

use super::state::Phase;
use super::{TaskLog, lock};
use crate::log::task_end::EndedTask;
use crate::store::{Error, MAX_EVENT_PAGE, Refusal};
use crate::task::{Append, Change, Entry, Head, Origin};

/// With so many changes pending they are committed without an event.
const MAX_CHANGES: usize = 256;

/// What a cursor finds.
pub(in crate::log) enum Found {
    Entries(Vec<Arc<Entry>>),
    /// The events are no longer in memory.
    InStore,
    Reply(Arc<Message>),
    Nothing,
}

/// A batch handed to the writer.
pub(in crate::log) struct Batch {
    pub(in crate::log) entries: Vec<Arc<Entry>>,
    pub(in crate::log) changes: Vec<Change>,
}

impl TaskLog {
    /// Rings when something changes; for cursors.
    pub(in crate::log) fn changed(&self) -> &Notify {
        &self.changed
    }

    /// The stored events after `after`: `max` at most, and no more once they weigh a page.
    pub(in crate::log) fn find(&self, after: u64, max: usize) -> Result<Found, Error> {
        let state = lock(&self.state);
        if let Some(message) = state.phase.reply() {
            return Ok(Found::Reply(message.clone()));
        }
        let committed = &state.committed;
        if after >= committed.seq {
            let trouble = state.trouble.as_ref();
            return match trouble.filter(|_| state.is_given_up()) {
                Some(trouble) => Err(trouble.clone()),
                None => Ok(Found::Nothing),
            };
        }
        let first = committed.tail.front().map_or(u64::MAX, |e| e.seq);
        if after + 1 < first {
            return Ok(Found::InStore);
        }
        let skip = usize::try_from(after + 1 - first).unwrap_or(usize::MAX);
        let mut weight = 0;
        let page = committed
            .tail
            .iter()
            .skip(skip)
            .take(max)
            .take_while(|entry| {
                let fits = weight < MAX_EVENT_PAGE;
                weight += entry.weight();
                fits
            });
        Ok(Found::Entries(page.cloned().collect()))
    }

    /// The events after `after` from the store. One reader at a time, and large events are shared: readers at the
    /// same place hold them once.
    pub(in crate::log) async fn read_stored(
        &self,
        after: u64,
        max: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let mut large = self.large.lock().await;
        large.retain(|entry| entry.strong_count() > 0);
        let mut known = large.iter().filter_map(Weak::upgrade);
        if let Some(entry) = known.find(|entry| entry.seq == after + 1) {
            return Ok(vec![entry]);
        }
        let entries = self.shared.store.events(self.id(), after, max).await?;
        let shared = entries.iter().filter(|entry| entry.is_large());
        large.extend(shared.map(Arc::downgrade));
        Ok(entries)
    }

    /// How much memory this log takes, roughly, in bytes.
    pub(in crate::log) fn weight(&self) -> usize {
        let committed = &lock(&self.state).committed;
        512 + committed.tail_weight + committed.weight()
    }

    pub(super) fn head(&self, state: TaskState, updated: Timestamp, seq: u64) -> Head {
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

    /// Lets what a turn has said at its first poll be committed, all at once.
    pub fn uncork(self: &Arc<Self>) {
        if let Phase::Draft(turn) | Phase::Live(turn) = &mut lock(&self.state).phase {
            turn.at_first_poll = false;
        }
        self.enqueue();
    }

    /// Puts this log into the writer's queue, unless it is there or has nothing to commit.
    pub(super) fn enqueue(self: &Arc<Self>) {
        {
            let mut state = lock(&self.state);
            let ahead = &state.ahead;
            let is_empty = ahead.pending.is_empty() && ahead.changes.len() < MAX_CHANGES;
            if ahead.in_queue || is_empty || !state.phase.may_commit() {
                return;
            }
            state.ahead.in_queue = true;
        }
        lock(&self.shared.queue).logs.push(Arc::clone(self));
        self.shared.work.notify_one();
    }

    /// What the writer is to commit now; adds it to `changes`. Nothing of a task that was given up while it was in the queue.
    pub(in crate::log) fn take_batch(&self, changes: &mut Vec<Change>) -> Option<Batch> {
        let mut state = lock(&self.state);
        if matches!(state.phase, Phase::GivenUp) {
            return None;
        }
        let snapshot = state.committed.snapshot_if_worth_it();
        let ahead = &mut state.ahead;
        ahead.in_queue = false;
        let batch = Batch {
            entries: std::mem::take(&mut ahead.pending),
            changes: std::mem::take(&mut ahead.changes),
        };
        let append = Append {
            head: self.head(ahead.state, ahead.updated, ahead.seq),
            entries: batch.entries.clone(),
            snapshot,
            holder: Some(Arc::clone(&self.shared.holder)),
        };
        changes.push(Change::Append(append));
        changes.extend(batch.changes.iter().cloned());
        Some(batch)
    }

    /// The batch is committed: readers may see it.
    pub(in crate::log) fn commit(&self, entries: Vec<Arc<Entry>>) {
        let (has_webhooks, ended) = {
            let mut state = lock(&self.state);
            let first = state.committed.state();
            let mut before = first;
            for entry in entries {
                state.committed.apply(entry);
                let now = state.committed.state();
                if let Some(state) = now.filter(|_| now != before) {
                    self.meter.goes_to(state);
                    before = now;
                }
            }
            let mut ended = None;
            if first != before {
                self.meter.stands(first, before);
                let (task, trace) = (state.committed.task.as_ref(), state.trace.as_ref());
                ended = before.and_then(|state| EndedTask::of(state, task, trace));
            }
            state.trouble = None;
            (state.has_webhooks, ended)
        };
        self.shared.heads.send(|| self.committed_head());
        if has_webhooks {
            lock(&self.shared.to_push).push(self.origin.id.clone());
            self.shared.push.notify_one();
        }
        self.changed.notify_waiters();
        if let Some(ended) = ended {
            self.shared.task_ends.write(&self.origin, &ended);
        }
    }

    /// The store does not take what this log has to say, and never will: what it holds of the task is not what is stored.
    /// Its turn is canceled, readers and callers get an error, and the next one who asks for the task reads it anew.
    pub(in crate::log) fn refuse(&self, refusal: &Refusal) {
        if !matches!(refusal, Refusal::AlreadyAnswered(_)) {
            let Origin { id, agent, .. } = &self.origin;
            tracing::warn!(%agent, task = %id, %refusal, "commit refused, dropping the task from memory");
        }
        let error = Error::Refused(refusal.clone());
        lock(&self.state).give_up(error);
        self.shared.registry.forget(self.id());
        self.changed.notify_waiters();
    }

    /// The batch could not be committed. A task that nobody knows yet is given up (`false`); one that exists keeps its
    /// events for another try (`true`).
    pub(in crate::log) fn rollback(&self, mut batch: Batch, error: &Error) -> bool {
        let keep = {
            let mut state = lock(&self.state);
            let keep = state.committed.seq > 0;
            if keep {
                state.trouble = Some(error.clone());
                let ahead = &mut state.ahead;
                batch.entries.append(&mut ahead.pending);
                ahead.pending = batch.entries;
                batch.changes.append(&mut ahead.changes);
                ahead.changes = batch.changes;
                ahead.in_queue = true;
            } else {
                state.give_up(error.clone());
            }
            keep
        };
        if !keep {
            self.shared.registry.forget(self.id());
        }
        self.changed.notify_waiters();
        keep
    }
}
