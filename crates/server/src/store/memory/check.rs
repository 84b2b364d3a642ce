//! Whether changes fit what is stored.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

use super::Kept;
use crate::store::{Error, order};
use crate::task::{Append, Change, Head};

impl Kept {
    /// Checks whether all changes can be made.
    pub(super) fn check(&self, changes: &[Change]) -> Result<(), Error> {
        // Where the tasks stand after the changes so far, but for the last: nothing is checked after it, and most commits
        // are of one change.
        let before_last = changes.len().saturating_sub(1);
        let mut heads: HashMap<&TaskId, Option<&Head>, RandomState> =
            HashMap::with_capacity_and_hasher(before_last, RandomState::default());
        let stored = |id| self.tasks.get(id).map(|task| &task.head);
        for (index, change) in changes.iter().enumerate() {
            let (Change::Append(Append {
                head: Head { id, .. },
                ..
            })
            | Change::Remove(id)) = change
            else {
                continue;
            };
            let head = heads.get(id).copied().unwrap_or_else(|| stored(id));
            let head = match change {
                Change::Append(append) => {
                    order::check(append, head.map_or(0, |head| head.seq))?;
                    Some(&append.head)
                }
                _ => head.filter(|head| !head.state.is_terminal()),
            };
            if index < before_last {
                heads.insert(id, head);
            }
        }
        Ok(())
    }
}
