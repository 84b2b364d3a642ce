//! What every store requires of a commit: an append continues its task's events without a gap, and the changes of one task
//! are made or refused together.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

use super::{Error, Refusal};
use crate::task::{Append, Change};

/// Checks that `append` continues a task whose last event is `last`; a new task's is 0.
pub(super) fn check(append: &Append, last: u64) -> Result<(), Error> {
    let head = &append.head;
    let mut end = last;
    for entry in &append.entries {
        end += 1;
        if entry.seq != end {
            let (id, seq) = (&head.id, entry.seq);
            return Err(conflict(format!(
                "task {id}: event {seq} cannot stand in place {end}"
            )));
        }
    }
    if head.seq != end || end == 0 {
        let (id, seq) = (&head.id, head.seq);
        return Err(conflict(format!(
            "task {id}: the head says event {seq}, the events end at {end}"
        )));
    }
    Ok(())
}

/// The task does not stand where an append expects it.
pub(super) fn conflict(why: String) -> Error {
    Error::Refused(Refusal::Conflict(why))
}

/// The changes of each task, in order, and each of those that are about none.
pub(super) fn by_task(changes: &[Change]) -> Vec<(Option<&TaskId>, Vec<&Change>)> {
    let mut places: HashMap<&TaskId, usize, RandomState> = HashMap::default();
    let mut groups: Vec<(Option<&TaskId>, Vec<&Change>)> = Vec::new();
    for change in changes {
        let next = groups.len();
        let task = change.task();
        let place = task.map_or(next, |task| *places.entry(task).or_insert(next));
        match groups.get_mut(place) {
            Some((_, group)) => group.push(change),
            None => groups.push((task, vec![change])),
        }
    }
    groups
}
