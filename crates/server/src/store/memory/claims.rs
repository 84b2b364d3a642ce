//! Which holder works on which task.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

use crate::task::{Head, Holder};

/// The tasks on which holders work.
#[derive(Debug, Default)]
pub(super) struct TaskClaims(HashMap<TaskId, Weak<Holder>, RandomState>);

impl TaskClaims {
    /// Whether a living holder other than `holder` works on a task.
    pub(super) fn is_fenced(&self, task: &TaskId, holder: &Arc<Holder>) -> bool {
        let held = self.0.get(task).and_then(Weak::upgrade);
        held.is_some_and(|other| !Arc::ptr_eq(&other, holder) && other.is_living())
    }

    /// `holder` works on a task that stands where `head` says, until its turn ends. One that is at rest is nobody's.
    pub(super) fn update(&mut self, head: &Head, holder: Option<&Arc<Holder>>) {
        let is_at_rest = head.state.is_terminal() || head.state.is_interrupted();
        if is_at_rest {
            if !self.0.is_empty() {
                self.0.remove(&head.id);
            }
        } else if let Some(holder) = holder {
            let is_held = |held: &Weak<Holder>| std::ptr::eq(held.as_ptr(), Arc::as_ptr(holder));
            if !self.0.get(&head.id).is_some_and(is_held) {
                self.0.insert(head.id.clone(), Arc::downgrade(holder));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::TaskState;

    use super::*;
    use crate::store::{CommitReport, MemoryStore, Refusal, Store};
    use crate::task::{Append, Change};
    use crate::testing::store_suite::{Story, at};

    /// Appends on behalf of a holder.
    async fn append(store: &MemoryStore, holder: &Arc<Holder>, change: Change) -> CommitReport {
        let Change::Append(append) = change else {
            panic!("{change:?}");
        };
        let holder = Some(Arc::clone(holder));
        let append = Append { holder, ..append };
        store.commit(vec![Change::Append(append)]).await.unwrap()
    }

    #[tokio::test]
    async fn a_task_in_a_turn_belongs_to_its_holder() {
        let (store, one, two) = (MemoryStore::new(), Holder::new(), Holder::new());
        let mut story = Story::new(1);
        let begun = story.step(TaskState::Working, at(1));
        assert_eq!(append(&store, &one, begun).await.refused, []);
        assert!(!store.claim(story.id(), &two).await.unwrap());
        assert!(store.claim(story.id(), &one).await.unwrap());

        let stored = story.clone();
        let theirs = story.clone().say("by another");
        let refused = append(&store, &two, theirs.clone()).await;
        assert_eq!(refused.refusal(story.id()), Some(&Refusal::Fenced));
        stored.assert_stored_in(&store).await;
        let asked = story.step(TaskState::InputRequired, at(2));
        assert_eq!(append(&store, &one, asked).await.refused, []);

        let answered = story.step(TaskState::Working, at(3));
        assert_eq!(append(&store, &two, answered).await.refused, []);
        let late = append(&store, &one, story.clone().say("late")).await;
        assert_eq!(late.refusal(story.id()), Some(&Refusal::Fenced));
    }

    #[tokio::test]
    async fn a_task_is_free_once_its_holder_is_gone() {
        for is_dropped in [true, false] {
            let (store, one, two) = (MemoryStore::new(), Holder::new(), Holder::new());
            let mut story = Story::new(1);
            append(&store, &one, story.step(TaskState::Working, at(1))).await;
            match is_dropped {
                true => drop(one),
                false => one.release(),
            }
            assert!(store.claim(story.id(), &two).await.unwrap());
            assert!(!store.claim(story.id(), &Holder::new()).await.unwrap());
            let report = append(&store, &two, story.say("goes on")).await;
            assert_eq!(report.refused, []);
        }
    }

    #[tokio::test]
    async fn a_claim_does_not_wait_for_the_first_append() {
        let (store, one, two) = (MemoryStore::new(), Holder::new(), Holder::new());
        let mut story = Story::new(1);
        let begun = story.step(TaskState::Working, at(1));
        store.commit(vec![begun]).await.unwrap();
        assert!(store.claim(story.id(), &one).await.unwrap());
        assert!(!store.claim(story.id(), &two).await.unwrap());
    }
}
