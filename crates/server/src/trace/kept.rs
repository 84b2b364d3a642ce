//! The trace of a task's turn, kept beside the task: whoever goes on with the task goes on with the trace.

use serde_json::{Value, json};
use switchboard_types::model::TaskId;

use super::Trace;
use crate::store::Note;

/// The name of the note. Agents have no such names for theirs.
const KEPT: &str = "switchboard/trace";

impl Trace {
    /// What is kept beside a task whose turn belongs to `trace`; with `None` it is forgotten.
    pub(crate) fn kept(trace: Option<&Self>, task: &TaskId) -> Note {
        let value = trace.map_or(Value::Null, |trace| {
            let (state, baggage) = (trace.tracestate(), trace.baggage());
            let mut kept = json!({ "traceparent": trace.traceparent(), "tracestate": state });
            if let Some(baggage) = baggage {
                kept["baggage"] = baggage.into();
            }
            kept
        });
        Note {
            task: task.clone(),
            name: KEPT.to_owned(),
            value,
        }
    }

    /// The trace that was kept, if one was.
    pub(crate) fn left(notes: &[Note]) -> Option<Self> {
        let note = notes.iter().find(|note| note.name == KEPT)?;
        let mut trace = Self::parse(note.value["traceparent"].as_str()?)?;
        if let Some(state) = note.value["tracestate"].as_str() {
            trace = trace.with_state(state);
        }
        if let Some(baggage) = note.value["baggage"].as_str() {
            trace = trace.with_baggage(baggage);
        }
        Some(trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_kept_comes_back_whole() {
        let task = TaskId::new("t").unwrap();
        let carrying = Trace::begin().with_baggage("user=u1");
        for trace in [
            Trace::begin(),
            Trace::begin().with_state("a=1,b=\"2\""),
            carrying,
        ] {
            let note = Trace::kept(Some(&trace), &task);
            assert_eq!(Trace::left(&[note]), Some(trace));
        }
        let forgotten = Trace::kept(None, &task);
        assert_eq!(Trace::left(&[forgotten]), None);
        assert_eq!(Trace::left(&[]), None);
    }
}
