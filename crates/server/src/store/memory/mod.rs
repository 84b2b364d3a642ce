//! The store that forgets: everything is in memory, shared and not copied. For tests, and for agents whose
//! tasks need not outlive the process.

mod answers;
mod check;
mod claims;
mod dead_letters;
mod index;
mod list;
mod shards;
mod turns;
mod webhooks;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use switchboard_types::model::{PushConfigId, TaskId, TaskState, Timestamp};

use super::{CommitReport, Error, Listed, MAX_EVENT_PAGE, RecentQuery, Store, TaskList, TaskQuery};
use crate::task::{
    Answered, Append, Change, DeadLetter, Entry, Head, Holder, IdempotencyKey, PendingRelease,
    Snapshot, StoredStep, StoredTask, TurnRecord, Webhook,
};
use answers::Answers;
use claims::TaskClaims;
use dead_letters::DeadLetters;
use index::Index;
use shards::Shards;
use turns::TurnTable;

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
    turns: TurnTable,
    claims: TaskClaims,
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
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, changes: Vec<Change>) -> Result<CommitReport, Error> {
        let mut kept = self.kept.lock();
        let refused = check::refused(&kept, &changes);
        let report = CommitReport { refused };
        for change in changes {
            let is_refused = |task: &TaskId| report.refusal(task).is_some();
            if !change.task().is_some_and(is_refused) {
                kept.apply(change);
            }
        }
        Ok(report)
    }

    async fn claim(&self, task: &TaskId, holder: &Arc<Holder>) -> Result<bool, Error> {
        let mut kept = self.kept.lock();
        let is_free = !kept.claims.is_fenced(task, holder);
        if let Some(head) = kept.head(task).filter(|_| is_free) {
            kept.claims.update(&head, Some(holder));
        }
        Ok(is_free)
    }

    async fn head(&self, id: &TaskId) -> Result<Option<Head>, Error> {
        Ok(self.kept.lock().head(id))
    }

    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        Ok(self.kept.lock().tasks.get(id).map(KeptTask::stored))
    }

    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let kept = self.kept.lock();
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
        list::list(&query, || self.kept.lock())
    }

    async fn heads(&self, query: TaskQuery) -> Result<Vec<Head>, Error> {
        Ok(self.kept.lock().heads(&query))
    }

    async fn list_by_id(&self, ids: Vec<TaskId>, query: TaskQuery) -> Result<Vec<Listed>, Error> {
        list::list_by_id(&ids, &query, || self.kept.lock())
    }

    async fn recent(&self, query: RecentQuery) -> Result<Vec<Head>, Error> {
        Ok(self.kept.lock().recent(&query))
    }

    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        let kept = self.kept.lock();
        let ids = kept.index.live(after).take(limit);
        Ok(ids.filter_map(|id| kept.head(id)).collect())
    }

    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        Ok(self.kept.lock().webhooks_of(task).to_vec())
    }

    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        let kept = self.kept.lock();
        let open = kept.index.open_webhooks(after);
        let webhooks = open.filter_map(|id| kept.webhook(id));
        let left = webhooks.filter(|webhook| kept.has_left(webhook));
        Ok(left.take(limit).cloned().collect())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        let kept = self.kept.lock();
        Ok(kept.dead_letters.newest().take(limit).cloned().collect())
    }

    async fn turn(&self, task: &TaskId) -> Result<Option<TurnRecord>, Error> {
        let kept = self.kept.lock();
        Ok(kept.has(task).then(|| kept.turns.latest(task)))
    }

    async fn turns(&self, task: &TaskId) -> Result<Vec<TurnRecord>, Error> {
        let kept = self.kept.lock();
        let turns = kept.has(task).then(|| kept.turns.of(task));
        Ok(turns.unwrap_or_default())
    }

    async fn step(&self, task: &TaskId, name: &str) -> Result<Option<StoredStep>, Error> {
        Ok(self.kept.lock().turns.step(task, name).cloned())
    }

    async fn steps(
        &self,
        task: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredStep>, Error> {
        Ok(self.kept.lock().turns.steps(task, after, limit))
    }

    async fn pending_release(&self, task: &TaskId) -> Result<Option<PendingRelease>, Error> {
        Ok(self.kept.lock().turns.release(task).cloned())
    }

    async fn pending_releases(
        &self,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Vec<Head>, Error> {
        let kept = self.kept.lock();
        let ids = kept.turns.pending_after(after).take(limit);
        Ok(ids.filter_map(|id| kept.head(id)).collect())
    }

    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        Ok(self.kept.lock().answers.get(key).cloned())
    }

    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        let kept = self.kept.lock();
        Ok(kept.answers.old(before).take(limit).cloned().collect())
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        let kept = self.kept.lock();
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
        Ok(self.kept.lock().index.expired(state, before, limit))
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
            Change::Turn(turn) if self.has(&turn.task) => self.turns.put(turn),
            Change::Step(step) if self.has(&step.task) => self.turns.add_step(step),
            Change::ReleasePending(release) if self.has(&release.task) => {
                self.turns.put_release(release);
            }
            // Of a task that is gone.
            Change::Turn(_) | Change::Step(_) | Change::ReleasePending(_) => {}
            Change::Released(task) => self.turns.remove_release(&task),
        }
    }

    fn append(&mut self, append: Append) {
        let Append {
            head,
            entries,
            snapshot,
            holder,
        } = append;
        self.claims.update(&head, holder.as_ref());
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
        self.turns.remove(id);
    }

    fn has(&self, task: &TaskId) -> bool {
        self.tasks.get(task).is_some()
    }

    fn head(&self, id: &TaskId) -> Option<Head> {
        self.tasks.get(id).map(|task| task.head.clone())
    }
}
