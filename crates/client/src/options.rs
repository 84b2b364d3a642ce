//! What can be set for one call, and how much a client takes.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

/// What can be set for one call. Everything else is set once, by the [`Builder`](crate::Builder).
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) request_id: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) extensions: Vec<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) traceparent: Option<String>,
    pub(crate) last_event_id: Option<String>,
}

impl CallOptions {
    /// Nothing set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the call may take; for streams, until they begin.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The id of the JSON-RPC call; a fresh one otherwise.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The same send may arrive more than once and counts once. Only with it is a send repeated whose answer
    /// did not come: set it for agents that know `Idempotency-Key`.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Asks for an extension, beside those of the client.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// A header, or metadata over gRPC.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The trace this call belongs to, as `traceparent` writes it; a fresh one otherwise.
    #[must_use]
    pub fn traceparent(mut self, value: impl Into<String>) -> Self {
        self.traceparent = Some(value.into());
        self
    }

    /// Where a stream that is subscribed to goes on.
    #[must_use]
    pub fn last_event_id(mut self, id: impl Into<String>) -> Self {
        self.last_event_id = Some(id.into());
        self
    }
}

/// The most bytes that are taken from an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a card.
    pub card: usize,
    /// Of an answer.
    pub body: usize,
    /// Of one event of a stream.
    pub event: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            card: 1 << 20,
            body: 64 << 20,
            event: 16 << 20,
        }
    }
}
