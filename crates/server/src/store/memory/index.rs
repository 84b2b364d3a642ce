//! The orders in which tasks and webhooks are asked for.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::Arc;

use foldhash::fast::RandomState;
use switchboard_types::model::{ContextId, PushConfigId, TaskId, TaskState, Timestamp};

use crate::store::TaskQuery;
use crate::task::{Head, Owner, Webhook};

/// A place in the order of a list.
type Place = (Timestamp, TaskId);

/// A place among the tasks of all conversations. No task comes before all tasks: the start of a range.
type ContextPlace = (u32, ContextId, Timestamp, Option<TaskId>);

/// What is where. Heads are put in and taken out as they are: a head must be taken out before it changes.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Short numbers for agent and owner.
    scopes: HashMap<(Arc<str>, Owner), u32, RandomState>,
    /// Per scope and state, oldest first.
    lists: HashMap<(u32, TaskState), BTreeSet<Place>, RandomState>,
    contexts: Contexts,
    live: BTreeSet<TaskId>,
    heavy: BTreeSet<Place>,
    /// Webhooks that have something left to deliver, or may have.
    open: BTreeSet<(TaskId, PushConfigId)>,
}

/// The tasks of all conversations, in many small trees. A tree compares ids at each step down, and to compare long ids
/// takes longer than to hash one.
#[derive(Debug)]
struct Contexts {
    hasher: RandomState,
    trees: Vec<BTreeSet<ContextPlace>>,
}

/// How many trees there are.
const CONTEXT_TREES: usize = 256;

impl Default for Contexts {
    fn default() -> Self {
        Self {
            hasher: RandomState::default(),
            trees: vec![BTreeSet::new(); CONTEXT_TREES],
        }
    }
}

impl Contexts {
    /// The tree that holds the tasks of a conversation.
    fn of(&self, context: &ContextId) -> &BTreeSet<ContextPlace> {
        &self.trees[self.tree_of(context)]
    }

    fn of_mut(&mut self, context: &ContextId) -> &mut BTreeSet<ContextPlace> {
        let tree = self.tree_of(context);
        &mut self.trees[tree]
    }

    fn tree_of(&self, context: &ContextId) -> usize {
        usize::try_from(self.hasher.hash_one(context) % CONTEXT_TREES as u64).unwrap_or_default()
    }
}

impl Index {
    /// Puts in a new task.
    pub(super) fn insert(&mut self, head: &Head) {
        let scope = self.scope_of(head);
        self.put(scope, head);
    }

    /// Takes out a task.
    pub(super) fn remove(&mut self, head: &Head) {
        let scope = self.scope_of(head);
        self.take(scope, head);
    }

    /// Moves a task to its new place.
    pub(super) fn update(&mut self, old: &Head, new: &Head) {
        if old.state != new.state || old.updated != new.updated {
            let scope = self.scope_of(old);
            self.take(scope, old);
            self.put(scope, new);
        }
    }

    /// Notes whether a finished task has so many events that folding pays.
    pub(super) fn set_heavy(&mut self, head: &Head, heavy: bool) {
        if heavy {
            self.heavy.insert((head.updated, head.id.clone()));
        } else if !self.heavy.is_empty() {
            self.heavy.remove(&(head.updated, head.id.clone()));
        }
    }

    /// Notes whether a webhook may have something left to deliver.
    pub(super) fn set_open(&mut self, webhook: &Webhook, open: bool) {
        let id = (webhook.task.clone(), webhook.id.clone());
        if open {
            self.open.insert(id);
        } else {
            self.open.remove(&id);
        }
    }

    /// The ids of a page, and one more if there is one; and how many match in all.
    pub(super) fn list(
        &self,
        query: &TaskQuery,
        state_of: impl Fn(&TaskId) -> Option<TaskState>,
    ) -> (Vec<TaskId>, u64) {
        let name = (Arc::clone(&query.agent), query.owner.clone());
        let Some(scope) = self.scopes.get(&name).copied() else {
            return (Vec::new(), 0);
        };
        let (mut places, total) = match &query.context {
            Some(context) => self.of_context(scope, context, query, state_of),
            None => self.of_scope(scope, query),
        };
        places.sort_unstable_by(|a, b| b.cmp(a));
        places.truncate(query.limit.saturating_add(1));
        let ids = places.into_iter().map(|(_, id)| id.clone()).collect();
        (ids, u64::try_from(total).unwrap_or(u64::MAX))
    }

    /// Tasks that are not over, in id order.
    pub(super) fn live(&self, after: Option<TaskId>) -> impl Iterator<Item = &TaskId> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.live.range((start, Bound::Unbounded))
    }

    /// Finished tasks of `before` or earlier with so many events that folding pays.
    pub(super) fn heavy(&self, before: Timestamp) -> impl Iterator<Item = &TaskId> {
        up_to(&self.heavy, before).map(|(_, id)| id)
    }

    /// Webhooks that may have something left to deliver.
    pub(super) fn open_webhooks(
        &self,
        after: Option<(TaskId, PushConfigId)>,
    ) -> impl Iterator<Item = &(TaskId, PushConfigId)> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.open.range((start, Bound::Unbounded))
    }

    /// Tasks in a terminal state of `before` or earlier, oldest first.
    pub(super) fn expired(&self, state: TaskState, before: Timestamp, limit: usize) -> Vec<TaskId> {
        if !state.is_terminal() {
            return Vec::new();
        }
        let lists = self.lists.iter().filter(|((_, of), _)| *of == state);
        let mut places: Vec<&Place> = lists
            .flat_map(|(_, list)| up_to(list, before).take(limit))
            .collect();
        places.sort_unstable();
        places.truncate(limit);
        places.into_iter().map(|(_, id)| id.clone()).collect()
    }

    fn of_scope(&self, scope: u32, query: &TaskQuery) -> (Vec<(Timestamp, &TaskId)>, usize) {
        let (mut places, mut total) = (Vec::new(), 0);
        let states = TaskState::ALL.into_iter();
        for state in states.filter(|state| query.state.is_none_or(|asked| asked == *state)) {
            let Some(list) = self.lists.get(&(scope, state)) else {
                continue;
            };
            let recent = |place: &&Place| query.updated_from.is_none_or(|from| place.0 >= from);
            total += match query.updated_from {
                Some(_) => list.iter().rev().take_while(recent).count(),
                None => list.len(),
            };
            let end = query
                .after
                .clone()
                .map_or(Bound::Unbounded, Bound::Excluded);
            let page = list.range((Bound::Unbounded, end)).rev().take_while(recent);
            let limit = query.limit.saturating_add(1);
            places.extend(page.take(limit).map(|(updated, id)| (*updated, id)));
        }
        (places, total)
    }

    fn of_context(
        &self,
        scope: u32,
        context: &ContextId,
        query: &TaskQuery,
        state_of: impl Fn(&TaskId) -> Option<TaskState>,
    ) -> (Vec<(Timestamp, &TaskId)>, usize) {
        let from = query
            .updated_from
            .unwrap_or(Timestamp::from_micros(i64::MIN));
        let first = (scope, context.clone(), from, None);
        let all = self.contexts.of(context).range(first..);
        let matching: Vec<(Timestamp, &TaskId)> = all
            .take_while(|place| place.0 == scope && place.1 == *context)
            .filter_map(|place| place.3.as_ref().map(|id| (place.2, id)))
            .filter(|(_, id)| query.state.is_none_or(|asked| state_of(id) == Some(asked)))
            .collect();
        let total = matching.len();
        let start = query.after.as_ref().map(|(updated, id)| (*updated, id));
        let later = |place: &(Timestamp, &TaskId)| start.is_none_or(|start| *place < start);
        (matching.into_iter().filter(later).collect(), total)
    }

    fn scope_of(&mut self, head: &Head) -> u32 {
        let next = u32::try_from(self.scopes.len()).unwrap_or(u32::MAX);
        let name = (Arc::clone(&head.agent), head.owner.clone());
        *self.scopes.entry(name).or_insert(next)
    }

    fn put(&mut self, scope: u32, head: &Head) {
        let place = (head.updated, head.id.clone());
        let places = self.contexts.of_mut(&head.context);
        places.insert(context_place(scope, head));
        if !head.state.is_terminal() {
            self.live.insert(head.id.clone());
        }
        self.lists
            .entry((scope, head.state))
            .or_default()
            .insert(place);
    }

    fn take(&mut self, scope: u32, head: &Head) {
        let place = (head.updated, head.id.clone());
        let places = self.contexts.of_mut(&head.context);
        places.remove(&context_place(scope, head));
        if !head.state.is_terminal() {
            self.live.remove(&head.id);
        }
        if let Some(list) = self.lists.get_mut(&(scope, head.state)) {
            list.remove(&place);
        }
    }
}

fn context_place(scope: u32, head: &Head) -> ContextPlace {
    (
        scope,
        head.context.clone(),
        head.updated,
        Some(head.id.clone()),
    )
}

/// The places of `before` or earlier, oldest first.
fn up_to(places: &BTreeSet<Place>, before: Timestamp) -> impl Iterator<Item = &Place> {
    places
        .iter()
        .take_while(move |(updated, _)| *updated <= before)
}
