//! One call, from when it is let in until its answer is complete: a stream's until it ends or its reader leaves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use switchboard_types::Error;
use switchboard_types::operation::Method;
use tokio::time::Instant;

use super::meter::{Meter, Status};
use crate::call::{Call, Reply, ReplyBody};

/// A call that is counted when this is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    meter: Arc<Meter>,
    method: Method,
    began: Instant,
    status: Status,
    /// Events that were told, once it is a stream.
    events: Option<u64>,
}

impl Watched {
    /// Watches a call, if its agent is known.
    pub(crate) fn begin(call: &Call) -> Option<Self> {
        Some(Self {
            meter: Arc::clone(call.params.meter.as_ref()?),
            method: call.operation.method(),
            began: Instant::now(),
            status: Status::Abandoned,
            events: None,
        })
    }

    /// The call was answered or refused; a stream is watched on.
    pub(crate) fn answered(mut self, answer: Result<&mut Reply, &Error>) {
        match answer {
            Err(error) => self.status = Status::Error(error.kind()),
            Ok(reply) => {
                self.status = Status::Ok;
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
