//! Tasks that are read from the store because they are not in memory: once for all who ask at the same time, and held
//! once for as long as anyone reads them.
//!
//! An answer refers to its task until it is sent, so readers that do not read keep tasks in memory. Large ones are
//! therefore shared, and counted: beyond a budget no others are read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use switchboard_types::model::{Task, TaskId};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard};
use tokio::time::timeout;

use super::{Shared, lock};
use crate::store::Error;
use crate::task::{Head, LARGE, StoredTask, lifecycle};

/// What large tasks may weigh together that are held for readers, unless it is set.
pub(crate) const DEFAULT_ANSWERS: usize = 512 << 20;

/// What earlier states of one task may weigh together that readers hold while it grows.
const MAX_EARLIER: usize = 48 << 20;

/// Tasks of more weight are put together on a blocking thread: others are answered meanwhile.
const SLOW: usize = 256 << 10;

/// With fewer slots nothing is gained by looking for those that can go.
const MIN_SLOTS: usize = 64;

/// How long a list waits until it may read a large task.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

type Slots = HashMap<TaskId, Slot, RandomState>;

/// The tasks that are being read, and large ones that were and are still held.
#[derive(Debug)]
pub(super) struct Loads {
    slots: Mutex<Slots>,
    /// Tasks as they once stood.
    earlier: Mutex<Vec<Loaded>>,
    max: AtomicUsize,
    /// While all of the budget is used, tasks are read one by one: only then it is known whether they are large.
    one_by_one: AsyncMutex<()>,
    /// Whoever has it reads a large task to show it without its content.
    without_content: AsyncMutex<()>,
}

/// Whether a task may be read beyond the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// It may not.
    Budget,
    /// It may: the server itself needs it.
    None,
}

#[derive(Debug, Default)]
struct Slot {
    /// Whoever has it reads the task; others wait, and share what was read.
    turn: Arc<AsyncMutex<()>>,
    loaded: Option<Loaded>,
}

/// A large task that someone may still hold.
#[derive(Debug)]
struct Loaded {
    /// The event up to which it was read: later ones make it another.
    seq: u64,
    weight: usize,
    task: Weak<Task>,
    /// Exists as long as the task's log refers to it, whether or not anyone reads it.
    current: Weak<()>,
}

impl Default for Loads {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
            earlier: Mutex::default(),
            max: AtomicUsize::new(DEFAULT_ANSWERS),
            one_by_one: AsyncMutex::default(),
            without_content: AsyncMutex::default(),
        }
    }
}

impl Loads {
    pub(super) fn limit(&self, bytes: usize) {
        self.max.store(bytes, Ordering::Relaxed);
    }

    /// Waits until nobody else reads a large task to show it without its content.
    ///
    /// # Errors
    ///
    /// If so many wait for it that it takes too long.
    pub(super) async fn turn_without_content(&self) -> Result<MutexGuard<'_, ()>, Error> {
        let turn = timeout(LIST_TIMEOUT, self.without_content.lock()).await;
        turn.map_err(|_| {
            let why = "too many lists of large tasks are being read at once: try again later";
            Error::Exhausted(why.to_owned())
        })
    }

    fn turn(&self, id: &TaskId) -> Arc<AsyncMutex<()>> {
        let mut slots = lock(&self.slots);
        if slots.len() >= MIN_SLOTS && slots.len() == slots.capacity() {
            slots.retain(|_, slot| Arc::strong_count(&slot.turn) > 1 || slot.task().is_some());
        }
        Arc::clone(&slots.entry(id.clone()).or_default().turn)
    }

    /// The task as it was read last, if someone still holds it.
    fn held(&self, id: &TaskId) -> Option<(u64, Arc<Task>)> {
        let slots = lock(&self.slots);
        let slot = slots.get(id)?;
        slot.task()
    }

    /// Whether all of the budget is used.
    fn is_full(&self) -> bool {
        let held = self.held_beside(|_| false, &lock(&self.slots));
        held > self.max.load(Ordering::Relaxed)
    }

    /// What all tasks weigh that readers hold, but for some.
    fn held_beside(&self, but: impl Fn(&Loaded) -> bool, slots: &Slots) -> usize {
        let earlier = lock(&self.earlier);
        let shared = slots.values().filter_map(|slot| slot.loaded.as_ref());
        let counted = shared.chain(earlier.iter()).filter(|loaded| !but(loaded));
        counted.map(Loaded::weight).sum()
    }

    /// Whether another task of that weight may be held.
    fn room_for(&self, task: &Arc<Task>, weight: usize, slots: &Slots) -> Result<(), Error> {
        let max = self.max.load(Ordering::Relaxed);
        let held = self.held_beside(|loaded| loaded.is(task), slots);
        // One task is always read, however large it is.
        if held > 0 && held.saturating_add(weight) > max {
            let why = "too many large tasks are being read at once: try again later";
            return Err(Error::Exhausted(why.to_owned()));
        }
        Ok(())
    }

    /// Remembers a task that was read, if it is large.
    fn loaded(&self, id: &TaskId, seq: u64, task: &Arc<Task>, bound: Bound) -> Result<(), Error> {
        let weight = task.weight();
        let mut slots = lock(&self.slots);
        if weight <= LARGE {
            // One reference is the slot's, one that of whoever reads it now.
            let alone = |slot: &Slot| Arc::strong_count(&slot.turn) <= 2;
            if slots.get(id).is_some_and(alone) {
                slots.remove(id);
            }
            return Ok(());
        }
        if bound == Bound::Budget {
            self.room_for(task, weight, &slots)?;
        }
        let slot = slots.entry(id.clone()).or_default();
        slot.loaded = Some(Loaded {
            seq,
            weight,
            task: Arc::downgrade(task),
            current: Weak::new(),
        });
        Ok(())
    }

    /// Says that the log of a task refers to it, as long as `current` exists.
    pub(super) fn kept(&self, task: &Arc<Task>, current: Weak<()>) {
        let mut slots = lock(&self.slots);
        let loaded = slots
            .get_mut(&task.id)
            .and_then(|slot| slot.loaded.as_mut());
        if let Some(loaded) = loaded.filter(|loaded| loaded.is(task)) {
            loaded.current = current;
        }
    }

    /// Counts a task that the server has read for its own use; no reader shares it.
    pub(super) fn count(&self, task: &Arc<Task>) {
        let weight = task.weight();
        if weight > LARGE {
            self.remember(task, weight, Weak::new());
        }
    }

    /// Counts the present state of a task, which its log keeps as long as `current` exists. Those who read the same state
    /// share it.
    ///
    /// # Errors
    ///
    /// If readers hold too much of how the task stood before, or of all tasks. Not if it is not bound.
    pub(super) fn count_growing(
        &self,
        task: &Arc<Task>,
        current: Weak<()>,
        bound: Bound,
    ) -> Result<(), Error> {
        let weight = task.weight();
        if weight <= LARGE {
            return Ok(());
        }
        let slots = lock(&self.slots);
        let slot = slots.get(&task.id).and_then(|slot| slot.loaded.as_ref());
        let (mut is_known, mut is_read, mut held) = (false, false, 0_usize);
        for loaded in slot.into_iter().chain(lock(&self.earlier).iter()) {
            if loaded.is(task) {
                is_known = true;
                is_read |= loaded.is_read_by_others();
            } else if loaded.task.upgrade().is_some_and(|it| it.id == task.id) {
                held = held.saturating_add(loaded.weight);
            }
        }
        if bound == Bound::Budget && !is_read {
            // One reader is always served, however large the task is.
            if held > 0 && held.saturating_add(weight) > MAX_EARLIER {
                let why = "too many callers are reading this task while it grows: try again later";
                return Err(Error::Exhausted(why.to_owned()));
            }
            self.room_for(task, weight, &slots)?;
        }
        drop(slots);
        if !is_known {
            self.remember(task, weight, current);
        }
        Ok(())
    }

    fn remember(&self, task: &Arc<Task>, weight: usize, current: Weak<()>) {
        let mut earlier = lock(&self.earlier);
        earlier.retain(|loaded| loaded.weight() > 0);
        earlier.push(Loaded {
            seq: 0,
            weight,
            task: Arc::downgrade(task),
            current,
        });
    }

    /// There is no such task.
    fn absent(&self, id: &TaskId) {
        lock(&self.slots).remove(id);
    }
}

impl Slot {
    fn task(&self) -> Option<(u64, Arc<Task>)> {
        let loaded = self.loaded.as_ref()?;
        Some((loaded.seq, loaded.task.upgrade()?))
    }
}

impl Loaded {
    /// Its weight, or zero once only its log holds it.
    fn weight(&self) -> usize {
        let kept = self.current.strong_count().min(1);
        match self.task.strong_count() > kept {
            true => self.weight,
            false => 0,
        }
    }

    /// Whether a reader other than its log and the caller of this function holds it.
    fn is_read_by_others(&self) -> bool {
        self.task.strong_count() > self.current.strong_count().min(1) + 1
    }

    fn is(&self, task: &Arc<Task>) -> bool {
        std::ptr::eq(self.task.as_ptr(), Arc::as_ptr(task))
    }
}

impl Shared {
    /// Reads a task from the store.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or too many large tasks are held.
    pub(super) async fn load(
        &self,
        id: &TaskId,
        bound: Bound,
    ) -> Result<Option<(Head, Arc<Task>)>, Error> {
        let turn = self.loads.turn(id);
        let _turn = turn.lock().await;
        if let Some((seq, task)) = self.loads.held(id) {
            match self.store.head(id).await? {
                Some(head) if head.seq == seq => return Ok(Some((head, task))),
                _ => drop(task),
            }
        }
        let _alone = match bound == Bound::Budget && self.loads.is_full() {
            true => Some(self.loads.one_by_one.lock().await),
            false => None,
        };
        let Some(stored) = self.store.task(id).await? else {
            self.loads.absent(id);
            return Ok(None);
        };
        let head = stored.head.clone();
        let task = Arc::new(fold(stored).await?);
        self.loads.loaded(id, head.seq, &task, bound)?;
        Ok(Some((head, task)))
    }
}

/// Puts a task together, where it may take a while if that takes a while.
async fn fold(stored: StoredTask) -> Result<Task, Error> {
    let weight: usize = stored.entries.iter().map(|entry| entry.weight()).sum();
    if weight <= SLOW {
        return Ok(lifecycle::fold(stored)?);
    }
    let folded = tokio::task::spawn_blocking(|| lifecycle::fold(stored)).await;
    let stopping = |_| Error::Unavailable("the server is stopping".to_owned());
    Ok(folded.map_err(stopping)??)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use switchboard_types::model::{Event, TaskState};

    use super::*;
    use crate::log::{Cursor, Log, Retention, Until};
    use crate::store::{MemoryStore, Store};
    use crate::testing::store_suite::{Story, at, commit};

    /// A task of about that size, stored.
    async fn stored(store: &dyn Store, n: u32, bytes: usize) -> Story {
        let mut story = Story::new(n);
        commit(store, [story.step(TaskState::Working, at(1))]).await;
        commit(store, [story.say(&"x".repeat(bytes))]).await;
        story
    }

    #[tokio::test]
    async fn readers_of_a_large_task_share_it() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut story = stored(&*store, 1, 100_000).await;
        let log = Log::new(Arc::clone(&store));
        let read = async || log.read(story.id()).await.unwrap().unwrap().1;
        let (one, two) = tokio::join!(read(), read());
        assert!(Arc::ptr_eq(&one, &two) && Arc::ptr_eq(&one, &read().await));
        assert_eq!(*one, story.whole());

        commit(&*store, [story.say("more")]).await;
        let later = log.read(story.id()).await.unwrap().unwrap().1;
        assert_eq!(
            *later,
            story.whole(),
            "what was read before is not shown for what is stored now"
        );
    }

    #[tokio::test]
    async fn beyond_the_budget_no_other_large_task_is_read() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let first = stored(&*store, 1, 100_000).await;
        let second = stored(&*store, 2, 100_000).await;
        let small = stored(&*store, 3, 100).await;
        let log = Log::new(Arc::clone(&store));
        log.limit_loads(150_000);

        let held = log.read(first.id()).await.unwrap().unwrap();
        for refused in [
            log.read(second.id()).await.err(),
            log.open(second.id()).await.err(),
        ] {
            assert!(matches!(refused, Some(Error::Exhausted(_))), "{refused:?}");
        }
        assert!(log.read(first.id()).await.unwrap().is_some());
        assert!(log.read(small.id()).await.unwrap().is_some());
        drop(held);
        assert!(log.read(second.id()).await.unwrap().is_some());
    }

    #[test]
    fn readers_of_a_growing_task_hold_no_more_than_its_share() {
        let loads = Loads::default();
        let mut story = Story::new(1);
        story.step(TaskState::Working, at(1));
        let mut grown = || {
            story.say(&"x".repeat(16 << 20));
            Arc::new(story.whole())
        };
        let (first, second) = (grown(), grown());
        let count = |state: &Arc<Task>| loads.count_growing(state, Weak::new(), Bound::Budget);
        for state in [&first, &first] {
            count(state).unwrap();
        }
        let refused = count(&second).unwrap_err();
        assert!(matches!(refused, Error::Exhausted(_)), "{refused:?}");

        let mut other = Task::clone(&second);
        other.id = TaskId::new("another").unwrap();
        let other = Arc::new(other);
        count(&other).unwrap();
        drop(first);
        count(&second).unwrap();
    }

    /// A log with room for one of the large tasks that are stored there, and a small one.
    async fn crowded() -> (Log, [Story; 3], Story) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut large = Vec::new();
        for n in 1..=3 {
            let mut story = stored(&*store, n, 100_000).await;
            commit(&*store, [story.step(TaskState::InputRequired, at(2))]).await;
            large.push(story);
        }
        let small = stored(&*store, 4, 100).await;
        let log = Log::new(store);
        log.limit_loads(150_000);
        (log, large.try_into().unwrap(), small)
    }

    #[tokio::test]
    async fn answers_to_senders_are_counted_and_never_refused() {
        let (log, [first, second, third], small) = crowded().await;
        let open = async |story: &Story| log.open_internal(story.id()).await.unwrap().unwrap();
        let logs = [open(&first).await, open(&second).await, open(&third).await];
        assert!(
            log.read(third.id()).await.is_ok(),
            "nobody but the logs holds tasks"
        );
        let held = [&logs[0], &logs[1]].map(|log| log.view_to_answer().unwrap());
        let refused = logs[2].view_to_send();
        assert!(matches!(refused, Err(Error::Exhausted(_))), "{refused:?}");
        assert!(log.read(small.id()).await.unwrap().is_some());

        // A reader that has sent a message is not refused; another one is.
        let mut reader = Cursor::from_now(Arc::clone(&logs[2]), Until::TurnEnds);
        assert!(matches!(reader.next().await, Err(Error::Exhausted(_))));
        let mut sender = Cursor::from_now(Arc::clone(&logs[2]), Until::TurnEnds).executed();
        let told = sender.next().await.unwrap().unwrap();
        let Event::Task(task) = &told[0].entry.event else {
            panic!("no task");
        };
        assert!(task.id == *third.id() && task.artifacts.is_empty());
        drop(held);
        assert!(logs[2].view_to_send().is_ok());
    }

    #[tokio::test]
    async fn work_of_the_server_goes_on_without_room_for_callers() {
        let (log, [mut first, second, _], _) = crowded().await;
        let store = Arc::clone(log.store());
        for _ in 0..100 {
            commit(&*store, [first.say("more")]).await;
        }
        commit(&*store, [first.step(TaskState::Completed, at(3))]).await;
        let _held = log.read(second.id()).await.unwrap().unwrap();
        let refused = log.read(first.id()).await;
        assert!(matches!(refused, Err(Error::Exhausted(_))), "{refused:?}");
        assert!(log.read_internal(first.id()).await.unwrap().is_some());
        let swept = log.sweep(&Retention::replay(Duration::ZERO)).await;
        assert_eq!(swept.unwrap().folded, 1);
    }

    #[tokio::test]
    async fn a_task_larger_than_the_budget_is_read_alone() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let story = stored(&*store, 1, 300_000).await;
        let log = Log::new(store);
        log.limit_loads(1);
        assert!(log.read(story.id()).await.unwrap().is_some());
    }
}
