//! The server's own interface to threads and runs.

use std::sync::atomic::Ordering;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::Method;
use axum::response::Response;
use serde_json::{Value, json};

use super::{Known, Run, Server, json_answer, missing};

pub(super) async fn runs(
    State(server): Known,
    Path(thread): Path<String>,
    method: Method,
    body: Bytes,
) -> Response {
    if method == Method::POST {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let kwargs = json!({"input": null, "command": asked["command"]});
        let run = server.begin(&thread, kwargs, asked["command"]["resume"].clone());
        return json_answer(&shown(&run));
    }
    let threads = server.threads.lock().unwrap();
    let Some(thread) = threads.get(&thread) else {
        return missing();
    };
    let runs: Vec<Value> = thread.runs.iter().rev().map(|run| shown(run)).collect();
    json_answer(&json!(runs))
}

fn shown(run: &Run) -> Value {
    json!({"run_id": run.id, "status": run.stand.borrow().0, "kwargs": run.kwargs})
}

impl Server {
    fn state(&self, thread: &str) -> Option<Value> {
        let threads = self.threads.lock().unwrap();
        let known = threads.get(thread)?;
        Some(
            json!({"values": {"messages": known.messages}, "next": [], "tasks": [],
            "interrupts": known.asks.clone().unwrap_or_else(|| json!([])), "metadata": {"run_id": known.changed_by}}),
        )
    }

    /// A thread asks nothing any more, if it was this task that asked.
    pub(super) fn is_answered(&self, thread: &str, task: Option<&str>) {
        if let Some(known) = self.threads.lock().unwrap().get_mut(thread)
            && task.is_none_or(|task| known.task == task)
        {
            known.asks = None;
        }
    }
}

pub(super) async fn run(
    State(server): Known,
    Path((thread, run)): Path<(String, String)>,
) -> Response {
    let run = server.find(&thread, &run);
    run.map_or_else(missing, |run| json_answer(&shown(&run)))
}

pub(super) async fn cancel(
    State(server): Known,
    Path((thread, run)): Path<(String, String)>,
) -> Response {
    let Some(run) = server.find(&thread, &run) else {
        return missing();
    };
    if run.stand.borrow().0 != "running" {
        return missing();
    }
    run.stand
        .send_modify(|stand| *stand = ("interrupted".to_owned(), String::new()));
    json_answer(&json!({}))
}

/// The state of a thread is set. Only one thing is said there: that it is at its end.
pub(super) async fn end(State(server): Known, Path(thread): Path<String>, body: Bytes) -> Response {
    let set: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(set, json!({"values": null, "as_node": "__end__"}));
    server.is_answered(&thread, None);
    server.ends.fetch_add(1, Ordering::Relaxed);
    json_answer(&json!({"checkpoint": {}}))
}

pub(super) async fn state(State(server): Known, Path(thread): Path<String>) -> Response {
    server.looks.fetch_add(1, Ordering::Relaxed);
    let state = server.state(&thread);
    state.map_or_else(missing, |state| json_answer(&state))
}
