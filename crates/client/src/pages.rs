//! Lists to their end (A2A 1.0 §3.1.4).

use std::collections::VecDeque;
use std::sync::Arc;

use switchboard_types::model::Task;
use switchboard_types::operation::ListTasks;

use crate::client::Client;
use crate::error::Error;

/// All tasks that match, read page by page as they are asked for.
#[derive(Debug)]
pub struct Pages {
    client: Client,
    query: ListTasks,
    ready: VecDeque<Arc<Task>>,
    ended: bool,
}

impl Pages {
    pub(crate) fn new(client: Client, query: ListTasks) -> Self {
        Self {
            client,
            query,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// The next task; nothing at the end.
    pub async fn next(&mut self) -> Option<Result<Arc<Task>, Error>> {
        loop {
            if let Some(task) = self.ready.pop_front() {
                return Some(Ok(task));
            }
            if self.ended {
                return None;
            }
            let page = match self.client.list(self.query.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            };
            self.ready = page.tasks.into_iter().map(|view| view.task).collect();
            let next = Some(page.next_page_token).filter(|next| !next.is_empty());
            // A page that leads to itself is the last one.
            self.ended = next.is_none() || next == self.query.page_token;
            self.query.page_token = next;
        }
    }
}
