//! Pages of tasks, bounded by bytes: what is small comes with the list, what is large is read one by one and shared.

use std::sync::Arc;
use std::vec;

use switchboard_types::model::{Task, TaskId, Timestamp};
use switchboard_types::operation::TaskView;
use tokio::task;

use super::Log;
use crate::store::{Error, Listed, Store, TaskQuery, shortened};
use crate::task::{Head, LARGE};

/// How many heads are read at a time to find those that are visible.
const HEADS_PER_READ: usize = 1_000;

/// A place in the order of a list.
pub(crate) type TaskPlace = (Timestamp, TaskId);

/// Tasks that match a query.
#[derive(Debug)]
pub(crate) struct TaskPage {
    /// As much of each as was asked for.
    pub tasks: Vec<TaskView>,
    /// After which task the next page begins, if there is one.
    pub next: Option<TaskPlace>,
    /// How many match, pages apart.
    pub total: u64,
}

/// Whether the reader of a list may see a task.
pub(crate) type Visible<'a> = &'a (dyn Fn(&Head) -> bool + Send + Sync);

/// The beginning of a list, made ready to be shown.
struct Shown {
    tasks: Vec<TaskView>,
    /// The last one that was looked at, whether or not it is shown.
    last: Option<TaskPlace>,
    /// The budget ended it.
    cut: bool,
}

impl Log {
    /// Lists tasks. The page ends where its count or its bytes are used up, with at least one task if there is one.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; or if history or artifacts are asked for and too many large tasks are held.
    pub(crate) async fn list(&self, query: TaskQuery) -> Result<TaskPage, Error> {
        let found = self.shared.store.list(query.clone()).await?;
        let shown = self.show(found.tasks, &query, &|_| true).await?;
        Ok(TaskPage {
            tasks: shown.tasks,
            next: shown.last.filter(|_| shown.cut || found.more),
            total: found.total,
        })
    }

    /// Lists the tasks that are visible, and counts only them. The page is as full as if there were no others.
    ///
    /// To count them, it looks at the heads of all tasks that match: time, but not memory, grows with their number.
    /// Content is read only of what is shown.
    ///
    /// # Errors
    ///
    /// As [`Log::list`].
    pub(crate) async fn list_visible(
        &self,
        mut query: TaskQuery,
        visible: Visible<'_>,
    ) -> Result<TaskPage, Error> {
        let store = &*self.shared.store;
        // One more than asked for tells whether there is another page.
        let enough = query.limit.saturating_add(1);
        let mut walk = VisibleHeads::new(store, &query, visible);
        let mut heads = walk.take(enough).await?;
        let total = match query.after.take() {
            None => walk.count(heads.len()).await?,
            Some(after) => {
                let total = VisibleHeads::new(store, &query, visible).count(0).await?;
                query.after = Some(after);
                total
            }
        };
        loop {
            let (tasks, next) = self.show_page(heads, &query, visible).await?;
            if !tasks.is_empty() || next.is_none() {
                return Ok(TaskPage { tasks, next, total });
            }
            // All have changed or gone meanwhile. An empty page would look like the end of the list.
            query.after = next;
            let mut walk = VisibleHeads::new(store, &query, visible);
            heads = walk.take(enough).await?;
        }
    }

    /// A page of these tasks, and where the next one begins. Places are those of the heads: a task that has moved to
    /// the front meanwhile is shown as it is now, and the next page begins where it was, so that none is left out or
    /// shown twice.
    async fn show_page(
        &self,
        mut heads: Vec<Head>,
        query: &TaskQuery,
        visible: Visible<'_>,
    ) -> Result<(Vec<TaskView>, Option<TaskPlace>), Error> {
        let beyond = heads.len() > query.limit;
        heads.truncate(query.limit);
        let ids = heads.iter().map(|head| head.id.clone()).collect();
        let listed = self.shared.store.list_by_id(ids, query.clone()).await?;
        let shown = self.show(listed, query, visible).await?;
        if let Some((_, last)) = &shown.last
            && let Some(at) = heads.iter().position(|head| head.id == *last)
        {
            let rest = beyond || at + 1 < heads.len();
            let next = heads.get(at).filter(|_| rest).map(place);
            return Ok((shown.tasks, next));
        }
        Ok((shown.tasks, heads.last().filter(|_| beyond).map(place)))
    }

    /// Reads what is left to read of these tasks, until the budget is used up.
    async fn show(
        &self,
        listed: Vec<Listed>,
        query: &TaskQuery,
        visible: Visible<'_>,
    ) -> Result<Shown, Error> {
        let mut shown = Shown {
            tasks: Vec::with_capacity(listed.len()),
            last: None,
            cut: false,
        };
        // One that is in another state meanwhile does not match a query for a state any more.
        let matches =
            |now: &Head| query.state.is_none_or(|state| now.state == state) && visible(now);
        let mut weight = 0_usize;
        for Listed { head, task } in listed {
            if shown.last.is_some() && weight >= query.bytes {
                shown.cut = true;
                break;
            }
            let view = match task {
                Some(task) => matches(&head).then(|| query.view(task)),
                None => {
                    let found = self.read_large(&head.id, query).await?;
                    found.filter(|(now, _)| matches(now)).map(|(_, view)| view)
                }
            };
            if let Some(view) = view {
                let own = view.weight();
                weight = weight.saturating_add(own);
                shown
                    .tasks
                    .push(if own > LARGE { view } else { alone(view) });
            }
            shown.last = Some((head.updated, head.id));
        }
        Ok(shown)
    }

    async fn read_large(
        &self,
        id: &TaskId,
        query: &TaskQuery,
    ) -> Result<Option<(Head, TaskView)>, Error> {
        if !query.artifacts && query.history == Some(0) {
            return self.read_without_content(id).await;
        }
        let found = self.read(id).await?;
        Ok(found.map(|(now, task)| (now, query.view(task))))
    }

    /// A large task without history and artifacts. Large tasks are read for this one after the other and dropped at once,
    /// so it needs none of the room that readers share: a list is not refused because others do not read their answers.
    async fn read_without_content(&self, id: &TaskId) -> Result<Option<(Head, TaskView)>, Error> {
        let _turn = self.shared.loads.turn_without_content().await?;
        let found = self.read_internal(id).await?;
        Ok(found.map(|(head, task)| {
            let view = TaskView {
                task,
                history_length: Some(0),
                artifacts: false,
            };
            (head, alone(view))
        }))
    }
}

/// The view of a task that has nothing but what is shown: the rest need not stay in memory for it.
fn alone(view: TaskView) -> TaskView {
    if view.artifacts && view.history_length.is_none() {
        return view;
    }
    let task = Task::clone(&view.task);
    TaskView {
        task: Arc::new(shortened(task, view.history_length, view.artifacts)),
        ..view
    }
}

fn place(head: &Head) -> TaskPlace {
    (head.updated, head.id.clone())
}

/// A walk over the heads that match a query, which stops at those that are visible.
struct VisibleHeads<'a> {
    store: &'a dyn Store,
    visible: Visible<'a>,
    /// What is left to read.
    rest: Option<TaskQuery>,
    read: vec::IntoIter<Head>,
}

impl<'a> VisibleHeads<'a> {
    fn new(store: &'a dyn Store, query: &TaskQuery, visible: Visible<'a>) -> Self {
        Self {
            store,
            visible,
            rest: Some(TaskQuery {
                limit: HEADS_PER_READ,
                ..query.clone()
            }),
            read: Vec::new().into_iter(),
        }
    }

    async fn next(&mut self) -> Result<Option<Head>, Error> {
        loop {
            if let Some(head) = self.read.find(|head| (self.visible)(head)) {
                return Ok(Some(head));
            }
            let Some(mut query) = self.rest.take() else {
                return Ok(None);
            };
            let heads = self.store.heads(query.clone()).await?;
            if heads.len() == HEADS_PER_READ {
                query.after = heads.last().map(place);
                self.rest = Some(query);
            }
            self.read = heads.into_iter();
            // Policies take their time, and a store in memory never makes anyone wait.
            task::yield_now().await;
        }
    }

    async fn take(&mut self, limit: usize) -> Result<Vec<Head>, Error> {
        let mut heads = Vec::new();
        while heads.len() < limit
            && let Some(head) = self.next().await?
        {
            heads.push(head);
        }
        Ok(heads)
    }

    /// How many there are, with so many that were taken before.
    async fn count(&mut self, taken: usize) -> Result<u64, Error> {
        let mut total = u64::try_from(taken).unwrap_or(u64::MAX);
        while self.next().await?.is_some() {
            total += 1;
        }
        Ok(total)
    }
}
