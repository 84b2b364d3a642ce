//! Which trace a call belongs to (W3C Trace Context), from the request that began it to everything done for it: turns,
//! calls to others, notifications; and after a restart, too.
//!
//! `context` reads and writes it, `stamp` puts it into events, `json` is how it is kept beside a task, `span` tells a
//! collector of it, by the [`names`] that others know. Nothing here is made for a call that belongs to no trace.

mod context;
mod json;
pub mod names;
mod span;
mod stamp;

use http::{HeaderName, HeaderValue};

pub use context::{SpanId, TraceId};
pub use span::{Attribute, Kind, Recording, Sink, Span, Spans};

/// The header that names trace and caller.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header in which others keep what they need to know.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The header in which callers tell everyone on the way something (W3C Baggage).
pub(crate) const BAGGAGE: HeaderName = HeaderName::from_static("baggage");

/// What an agent [says](crate::agent::Progress::operator_note) when it has given work to another: `agent`, `taskId` of the
/// other task, and the `key` under which it was asked for. The view of a trace goes on there.
pub const DELEGATION: &str = "delegation";

/// A place in a trace: one piece of work, and whose part it is.
#[derive(Debug, Clone)]
pub struct Trace {
    id: TraceId,
    span: SpanId,
    parent: Option<SpanId>,
    flags: u8,
    state: Option<Box<str>>,
    baggage: Option<Box<str>>,
    /// Who wants to know of it.
    spans: Option<Spans>,
}

impl Trace {
    /// The first place of a new trace.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            id: TraceId::fresh(),
            span: SpanId::fresh(),
            parent: None,
            flags: context::SAMPLED,
            state: None,
            baggage: None,
            spans: None,
        }
    }

    /// A piece of work that is part of this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            span: SpanId::fresh(),
            parent: Some(self.span),
            ..self.clone()
        }
    }

    /// The trace.
    #[must_use]
    pub fn id(&self) -> TraceId {
        self.id
    }

    /// The piece of work.
    #[must_use]
    pub fn span(&self) -> SpanId {
        self.span
    }

    /// What it is part of.
    #[must_use]
    pub fn parent(&self) -> Option<SpanId> {
        self.parent
    }

    /// Whether someone records it.
    #[must_use]
    pub(crate) fn is_sampled(&self) -> bool {
        self.flags & context::SAMPLED != 0
    }

    fn sample(&mut self, sampled: bool) {
        self.flags = self.flags & !context::SAMPLED | u8::from(sampled);
    }

    /// The headers of a request that is part of this work. A request that is a piece of work of its own has those of
    /// its [`child`](Self::child).
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let parent = HeaderValue::from_str(&self.traceparent()).ok();
        let parent = parent.map(|value| (TRACEPARENT, value));
        let more = [(TRACESTATE, &self.state), (BAGGAGE, &self.baggage)];
        let more = more.into_iter().filter_map(|(name, text)| {
            let value = HeaderValue::from_str(text.as_deref()?).ok()?;
            Some((name, value))
        });
        parent.into_iter().chain(more)
    }
}

impl PartialEq for Trace {
    /// The same place; whoever wants to know of it.
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.span, self.parent) == (other.id, other.span, other.parent)
            && (self.flags, &self.state) == (other.flags, &other.state)
            && self.baggage == other.baggage
    }
}

impl Eq for Trace {}
