//! What every store asks of an append: it continues the task's events without a gap.

use super::Error;
use crate::task::Append;

/// Checks that `append` continues a task whose last event is `last`; a new task's is 0.
pub(super) fn check(append: &Append, last: u64) -> Result<(), Error> {
    let head = &append.head;
    let mut end = last;
    for entry in &append.entries {
        end += 1;
        if entry.seq != end {
            let (id, seq) = (&head.id, entry.seq);
            return Err(Error::Damaged(format!(
                "task {id}: event {seq} cannot stand in place {end}"
            )));
        }
    }
    if head.seq != end || end == 0 {
        let (id, seq) = (&head.id, head.seq);
        return Err(Error::Damaged(format!(
            "task {id}: the head says event {seq}, the events end at {end}"
        )));
    }
    Ok(())
}
