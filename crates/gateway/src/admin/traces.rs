//! `GET /admin/traces/{task}`: the trace of a task, as `switchboard trace` shows it.

use http::StatusCode;
use http::request::Parts;
use serde_json::json;
use switchboard_server::store::Store;
use switchboard_types::model::TaskId;

use super::{Answer, in_json, wrong};
use crate::traces;

pub(super) async fn answer(store: &dyn Store, task: &str, head: &Parts) -> Answer {
    let unknown = || wrong(StatusCode::NOT_FOUND, "no such task");
    let Ok(task) = TaskId::new(task) else {
        return unknown();
    };
    // What was said is for those who ask for it.
    let content = head
        .uri
        .query()
        .is_some_and(|query| query.split('&').any(|q| q == "content=true"));
    match traces::of(store, &task, content).await {
        Ok(Some(tree)) => in_json(StatusCode::OK, &json!(tree)),
        Ok(None) => unknown(),
        Err(error) => {
            tracing::error!(%error, %task, "could not read a trace");
            wrong(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read")
        }
    }
}
