//! A trace as JSON, in which it is kept beside a task: whoever goes on with the task goes on with the trace.

use serde_json::{Value, json};

use super::Trace;

impl Trace {
    /// The trace as it is kept; `null` is none.
    pub(crate) fn to_json(trace: Option<&Self>) -> Value {
        trace.map_or(Value::Null, |trace| {
            let (state, baggage) = (trace.tracestate(), trace.baggage());
            let mut kept = json!({ "traceparent": trace.traceparent(), "tracestate": state });
            if let Some(baggage) = baggage {
                kept["baggage"] = baggage.into();
            }
            kept
        })
    }

    /// The trace that was kept, if one was.
    pub(crate) fn from_json(kept: &Value) -> Option<Self> {
        let mut trace = Self::parse(kept["traceparent"].as_str()?)?;
        if let Some(state) = kept["tracestate"].as_str() {
            trace = trace.with_state(state);
        }
        if let Some(baggage) = kept["baggage"].as_str() {
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
        let carrying = Trace::begin().with_baggage("user=u1");
        for trace in [
            Trace::begin(),
            Trace::begin().with_state("a=1,b=\"2\""),
            carrying,
        ] {
            let kept = Trace::to_json(Some(&trace));
            assert_eq!(Trace::from_json(&kept), Some(trace));
        }
        assert_eq!(Trace::from_json(&Trace::to_json(None)), None);
    }
}
