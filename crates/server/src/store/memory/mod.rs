//! The store that forgets: everything is in memory, shared and not copied. For tests, and for agents whose
//! tasks need not outlive the process.

mod answers;
mod check;
mod dead_letters;
mod index;
mod list;
mod shards;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};

use super::{Error, MAX_EVENT_PAGE, RecentQuery, Store, TaskList, TaskQuery};
use crate::task::{
    Answered, Append, Change, DeadLetter, Delivery, Entry, Head, IdempotencyKey, Note, Snapshot,
    StoredTask, UNTOLD, Webhook,
};
use answers::Answers;
use dead_letters::DeadLetters;
use index::Index;
use shards::Shards;

/// A finished task with more events than this is better folded.
const MANY_EVENTS: usize = 8;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

/// Everything that is kept.
#[derive(Debug, Default)]
struct Kept {
    tasks: Shards,
    index: Index,
    /// By task, in the order they were made.
    webhooks: HashMap<TaskId, Vec<Webhook>>,
    dead_letters: DeadLetters,
    answers: Answers,
    /// By task, in the order of their names.
    notes: HashMap<TaskId, BTreeMap<String, Note>>,
    /// Those about which [`UNTOLD`] is noted.
    untold: BTreeSet<TaskId>,
}

/// A task.
#[derive(Debug)]
struct KeptTask {
    head: Head,
    snapshot: Option<Snapshot>,
    /// Without gaps, up to the head's `seq`.
    entries: Vec<Arc<Entry>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        let mut kept = self.kept();
        kept.check(&changes)?;
        for change in changes {
            kept.apply(change);
        }
        Ok(())
    }

    async fn head(&self, id: &TaskId) -> Result<Option<Head>, Error> {
        Ok(self.kept().head(id))
    }

    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        Ok(self.kept().tasks.get(id).map(KeptTask::stored))
    }

    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let kept = self.kept();
        let later = kept.tasks.get(id).map_or(&[][..], |task| task.later(after));
        let mut weight = 0;
        let page = later.iter().take(limit).take_while(|entry| {
            let fits = weight < MAX_EVENT_PAGE;
            weight += entry.weight();
            fits
        });
        Ok(page.cloned().collect())
    }

    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error> {
        list::list(&query, || self.kept())
    }

    async fn recent(&self, query: RecentQuery) -> Result<Vec<Head>, Error> {
        let kept = self.kept();
        let heads = kept.tasks.iter().map(|task| &task.head);
        let mut found: Vec<&Head> = heads.filter(|head| query.matches(head)).collect();
        found.sort_unstable_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        Ok(found.into_iter().take(query.limit).cloned().collect())
    }

    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        let kept = self.kept();
        let ids = kept.index.live(after).take(limit);
        Ok(ids.filter_map(|id| kept.head(id)).collect())
    }

    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        Ok(self.kept().webhooks_of(task).to_vec())
    }

    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        let kept = self.kept();
        let open = kept.index.open_webhooks(after);
        let webhooks = open.filter_map(|id| kept.webhook(id));
        let left = webhooks.filter(|webhook| kept.has_left(webhook));
        Ok(left.take(limit).cloned().collect())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        let kept = self.kept();
        Ok(kept.dead_letters.newest().take(limit).cloned().collect())
    }

    async fn notes(&self, task: &TaskId) -> Result<Vec<Note>, Error> {
        let kept = self.kept();
        let notes = kept.notes.get(task).into_iter();
        Ok(notes.flat_map(BTreeMap::values).cloned().collect())
    }

    async fn untold(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        let kept = self.kept();
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let tasks = kept.untold.range((after, Bound::Unbounded));
        Ok(tasks.filter_map(|id| kept.head(id)).take(limit).collect())
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        Ok(self.kept().answers.get(key).cloned())
    }

    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        Ok(self
            .kept()
            .answers
            .old(before)
            .take(limit)
            .cloned()
            .collect())
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        let kept = self.kept();
        let delivered = |id: &&TaskId| !kept.webhooks_of(id).iter().any(|w| kept.has_left(w));
        let ids = kept.index.heavy(before).filter(delivered).take(limit);
        Ok(ids.cloned().collect())
    }

    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error> {
        Ok(self.kept().index.expired(state, before, limit))
    }
}

impl KeptTask {
    /// The events after `after`.
    fn later(&self, after: u64) -> &[Arc<Entry>] {
        let start = self.entries.partition_point(|entry| entry.seq <= after);
        self.entries.get(start..).unwrap_or_default()
    }

    fn stored(&self) -> StoredTask {
        let folded = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
        StoredTask {
            head: self.head.clone(),
            snapshot: self.snapshot.clone(),
            entries: self.later(folded).to_vec(),
        }
    }

    fn is_heavy(&self) -> bool {
        self.head.state.is_terminal() && self.entries.len() > MANY_EVENTS
    }
}

impl Kept {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Append(append) => self.append(append),
            Change::PutWebhook(webhook) => self.put_webhook(webhook),
            Change::DeleteWebhook(task, id) => self.delete_webhook(&task, &id),
            Change::Delivery(task, id, delivery) => self.delivery(&task, &id, delivery),
            Change::DeadLetter(letter) => self.dead_letters.put(letter),
            Change::Answered(answered) => self.answers.put(answered),
            Change::Fold(snapshot) => self.fold(snapshot),
            Change::Remove(task) => self.remove(&task),
            Change::ForgetAnswer(key, before) => self.answers.forget(&key, before),
            Change::Note(note) => self.note(note),
        }
    }

    fn append(&mut self, append: Append) {
        let Append {
            head,
            entries,
            snapshot,
        } = append;
        let Some(task) = self.tasks.get_mut(&head.id) else {
            self.index.insert(&head);
            let task = Box::new(KeptTask {
                head,
                snapshot,
                entries,
            });
            self.index.set_heavy(&task.head, task.is_heavy());
            self.tasks.insert(task);
            return;
        };
        self.index.set_heavy(&task.head, false);
        self.index.update(&task.head, &head);
        let was_over = task.head.state.is_terminal();
        task.head.state = head.state;
        task.head.updated = head.updated;
        task.head.seq = head.seq;
        task.entries.extend(entries);
        task.snapshot = snapshot.or(task.snapshot.take());
        self.index.set_heavy(&task.head, task.is_heavy());
        if was_over {
            for webhook in self.webhooks.get(&head.id).into_iter().flatten() {
                self.index.set_open(webhook, true);
            }
        }
    }

    fn fold(&mut self, snapshot: Snapshot) {
        if let Some(task) = self.tasks.get_mut(&snapshot.task.id) {
            let gone = task
                .entries
                .partition_point(|entry| entry.seq <= snapshot.seq);
            task.entries.drain(..gone);
            task.entries.shrink_to_fit();
            task.snapshot = Some(snapshot);
            self.index.set_heavy(&task.head, task.is_heavy());
        }
    }

    fn remove(&mut self, id: &TaskId) {
        if !self
            .tasks
            .get(id)
            .is_some_and(|task| task.head.state.is_terminal())
        {
            return;
        }
        if let Some(task) = self.tasks.remove(id) {
            self.index.set_heavy(&task.head, false);
            self.index.remove(&task.head);
        }
        for webhook in self.webhooks.remove(id).into_iter().flatten() {
            self.index.set_open(&webhook, false);
        }
        self.dead_letters.remove(id);
        self.answers.remove(id);
        self.notes.remove(id);
        self.untold.remove(id);
    }

    fn note(&mut self, note: Note) {
        if self.tasks.get(&note.task).is_none() {
            return;
        }
        let is_untold = note.name == UNTOLD;
        let notes = self.notes.entry(note.task.clone()).or_default();
        if note.value.is_null() {
            notes.remove(&note.name);
            if is_untold {
                self.untold.remove(&note.task);
            }
        } else {
            if is_untold {
                self.untold.insert(note.task.clone());
            }
            notes.insert(note.name.clone(), note);
        }
    }

    fn head(&self, id: &TaskId) -> Option<Head> {
        self.tasks.get(id).map(|task| task.head.clone())
    }

    fn webhooks_of(&self, task: &TaskId) -> &[Webhook] {
        self.webhooks.get(task).map_or(&[], Vec::as_slice)
    }

    fn webhook(&self, (task, id): &(TaskId, PushConfigId)) -> Option<&Webhook> {
        self.webhooks_of(task)
            .iter()
            .find(|webhook| webhook.id == *id)
    }

    /// Whether a webhook has events left to deliver.
    fn has_left(&self, webhook: &Webhook) -> bool {
        let task = self.tasks.get(&webhook.task);
        task.is_some_and(|task| webhook.delivery.delivered < task.head.seq)
    }

    fn put_webhook(&mut self, webhook: Webhook) {
        self.settle(&webhook);
        let webhooks = self.webhooks.entry(webhook.task.clone()).or_default();
        match webhooks.iter_mut().find(|old| old.id == webhook.id) {
            Some(old) => *old = webhook,
            None => webhooks.push(webhook),
        }
    }

    fn delete_webhook(&mut self, task: &TaskId, id: &PushConfigId) {
        if let Some(webhooks) = self.webhooks.get_mut(task) {
            for webhook in webhooks.extract_if(.., |webhook| webhook.id == *id) {
                self.index.set_open(&webhook, false);
            }
            if webhooks.is_empty() {
                self.webhooks.remove(task);
            }
        }
    }

    fn delivery(&mut self, task: &TaskId, id: &PushConfigId, delivery: Delivery) {
        let webhooks = self.webhooks.get_mut(task);
        let found = webhooks.and_then(|webhooks| webhooks.iter_mut().find(|w| w.id == *id));
        if let Some(webhook) = found {
            webhook.delivery = delivery;
            let webhook = webhook.clone();
            self.settle(&webhook);
        }
    }

    /// Notes whether a webhook can still have something to deliver.
    fn settle(&mut self, webhook: &Webhook) {
        let task = self.tasks.get(&webhook.task);
        let over = task.is_some_and(|task| task.head.state.is_terminal());
        let open = !over || self.has_left(webhook);
        self.index.set_open(webhook, open);
    }
}
