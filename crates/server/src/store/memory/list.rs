//! Listing tasks: found under the lock, put together without it.

use parking_lot::MutexGuard;

use switchboard_types::model::TaskId;

use super::{Kept, KeptTask};
use crate::store::page::Page;
use crate::store::{Error, Listed, RecentQuery, TaskList, TaskQuery};
use crate::task::{Head, StoredTask};

/// A task that a list has found: all of it, or where it stands and how large it is.
enum Found {
    Small(StoredTask),
    Large(Head, usize),
}

/// Tasks that match, and how many do.
pub(super) fn list<'a>(
    query: &TaskQuery,
    kept: impl FnOnce() -> MutexGuard<'a, Kept>,
) -> Result<TaskList, Error> {
    // Taken together under the lock, put together without it.
    let (mut found, total) = kept().list(query);
    let beyond = found.len() > query.limit;
    found.truncate(query.limit);
    let (tasks, cut) = fill(found, query)?;
    Ok(TaskList {
        tasks,
        more: beyond || cut,
        total,
    })
}

/// These tasks, as far as the budget of the query reaches.
pub(super) fn list_by_id<'a>(
    ids: &[TaskId],
    query: &TaskQuery,
    kept: impl FnOnce() -> MutexGuard<'a, Kept>,
) -> Result<Vec<Listed>, Error> {
    let found = kept().found(ids, query);
    Ok(fill(found, query)?.0)
}

/// A page of these tasks, and whether it ends before they do.
fn fill(found: Vec<Found>, query: &TaskQuery) -> Result<(Vec<Listed>, bool), Error> {
    let mut page = Page::new(query);
    for task in found {
        if !page.has_room() {
            return Ok((page.into_tasks(), true));
        }
        match task {
            Found::Small(stored) => page.push(stored)?,
            Found::Large(head, size) => page.push_large(head, size),
        }
    }
    Ok((page.into_tasks(), false))
}

impl KeptTask {
    /// Roughly how many bytes are stored of it.
    fn size(&self) -> usize {
        let folded = self.snapshot.as_ref();
        let (seq, weight) = folded.map_or((0, 0), |folded| (folded.seq, folded.task.weight()));
        let later = self.later(seq).iter().map(|entry| entry.weight());
        weight + later.sum::<usize>()
    }
}

impl Kept {
    /// The tasks of a page, and one more if there is one; and how many match.
    fn list(&self, query: &TaskQuery) -> (Vec<Found>, u64) {
        let (ids, total) = self.matching(query);
        (self.found(&ids, query), total)
    }

    fn found(&self, ids: &[TaskId], query: &TaskQuery) -> Vec<Found> {
        let page = Page::new(query);
        let found = ids.iter().filter_map(|id| {
            let task = self.tasks.get(id)?;
            let size = if query.bytes < usize::MAX {
                task.size()
            } else {
                0
            };
            Some(if page.is_large(size) {
                Found::Large(task.head.clone(), size)
            } else {
                Found::Small(task.stored())
            })
        });
        found.collect()
    }

    fn matching(&self, query: &TaskQuery) -> (Vec<TaskId>, u64) {
        let state_of = |id: &TaskId| self.tasks.get(id).map(|task| task.head.state);
        self.index.list(query, state_of)
    }

    pub(super) fn heads(&self, query: &TaskQuery) -> Vec<Head> {
        let (ids, _) = self.matching(query);
        let heads = ids.iter().filter_map(|id| self.head(id));
        heads.take(query.limit).collect()
    }

    pub(super) fn recent(&self, query: &RecentQuery) -> Vec<Head> {
        let heads = self.tasks.iter().map(|task| &task.head);
        let mut found: Vec<&Head> = heads.filter(|head| query.matches(head)).collect();
        found.sort_unstable_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        found.into_iter().take(query.limit).cloned().collect()
    }
}
