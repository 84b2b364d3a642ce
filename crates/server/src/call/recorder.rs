//! Counts and traces one call, from its admission until its reply is complete: that of a stream when it ends or its
//! reader leaves.

use std::sync::Arc;
use std::time::Duration;

use switchboard_types::Error;
use switchboard_types::operation::{Method, Operation, Response};
use tokio::time::Instant;

use super::{Call, Reply, ReplyBody};
use crate::metrics::{Line, Meter, Status};
use crate::trace::{Kind, Recording, Trace, names};

/// Counts its call when it is dropped.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    meter: Arc<Meter>,
    method: Method,
    began: Instant,
    status: Status,
    /// How many events were read, once it is a stream.
    events: Option<u64>,
    /// For a collector.
    recording: Option<Box<Recording>>,
}

impl CallRecorder {
    /// Begins to record a call, if its agent is known.
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

    /// The call was queued for that long.
    pub(crate) fn waited(&self, time: Duration) {
        self.meter.waited(Line::Calls, time);
    }

    /// The call was answered or refused; of a stream, every event is recorded.
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
                    describe(recording, reply);
                }
                if let ReplyBody::Stream(events) = &mut reply.body {
                    self.events = Some(0);
                    self.meter.stream_opened();
                    events.record(Box::new(self));
                }
            }
        }
    }

    /// So many events were read.
    pub(super) fn sent(&mut self, events: usize) {
        let events = u64::try_from(events).unwrap_or_default();
        if self.events == Some(0) && events > 0 {
            self.meter.first_event(self.began.elapsed());
        }
        self.events = self.events.map(|before| before + events);
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        let meter = &self.meter;
        meter.answered(self.method, self.status, self.began.elapsed());
        if let Some(events) = self.events {
            meter.stream_closed(events);
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

/// What the reply says of the call.
fn describe(recording: &mut Recording, reply: &Reply) {
    if let Some(about) = &reply.about {
        recording.link(about);
    }
    match &reply.body {
        ReplyBody::Stream(events) => recording.set(names::TASK, events.task_id().as_str()),
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
