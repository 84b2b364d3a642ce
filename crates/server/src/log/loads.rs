//! Tasks that are read from the store because they are not in memory: once for all who ask at the same time, and held
//! once for as long as anyone reads them.
//!
//! An answer refers to its task until it is sent, so readers that do not read keep tasks in memory. Large ones are
//! therefore shared, and counted: beyond a budget no others are read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use foldhash::fast::RandomState;
use switchboard_types::model::{Task, TaskId};
use tokio::sync::Mutex as AsyncMutex;

use super::{LARGE, Shared, lock};
use crate::engine::lifecycle;
use crate::store::{Error, Head, StoredTask};

/// What large tasks may weigh together that are held for readers, unless it is set.
pub const DEFAULT_ANSWERS: usize = 512 << 20;

/// What earlier states of one task may weigh together that readers hold while it grows.
const MAX_EARLIER: usize = 48 << 20;

/// Tasks of more weight are put together on a blocking thread: others are answered meanwhile.
const SLOW: usize = 256 << 10;

/// With fewer slots nothing is gained by looking for those that can go.
const MIN_SLOTS: usize = 64;

/// The tasks that are being read, and large ones that were and are still held.
#[derive(Debug)]
pub(super) struct Loads {
    slots: Mutex<HashMap<TaskId, Slot, RandomState>>,
    /// Tasks as they once stood.
    earlier: Mutex<Vec<Loaded>>,
    max: AtomicUsize,
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
}

impl Default for Loads {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
            earlier: Mutex::default(),
            max: AtomicUsize::new(DEFAULT_ANSWERS),
        }
    }
}

impl Loads {
    pub(super) fn limit(&self, bytes: usize) {
        self.max.store(bytes, Ordering::Relaxed);
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

    /// Whether as much is held as may be.
    fn require_room(&self) -> Result<(), Error> {
        self.room_for(0, &lock(&self.slots))
    }

    fn room_for(
        &self,
        weight: usize,
        slots: &HashMap<TaskId, Slot, RandomState>,
    ) -> Result<(), Error> {
        let max = self.max.load(Ordering::Relaxed);
        let shared: usize = slots.values().map(Slot::weight).sum();
        let earlier: usize = lock(&self.earlier).iter().map(Loaded::weight).sum();
        let held = shared + earlier;
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
            self.room_for(weight, &slots)?;
        }
        let slot = slots.entry(id.clone()).or_default();
        slot.loaded = Some(Loaded {
            seq,
            weight,
            task: Arc::downgrade(task),
        });
        Ok(())
    }

    /// Counts a task that its reader shares with nobody.
    ///
    /// # Errors
    ///
    /// If too many large tasks are held.
    pub(super) fn count(&self, task: &Arc<Task>) -> Result<(), Error> {
        let weight = task.weight();
        if weight <= LARGE {
            return Ok(());
        }
        self.room_for(weight, &lock(&self.slots))?;
        self.remember(task, weight);
        Ok(())
    }

    /// Counts the present state of a task that is still growing. Those who read the same state share it.
    ///
    /// # Errors
    ///
    /// If readers hold too much of how the task stood before.
    pub(super) fn count_growing(&self, task: &Arc<Task>) -> Result<(), Error> {
        let weight = task.weight();
        if weight <= LARGE {
            return Ok(());
        }
        let mut held: usize = 0;
        for loaded in lock(&self.earlier).iter() {
            let Some(earlier) = loaded.task.upgrade() else {
                continue;
            };
            if Arc::ptr_eq(&earlier, task) {
                return Ok(());
            }
            if earlier.id == task.id {
                held = held.saturating_add(loaded.weight);
            }
        }
        // One reader is always served, however large the task is.
        if held > 0 && held.saturating_add(weight) > MAX_EARLIER {
            let why = "too many callers are reading this task while it grows: try again later";
            return Err(Error::Exhausted(why.to_owned()));
        }
        self.remember(task, weight);
        Ok(())
    }

    fn remember(&self, task: &Arc<Task>, weight: usize) {
        let mut earlier = lock(&self.earlier);
        earlier.retain(|loaded| loaded.weight() > 0);
        earlier.push(Loaded {
            seq: 0,
            weight,
            task: Arc::downgrade(task),
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

    fn weight(&self) -> usize {
        self.loaded.as_ref().map_or(0, Loaded::weight)
    }
}

impl Loaded {
    /// What it takes: nothing once nobody holds it.
    fn weight(&self) -> usize {
        match self.task.strong_count() {
            0 => 0,
            _ => self.weight,
        }
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
        if bound == Bound::Budget {
            self.loads.require_room()?;
        }
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
        return lifecycle::fold(stored);
    }
    let folded = tokio::task::spawn_blocking(|| lifecycle::fold(stored)).await;
    folded.unwrap_or_else(|_| Err(Error::Unavailable("the server is stopping".to_owned())))
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::TaskState;

    use super::*;
    use crate::log::Log;
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
            log.count_load(&Arc::new(second.whole())).err(),
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
        for state in [&first, &first] {
            loads.count_growing(state).unwrap();
        }
        let refused = loads.count_growing(&second).unwrap_err();
        assert!(matches!(refused, Error::Exhausted(_)), "{refused:?}");

        let mut other = Task::clone(&second);
        other.id = TaskId::new("another").unwrap();
        let other = Arc::new(other);
        loads.count_growing(&other).unwrap();
        drop(first);
        loads.count_growing(&second).unwrap();
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
