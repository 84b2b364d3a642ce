//! The trace of a task, without any collector: what was done, when, by whom, and what became of it, with the tasks that
//! were made for it.
//!
//! It is a view of what is there anyway, events and notes: nothing is recorded for it. What callers and agents say is
//! left out unless it is asked for.

mod node;
mod read;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashSet;

use switchboard_server::store::{Error, Store};
use switchboard_types::model::TaskId;

pub(crate) use node::Node;
use read::Seen;
pub(crate) use text::tree as as_text;

/// How far up and down is looked.
const DEEPEST: usize = 32;
/// How many tasks are shown.
const MOST: usize = 500;

/// The whole tree that a task is part of: from the task that began it all. `None` if no such task.
///
/// # Errors
///
/// If the store cannot be read.
pub(crate) async fn of(
    store: &dyn Store,
    task: &TaskId,
    content: bool,
) -> Result<Option<Node>, Error> {
    let Some(mut top) = read::task(store, task, content).await? else {
        return Ok(None);
    };
    let mut above = HashSet::from([task.clone()]);
    while above.len() < DEEPEST
        && let Some(parent) = parent(store, &top, content).await?
        && above.insert(parent.id.clone())
    {
        top = parent;
    }
    let mut tree = Tree {
        store,
        content,
        shown: HashSet::new(),
        asked: task.clone(),
    };
    tree.grow(top, 0).await.map(Some)
}

/// The task that this one was made for: it is named by the message that began this one, and knows of it.
async fn parent(store: &dyn Store, seen: &Seen, content: bool) -> Result<Option<Seen>, Error> {
    for named in &seen.references {
        if let Some(parent) = read::task(store, named, content).await?
            && parent.children.iter().any(|child| child.task == seen.id)
        {
            return Ok(Some(parent));
        }
    }
    Ok(None)
}

/// A tree that is being put together.
struct Tree<'a> {
    store: &'a dyn Store,
    content: bool,
    shown: HashSet<TaskId>,
    asked: TaskId,
}

impl Tree<'_> {
    /// A task, with those that were made for it.
    async fn grow(&mut self, seen: Seen, depth: usize) -> Result<Node, Error> {
        self.shown.insert(seen.id.clone());
        let children = seen.children.clone();
        let mut node = seen.node();
        node.asked = *node.task_id == *self.asked.as_str();
        for child in children {
            if depth == DEEPEST || self.shown.len() >= MOST || self.shown.contains(&child.task) {
                continue;
            }
            let name = format!("delegation:{}->{}", node.agent, child.agent);
            let found = match child.elsewhere {
                true => None,
                false => read::task(self.store, &child.task, self.content).await?,
            };
            let mut below = match found {
                // Boxed because trees hold trees.
                Some(seen) => Box::pin(self.grow(seen, depth + 1)).await?,
                None => Node::elsewhere(&child),
            };
            below.name = name;
            below.parent_task_id = Some(node.task_id.clone());
            below.idempotency_key = child.key;
            node.children.push(below);
        }
        Ok(node)
    }
}
