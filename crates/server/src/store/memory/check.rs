//! Which tasks of a commit cannot be changed as it asks.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use switchboard_types::model::TaskId;

use super::Kept;
use crate::store::{Error, Refusal, order};
use crate::task::{Answer, Answered, Change, Head, IdempotencyKey};

/// What the changes so far lead to.
struct Check<'a> {
    kept: &'a Kept,
    /// How many changes come after the one that is looked at. What the last one leads to is of no interest, and most
    /// commits are of one change.
    left: usize,
    heads: HashMap<&'a TaskId, Option<&'a Head>, RandomState>,
    keys: HashMap<&'a IdempotencyKey, &'a Answered, RandomState>,
}

/// The tasks whose changes are to be refused. What is refused of one task changes nothing for another.
pub(super) fn refused(kept: &Kept, changes: &[Change]) -> Vec<(TaskId, Refusal)> {
    let mut check = Check::new(kept, changes.len());
    if changes.iter().all(|change| check.see(change).is_ok()) {
        return Vec::new();
    }
    let mut check = Check::new(kept, changes.len());
    let mut refused = Vec::new();
    for (task, changes) in order::by_task(changes) {
        if let (Some(task), Err(refusal)) = (task, check.see_all(&changes)) {
            refused.push((task.clone(), refusal));
        }
    }
    refused
}

impl<'a> Check<'a> {
    fn new(kept: &'a Kept, changes: usize) -> Self {
        Self {
            kept,
            left: changes,
            heads: HashMap::default(),
            keys: HashMap::default(),
        }
    }

    /// Looks at all changes of one task. If they are to be refused, their keys stay free for others.
    fn see_all(&mut self, changes: &[&'a Change]) -> Result<(), Refusal> {
        let keys = self.keys.clone();
        let seen = changes.iter().try_for_each(|change| self.see(change));
        if seen.is_err() {
            self.keys = keys;
        }
        seen
    }

    fn see(&mut self, change: &'a Change) -> Result<(), Refusal> {
        self.left = self.left.saturating_sub(1);
        match change {
            Change::Append(append) => {
                let id = &append.head.id;
                let seq = self.head(id).map_or(0, |head| head.seq);
                order::check(append, seq).map_err(refusal)?;
                let holder = append.holder.as_ref();
                if holder.is_some_and(|holder| self.kept.claims.is_fenced(id, holder)) {
                    return Err(Refusal::Fenced);
                }
                self.set_head(id, Some(&append.head));
            }
            Change::Remove(id) => {
                let head = self.head(id).filter(|head| !head.state.is_terminal());
                self.set_head(id, head);
            }
            Change::Answered(answered) => self.see_answer(answered)?,
            _ => {}
        }
        Ok(())
    }

    /// Where a task stands after the changes so far.
    fn head(&self, id: &TaskId) -> Option<&'a Head> {
        let changed = self.heads.get(id).copied();
        changed.unwrap_or_else(|| self.kept.tasks.get(id).map(|task| &task.head))
    }

    fn set_head(&mut self, id: &'a TaskId, head: Option<&'a Head>) {
        if self.left > 0 {
            self.heads.insert(id, head);
        }
    }

    fn see_answer(&mut self, answered: &'a Answered) -> Result<(), Refusal> {
        let first = self.keys.get(&answered.key).copied();
        match first.or_else(|| self.kept.answers.get(&answered.key)) {
            // The first one stays. A task that came second is not made; a message was made already.
            Some(first) if matches!(answered.answer, Answer::Task(_)) => {
                match first.is_same(answered) {
                    true => Ok(()),
                    false => Err(Refusal::AlreadyAnswered(Box::new(first.clone()))),
                }
            }
            Some(_) => Ok(()),
            None => {
                self.keys.insert(&answered.key, answered);
                Ok(())
            }
        }
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused(refusal) => refusal,
        error => Refusal::Damaged(error.to_string()),
    }
}
