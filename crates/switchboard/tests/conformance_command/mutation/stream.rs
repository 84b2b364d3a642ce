//! Streams of the agent, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use serde_json::{Value, json};

use super::agent::Agent;
use super::fault::{Fault, Mutation};
use super::older;
use super::operation::Events;
use super::serve::{Call, active};

/// A stream under way.
struct Writer {
    agent: Arc<Agent>,
    call: Call,
    events: Events,
    /// How many were written.
    written: usize,
    /// What is still to be said after the end of the task.
    after_the_end: bool,
}

/// The answer to a request for a stream.
pub(super) fn response(
    agent: &Arc<Agent>,
    call: Call,
    events: Events,
) -> Response<BoxBody<Bytes, Infallible>> {
    let kind = match agent.mutation {
        Mutation::Fault(Fault::StreamIsPlainText) => "text/plain",
        Mutation::Fault(Fault::StreamIsJson) => "application/json",
        _ => "text/event-stream",
    };
    let mut response = Response::builder().header("content-type", kind);
    if let Some((name, value)) = active(agent, &call) {
        response = response.header(name, value);
    }
    let writer = Writer {
        after_the_end: agent.has(Fault::StreamGoesOnAfterEnd),
        agent: Arc::clone(agent),
        call,
        events,
        written: 0,
    };
    let frames = unfold(writer, |mut writer| async move {
        let text = writer.next().await?;
        Some((Ok(Frame::data(Bytes::from(text))), writer))
    });
    response
        .body(StreamBody::new(Box::pin(frames)).boxed())
        .expect("a response")
}

fn state(event: &Value) -> &str {
    event["statusUpdate"]["status"]["state"]
        .as_str()
        .unwrap_or_default()
}

impl Writer {
    /// The next event as text.
    async fn next(&mut self) -> Option<String> {
        if self.agent.has(Fault::StreamIsBuffered)
            && let Some((task, _)) = &self.events.task
        {
            self.agent.settled(task).await;
        }
        let event = loop {
            let event = self.event().await?;
            let first = event.get("task").is_some();
            let chunk = event["artifactUpdate"]["append"] == true;
            let dropped = first && self.agent.has(Fault::StreamOmitsTask)
                || chunk && self.agent.has(Fault::StreamDropsChunk);
            if !dropped {
                break event;
            }
        };
        let over = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"];
        let waits = self.events.leave_waiting && state(&event).ends_with("REQUIRED");
        let last = over.iter().any(|end| state(&event).ends_with(end)) || waits;
        let shown = match self.call.older {
            true => older::event(self.call.form, &event, last),
            false => event,
        };
        let mut data = match self.call.rpc {
            true => json!({"jsonrpc": "2.0", "id": self.call.id, "result": shown}),
            false => shown,
        };
        if let Mutation::Event(edit) = self.agent.mutation {
            edit(self.written, &mut data);
        }
        self.written += 1;
        Some(format!("data: {data}\n\n"))
    }

    async fn event(&mut self) -> Option<Value> {
        if let Some(first) = self.events.first.take() {
            return Some(first);
        }
        let (task, at) = self.events.task.as_mut()?;
        let event = self.agent.event(task, *at, self.events.leave_waiting).await;
        *at += 1;
        if event.is_none() && std::mem::take(&mut self.after_the_end) {
            let status =
                json!({"state": "TASK_STATE_WORKING", "timestamp": "2026-01-01T00:00:00Z"});
            let context = self.agent.task(&json!(task), &Value::Null).ok()?["contextId"].clone();
            return Some(
                json!({"statusUpdate": {"taskId": task, "contextId": context, "status": status}}),
            );
        }
        event
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let (Some((task, _)), true) = (&self.events.task, self.agent.has(Fault::LeavingCancels))
        {
            drop(self.agent.cancel(&json!(task)));
        }
    }
}
