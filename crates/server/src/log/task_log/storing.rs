//! How the writer takes what waits and says what became of it, and how cursors find what is stored.

use std::sync::{Arc, Weak};

use switchboard_types::model::{Message, TaskState, Timestamp};
use tokio::sync::Notify;

use super::inner::Inner;
use super::{TaskLog, lock};
use crate::log::task_end::EndedTask;
use crate::store::{Error, MAX_EVENT_PAGE};
use crate::task::{Append, Change, Entry, Head};

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
    pub(in crate::log) beside: Vec<Change>,
}

impl TaskLog {
    /// Rings when something changes; for cursors.
    pub(in crate::log) fn changed(&self) -> &Notify {
        &self.changed
    }

    /// The stored events after `after`: `max` at most, and no more once they weigh a page.
    pub(in crate::log) fn find(&self, after: u64, max: usize) -> Result<Found, Error> {
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
        let mut weight = 0;
        let page = inner.tail.iter().skip(skip).take(max).take_while(|entry| {
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
        let inner = lock(&self.inner);
        let task = inner.loaded_weight + inner.since_snapshot + inner.snapshot_weight;
        512 + inner.tail_weight + task
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

    /// Lets what a turn has said at its first poll be stored, all in one commit.
    pub fn uncork(self: &Arc<Self>) {
        lock(&self.inner).corked = false;
        self.enqueue();
    }

    /// Puts this log into the writer's queue, unless it is there or has nothing to say.
    pub(super) fn enqueue(self: &Arc<Self>) {
        {
            let mut inner = lock(&self.inner);
            let waits = inner.queued || inner.held || inner.corked;
            if waits || inner.pending.is_empty() || inner.reply.is_some() {
                return;
            }
            inner.queued = true;
        }
        lock(&self.shared.queue).logs.push(Arc::clone(self));
        self.shared.work.notify_one();
    }

    /// What the writer is to store now; adds it to `changes`.
    pub(in crate::log) fn take_batch(&self, changes: &mut Vec<Change>) -> Batch {
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
        changes.push(Change::Append(append));
        changes.extend(beside.iter().cloned());
        Batch { entries, beside }
    }

    /// The batch is stored: it may be told.
    pub(in crate::log) fn commit(&self, entries: Vec<Arc<Entry>>) {
        let (has_webhooks, ended) = {
            let mut inner = lock(&self.inner);
            let state = |inner: &Inner| inner.told.as_ref().map(|task| task.status.state);
            let mut before = state(&inner);
            let first = before;
            for entry in entries {
                inner.tell(entry);
                let now = state(&inner);
                if let Some(state) = now.filter(|_| now != before) {
                    self.meter.goes_to(state);
                    before = now;
                }
            }
            let mut ended = None;
            if first != before {
                self.meter.stands(first, before);
                let (task, trace) = (inner.told.as_ref(), inner.trace.as_ref());
                ended = before.and_then(|state| EndedTask::of(state, task, trace));
            }
            inner.trouble = None;
            (inner.has_webhooks, ended)
        };
        if has_webhooks {
            lock(&self.shared.to_push).push(self.origin.id.clone());
            self.shared.push.notify_one();
        }
        self.changed.notify_waiters();
        if let Some(ended) = ended {
            self.shared.task_ends.write(&self.origin, &ended);
        }
    }

    /// The batch could not be stored. A task that nobody knows yet is given up (`false`); one that exists
    /// keeps its events for another try (`true`).
    pub(in crate::log) fn rollback(&self, mut batch: Batch, error: &Error) -> bool {
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
