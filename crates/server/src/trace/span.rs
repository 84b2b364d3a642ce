//! Pieces of work that are told to a collector when they are over.

use std::fmt;
use std::sync::Arc;

use switchboard_types::model::Timestamp;

use super::{Trace, TraceId};
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
}

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
    /// Begins to record this piece of work; `None` if nobody wants to know of it.
    #[must_use]
    pub fn record(&self, name: &str, kind: Kind) -> Option<Recording> {
        self.record_with(|| name.to_owned(), kind)
    }

    /// The same, with a name that is made only if it is needed.
    #[must_use]
    pub fn record_with(&self, name: impl FnOnce() -> String, kind: Kind) -> Option<Recording> {
        let spans = self.spans.clone().filter(|_| self.is_sampled())?;
        let began = clock::precise();
        let span = Some(Span {
            trace: self.clone(),
            name: name(),
            kind,
            began,
            ended: began,
            attributes: Vec::new(),
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
        self.add(name, Attribute::Text(value.into()));
    }

    /// Several things of one kind; nothing, if there are none.
    pub fn set_all<T: ToString>(&mut self, name: &'static str, values: &[T]) {
        if !values.is_empty() {
            let texts = values.iter().map(ToString::to_string).collect();
            self.add(name, Attribute::Texts(texts));
        }
    }

    fn add(&mut self, name: &'static str, value: Attribute) {
        if let Some(span) = &mut self.span {
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

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.ended = clock::precise();
            self.spans.0.record(span);
        }
    }
}
