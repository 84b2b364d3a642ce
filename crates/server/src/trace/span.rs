//! Pieces of work that are told to a collector when they are over.

use std::fmt;
use std::sync::Arc;

use switchboard_types::model::Timestamp;

use super::{SpanId, Trace, TraceId};
use crate::clock;

/// Takes spans, if someone wants them.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Whether a trace is recorded; `parent` is what the caller has decided, if there is one.
    fn samples(&self, trace: TraceId, parent: Option<bool>) -> bool;

    /// Takes a span. Must not wait.
    fn record(&self, span: Span);
}

/// Where spans go. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Spans(Arc<dyn Sink>);

/// A piece of work that is over.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its place.
    pub trace: Trace,
    /// What it is called.
    pub name: String,
    /// From which side it is seen.
    pub kind: Kind,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// What is known of it; names of [`names`](super::names).
    pub attributes: Vec<(&'static str, Attribute)>,
    /// Places in other traces that it has to do with.
    pub links: Vec<(TraceId, SpanId)>,
    /// Why it failed, in a word.
    pub error: Option<String>,
}

/// From which side a piece of work is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nobody is waited for.
    Internal,
    /// By whoever was asked.
    Server,
    /// By whoever asks.
    Client,
}

/// Something that is known of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// A text.
    Text(String),
    /// Several.
    Texts(Vec<String>),
    /// A number.
    Number(i64),
}

/// How many texts of one kind are told of a span.
const MOST: usize = 32;
/// How long one may be, in bytes.
const LONGEST: usize = 1024;

/// A piece of work that goes on. It is recorded when this is dropped.
#[derive(Debug)]
pub struct Recording {
    span: Option<Span>,
    spans: Spans,
}

impl Spans {
    /// Spans go there.
    #[must_use]
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self(sink)
    }

    /// Our part of the caller's trace, or of a new one.
    pub(crate) fn continued(&self, caller: Option<&Trace>) -> Trace {
        let mut trace = caller.map_or_else(Trace::begin, Trace::child);
        let sampled = self.0.samples(trace.id, caller.map(Trace::is_sampled));
        trace.sample(sampled);
        trace.spans = Some(self.clone());
        trace
    }
}

impl Trace {
    /// Whether someone wants to know of it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.spans.is_some() && self.is_sampled()
    }

    /// Begins to record this piece of work; `None` if nobody wants to know of it.
    #[must_use]
    pub fn record(&self, name: &str, kind: Kind) -> Option<Recording> {
        self.record_with(|| name.to_owned(), kind)
    }

    /// The same, with a name that is made only if it is needed.
    #[must_use]
    pub(crate) fn record_with(
        &self,
        name: impl FnOnce() -> String,
        kind: Kind,
    ) -> Option<Recording> {
        let spans = self.spans.clone().filter(|_| self.is_sampled())?;
        let began = clock::precise();
        let span = Some(Span {
            trace: self.clone(),
            name: name(),
            kind,
            began,
            ended: began,
            attributes: Vec::new(),
            links: Vec::new(),
            error: None,
        });
        Some(Recording { span, spans })
    }

    /// The same, with its spans going there.
    #[must_use]
    pub(crate) fn recorded_by(mut self, spans: Option<&Spans>) -> Self {
        self.spans = spans.cloned();
        self
    }
}

impl Recording {
    /// Something that is known of it.
    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.add(name, Attribute::Text(bounded(value.into())));
    }

    /// Several things of one kind; nothing, if there are none. The first of them, if there are many.
    pub(crate) fn set_all<T: ToString>(&mut self, name: &'static str, values: &[T]) {
        if !values.is_empty() {
            let texts = values.iter().take(MOST);
            let texts = texts.map(|value| bounded(value.to_string())).collect();
            self.add(name, Attribute::Texts(texts));
        }
    }

    /// It has to do with another piece of work.
    pub(crate) fn link(&mut self, other: &Trace) {
        if let Some(span) = &mut self.span {
            span.links.push((other.id, other.span));
        }
    }

    /// How much of something.
    pub(crate) fn set_number(&mut self, name: &'static str, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.add(name, Attribute::Number(value));
    }

    /// What was said of the same before does not count.
    fn add(&mut self, name: &'static str, value: Attribute) {
        if let Some(span) = &mut self.span {
            span.attributes.retain(|(known, _)| *known != name);
            span.attributes.push((name, value));
        }
    }

    /// It failed.
    pub fn fail(&mut self, why: impl Into<String>) {
        let why = why.into();
        self.set(super::names::ERROR, why.clone());
        if let Some(span) = &mut self.span {
            span.error = Some(why);
        }
    }
}

fn bounded(mut text: String) -> String {
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
    if text.len() > LONGEST {
        text.truncate(end.unwrap_or_default());
    }
    text
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.ended = clock::precise();
            self.spans.0.record(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<Span>>);

    impl Sink for Kept {
        fn samples(&self, _: TraceId, _: Option<bool>) -> bool {
            true
        }

        fn record(&self, span: Span) {
            self.0.lock().push(span);
        }
    }

    #[test]
    fn what_callers_can_make_long_is_told_in_part() {
        let kept = Arc::new(Kept::default());
        let spans = Spans::new(Arc::clone(&kept) as _);
        let trace = spans.continued(None);
        let mut recording = trace.record("x", Kind::Server).unwrap();
        let many: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        recording.set_all("many", &many);
        recording.set("long", "é".repeat(10_000));
        recording.set("twice", "one");
        recording.set("twice", "two");
        drop(recording);
        let spans = kept.0.lock();
        let Attribute::Texts(texts) = &spans[0].attributes[0].1 else {
            panic!("{spans:?}");
        };
        assert_eq!((texts.len(), &*texts[31]), (32, "31"));
        let long = Attribute::Text("é".repeat(512));
        assert_eq!(spans[0].attributes[1].1, long);
        assert_eq!(
            spans[0].attributes[2..],
            [("twice", Attribute::Text("two".to_owned()))]
        );
    }
}
