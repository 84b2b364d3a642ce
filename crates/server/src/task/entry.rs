//! One event in the log, and its wire forms, each encoded once and shared by all readers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use switchboard_types::model::{Event, Message, Timestamp};
use switchboard_types::{Dialect, wire};

/// One event of a task's log.
pub struct Entry {
    /// Its place: 1, 2, 3 … without gaps. Also its SSE `id`.
    pub seq: u64,
    /// When: the time of its status, or when it was appended. It leaves by A2A only as the time of a status.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// The client's message that made it happen, if one did. It goes into the task's history; the
    /// client that sent it does not hear it again.
    pub received: Option<Arc<Message>>,
    /// Roughly how many bytes it takes.
    weight: usize,
    /// Most entries are never told to anyone, so they hold no room for it.
    encoded: OnceLock<Box<Encoded>>,
}

/// What weighs more is rendered for each reader piece by piece; encoded forms of it are not kept.
pub const LARGE: usize = 64 << 10;

/// What an entry takes beside its event.
const ENTRY: usize = 128;

/// The wire forms of an event: JSON and a gRPC message in each dialect.
type Encoded = [OnceLock<Bytes>; 2 * Dialect::ALL.len()];

impl Entry {
    /// The event with number `seq`, which happened `at` that time.
    #[must_use]
    pub fn new(seq: u64, at: Timestamp, event: Event, received: Option<Arc<Message>>) -> Self {
        let message = received.as_ref().map_or(0, |message| message.weight());
        Self {
            seq,
            at,
            weight: ENTRY + event.weight() + message,
            event,
            received,
            encoded: OnceLock::new(),
        }
    }

    /// The time that an event states itself: that of its status.
    #[must_use]
    pub fn stated_time(event: &Event) -> Option<Timestamp> {
        match event {
            Event::Status(update) => update.status.timestamp,
            Event::Task(task) => task.status.timestamp,
            Event::Artifact(_) | Event::Message(_) => None,
        }
    }

    /// Roughly how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Whether it is rendered piece by piece.
    #[must_use]
    pub(crate) fn is_large(&self) -> bool {
        self.weight > LARGE
    }

    /// The event as JSON. `last` says that a stream ends with it, which 0.x readers are told.
    #[must_use]
    pub fn json(&self, dialect: Dialect, last: bool) -> Bytes {
        self.shared(dialect.index(), last, |last| {
            encode(dialect, &self.event, last)
        })
    }

    /// The event as the gRPC message that stands for `dialect`, which `encode` makes if nobody did before.
    #[must_use]
    pub fn message(
        &self,
        dialect: Dialect,
        last: bool,
        encode: impl FnOnce(bool) -> Bytes,
    ) -> Bytes {
        self.shared(Dialect::ALL.len() + dialect.index(), last, encode)
    }

    fn shared(&self, form: usize, last: bool, encode: impl FnOnce(bool) -> Bytes) -> Bytes {
        let asks = last != self.ends_the_task() && matches!(self.event, Event::Status(_));
        if asks || self.is_large() {
            // A stream that ends at a question: rare, and not shared with readers that stay. What is large would
            // take as much memory again for each form, for as long as the event is in memory.
            return encode(last);
        }
        self.encoded.get_or_init(Box::default)[form]
            .get_or_init(|| encode(last))
            .clone()
    }

    /// Whether the task is over with this event.
    #[must_use]
    pub fn ends_the_task(&self) -> bool {
        match &self.event {
            Event::Status(update) => update.status.state.is_terminal(),
            Event::Task(task) => task.status.state.is_terminal(),
            Event::Message(_) => true,
            Event::Artifact(_) => false,
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.seq, self.at) == (other.seq, other.at)
            && self.event == other.event
            && self.received == other.received
    }
}

impl Eq for Entry {}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("seq", &self.seq)
            .field("at", &self.at)
            .field("event", &self.event)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

fn encode(dialect: Dialect, event: &Event, last: bool) -> Bytes {
    let mut out = Vec::with_capacity(256);
    wire::encode_event(dialect, event, last, &mut out);
    Bytes::from(out)
}
