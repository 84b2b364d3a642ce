//! Listing tasks: found under the lock, put together without it.

use parking_lot::MutexGuard;

use switchboard_types::model::TaskId;

use super::{Kept, KeptTask};
use crate::store::page::Page;
use crate::store::{Error, TaskList, TaskQuery};
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
    let mut page = Page::new(query);
    // Taken together under the lock, put together without it.
    let (found, total) = kept().list(query, &page);
    let mut more = found.len() > query.limit;
    for task in found.into_iter().take(query.limit) {
        if !page.has_room() {
            more = true;
            break;
        }
        match task {
            Found::Small(stored) => page.push(stored)?,
            Found::Large(head, size) => page.push_large(head, size),
        }
    }
    Ok(TaskList {
        tasks: page.into_tasks(),
        more,
        total,
    })
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
    fn list(&self, query: &TaskQuery, page: &Page) -> (Vec<Found>, u64) {
        let state_of = |id: &TaskId| self.tasks.get(id).map(|task| task.head.state);
        let (ids, total) = self.index.list(query, state_of);
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
        (found.collect(), total)
    }
}
