//! A trace as JSON, in which it is kept beside a task: whoever goes on with the task goes on with the trace.

use serde_json::{Value, json};

use super::Trace;

impl Trace {
    /// The trace as it is stored.
    pub(crate) fn to_json(&self) -> Value {
        let state = self.tracestate();
        let mut stored = json!({ "traceparent": self.traceparent(), "tracestate": state });
        if let Some(baggage) = self.baggage() {
            stored["baggage"] = baggage.into();
        }
        stored
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
            let kept = trace.to_json();
            assert_eq!(Trace::from_json(&kept), Some(trace));
        }
        assert_eq!(Trace::from_json(&Value::Null), None);
    }
}
