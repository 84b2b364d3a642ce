//! The trace in the events that come of it: `metadata.traceId` and `metadata.spanId`.

use switchboard_types::model::{Event, Object};

use super::Trace;

const TRACE_ID: &str = "traceId";
const SPAN_ID: &str = "spanId";

impl Trace {
    /// Says in an event's metadata what it is part of. A task and a message are no events of their own: they stay as
    /// they were made.
    pub(crate) fn stamp(&self, event: &mut Event) {
        let metadata = match event {
            Event::Status(update) => &mut update.metadata,
            Event::Artifact(update) => &mut update.metadata,
            Event::Task(_) | Event::Message(_) => return,
        };
        let ids = [
            (TRACE_ID, self.id.to_string().into()),
            (SPAN_ID, self.span.to_string().into()),
        ];
        *metadata = Some(Object::with(metadata.as_ref(), ids));
    }
}
