//! Reading tasks: one, or pages of them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_keys::sha256;
use switchboard_types::Error;
use switchboard_types::model::{TaskId, Timestamp};
use switchboard_types::operation::{GetTask, ListTasks, Response, TaskPage, TaskView};

use super::{Engine, Scope};
use crate::call::{Call, Reply, ReplyBody};
use crate::log::{TaskPlace, Visible};
use crate::store;
use crate::store::TaskQuery;
use crate::task::Owner;

/// The page size when the caller names none (A2A 1.0 §3.1.4).
const PAGE_SIZE: u32 = 50;

/// What the tasks of one page weigh together, roughly, in bytes; the last one may go beyond.
const MAX_PAGE_BYTES: usize = 2 << 20;

impl Engine {
    pub(super) async fn get(&self, scope: &Scope, get: &GetTask) -> Result<Response, Error> {
        let found = self
            .shared
            .log
            .read(&get.id)
            .await
            .map_err(store::Error::for_caller)?;
        let (_, task) = found
            .filter(|(head, _)| self.shows(&scope.principal, &head.owner, &head.agent))
            .ok_or_else(|| Error::task_not_found(get.id.as_str()))?;
        Ok(Response::Task(TaskView {
            task,
            history_length: get.history_length,
            artifacts: true,
        }))
    }

    pub(super) async fn list(&self, scope: &Scope, list: &ListTasks) -> Result<Response, Error> {
        let page = self.page(scope.principal.owner(), list, None).await?;
        Ok(Response::Tasks(page))
    }

    /// Answers a list with those of the caller's tasks that are visible.
    pub(crate) async fn list_visible(
        &self,
        call: &Call,
        list: &ListTasks,
        visible: Visible<'_>,
    ) -> Result<Reply, Error> {
        let extensions = self.profile().activate(&call.params.extensions)?;
        let page = self.page(call.principal.owner(), list, Some(visible));
        Ok(Reply {
            body: ReplyBody::Response(Response::Tasks(page.await?)),
            extensions,
            about: None,
        })
    }

    async fn page(
        &self,
        owner: &Owner,
        list: &ListTasks,
        visible: Option<Visible<'_>>,
    ) -> Result<TaskPage, Error> {
        let page_size = list.page_size.unwrap_or(PAGE_SIZE);
        let filter = filter_mark(owner, list);
        let after = match list.page_token.as_deref() {
            None | Some("") => None,
            Some(token) => Some(read_token(token, filter).ok_or_else(|| {
                Error::invalid_params("pageToken", "is not the nextPageToken of this query")
            })?),
        };
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        let query = TaskQuery {
            context: list.context_id.clone(),
            state: list.status,
            updated_from: list.status_timestamp_after,
            after,
            limit,
            // How much history comes unasked is ours to say (A2A 1.0 §3.2.4); in a list, none.
            history: Some(list.history_length.unwrap_or(0)),
            artifacts: list.include_artifacts,
            bytes: MAX_PAGE_BYTES,
            ..TaskQuery::of(Arc::clone(&self.shared.name), owner.clone())
        };
        let log = &self.shared.log;
        let found = match visible {
            Some(visible) => log.list_visible(query, visible).await,
            None => log.list(query).await,
        };
        let found = found.map_err(store::Error::for_caller)?;
        let next = found.next.as_ref().map(|place| write_token(place, filter));
        Ok(TaskPage {
            tasks: found.tasks,
            next_page_token: next.unwrap_or_default(),
            page_size,
            total_size: found.total,
        })
    }
}

/// Tells one query from another, so that a token is not used with other filters.
fn filter_mark(owner: &Owner, list: &ListTasks) -> u32 {
    let text = format!(
        "{:?}|{:?}|{:?}|{}",
        list.context_id,
        list.status,
        list.status_timestamp_after,
        owner.as_str()
    );
    let [a, b, c, d, ..] = sha256(text.as_bytes());
    u32::from_be_bytes([a, b, c, d])
}

fn write_token((updated, id): &TaskPlace, filter: u32) -> String {
    let place = format!("{filter:x}.{}.{id}", updated.as_micros());
    URL_SAFE_NO_PAD.encode(place)
}

fn read_token(token: &str, filter: u32) -> Option<(Timestamp, TaskId)> {
    let place = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut pieces = place.splitn(3, '.');
    let mark = u32::from_str_radix(pieces.next()?, 16).ok()?;
    let micros = pieces.next()?.parse().ok()?;
    let id = TaskId::new(pieces.next()?).ok()?;
    (mark == filter).then_some((Timestamp::from_micros(micros), id))
}
