//! One call, from when it is let in until its answer is complete: a stream's until it ends or its reader leaves.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use switchboard_types::Error;
use switchboard_types::operation::{Method, Operation, Response};
use tokio::time::Instant;

use super::meter::{Line, Meter, Status};
use crate::call::{Call, Reply, ReplyBody};
use crate::trace::{Kind, Recording, Trace, names};

/// A call that is counted when this is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    meter: Arc<Meter>,
    method: Method,
    began: Instant,
    status: Status,
    /// Events that were told, once it is a stream.
    events: Option<u64>,
    /// For a collector.
    recording: Option<Box<Recording>>,
}

impl Watched {
    /// Watches a call, if its agent is known.
    pub(crate) fn begin(call: &mut Call) -> Option<Self> {
        Some(Self {
            meter: call.params.meter.take()?,
            method: call.operation.method(),
            began: Instant::now(),
            status: Status::Abandoned,
            events: None,
            recording: call
                .params
                .trace
                .as_ref()
                .and_then(|trace| record(trace, call)),
        })
    }

    /// It has waited for room.
    pub(crate) fn waited(&self, time: Duration) {
        self.meter.waited(Line::Calls, time);
    }

    /// The call was answered or refused; a stream is watched on.
    pub(crate) fn answered(mut self, answer: Result<&mut Reply, &Error>) {
        match answer {
            Err(error) => {
                self.status = Status::Error(error.kind());
                if let Some(recording) = &mut self.recording {
                    recording.fail(error.kind().reason());
                }
            }
            Ok(reply) => {
                self.status = Status::Ok;
                if let Some(recording) = &mut self.recording {
                    tell(recording, reply);
                }
                if let ReplyBody::Stream(cursor) = &mut reply.body {
                    self.events = Some(0);
                    self.meter.open_streams.fetch_add(1, Ordering::Relaxed);
                    cursor.watched(Box::new(self));
                }
            }
        }
    }

    /// Events were told.
    pub(crate) fn told(&mut self, events: usize) {
        let events = u64::try_from(events).unwrap_or_default();
        if self.events == Some(0) && events > 0 {
            self.meter.first_event.took(self.began.elapsed());
        }
        self.events = self.events.map(|before| before + events);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let meter = &self.meter;
        meter.answered(self.method, self.status, self.began.elapsed());
        if let Some(events) = self.events {
            meter.open_streams.fetch_sub(1, Ordering::Relaxed);
            meter.stream_events.add(events);
        }
    }
}

/// Begins the span of a call.
fn record(trace: &Trace, call: &Call) -> Option<Box<Recording>> {
    let method = call.operation.method().name();
    let mut recording = trace.record(method, Kind::Server)?;
    recording.set(names::METHOD, method);
    recording.set(names::VERSION, call.params.dialect.version().name());
    if let Some(agent) = &call.target.agent {
        recording.set(names::AGENT, &**agent);
    }
    if let Some(tenant) = call.target.tenant.as_deref().filter(|t| !t.is_empty()) {
        recording.set(names::TENANT, tenant);
    }
    match &call.operation {
        Operation::Send(send) | Operation::Stream(send) => {
            recording.set(names::MESSAGE, send.message.id.as_str());
            recording.set_all(names::REFERENCES, &send.message.reference_task_ids);
        }
        Operation::Get(get) => recording.set(names::TASK, get.id.as_str()),
        Operation::Cancel(cancel) => recording.set(names::TASK, cancel.id.as_str()),
        _ => {}
    }
    Some(Box::new(recording))
}

/// What the answer tells of the call.
fn tell(recording: &mut Recording, reply: &Reply) {
    if let Some(about) = &reply.about {
        recording.link(about);
    }
    match &reply.body {
        ReplyBody::Stream(cursor) => recording.set(names::TASK, cursor.task_id().as_str()),
        ReplyBody::Response(Response::SentTask(view)) => {
            recording.set(names::TASK, view.task.id.as_str());
            recording.set(names::CONTEXT, view.task.context_id.as_str());
            recording.set(names::STATE, names::state(view.task.status.state));
        }
        ReplyBody::Response(Response::Task(view)) => {
            recording.set(names::CONTEXT, view.task.context_id.as_str());
            recording.set(names::STATE, names::state(view.task.status.state));
        }
        ReplyBody::Response(_) => {}
    }
}
