//! What one client may ask of us.

use std::time::Duration;

use crate::limit::Queue;
use crate::log::DEFAULT_ANSWERS;

/// What one client may ask of us.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest request body, in bytes.
    pub body: usize,
    /// How much large tasks may weigh together that are held for answers nobody has read yet, in bytes.
    pub answers: usize,
    /// How long a request body may take to arrive.
    pub body_timeout: Duration,
    /// How long request headers may take to arrive, and a connection to ask again.
    pub header_timeout: Duration,
    /// How many connections may be open.
    pub connections: usize,
    /// How many connections one address may have; any number if `None`.
    pub connections_per_address: Option<usize>,
    /// How many event streams may be open.
    pub streams: usize,
    /// How many of them may be one caller's. `None`: a quarter, if the caller is known by name; others may share an
    /// address.
    pub streams_per_caller: Option<usize>,
    /// How many requests are worked on at once. A stream counts until it begins.
    pub requests: usize,
    /// Where others wait.
    pub queue: Queue,
    /// How long an event stream may be silent: idle proxies cut connections that are.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 10 << 20,
            answers: DEFAULT_ANSWERS,
            body_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(10),
            connections: 16_384,
            connections_per_address: None,
            streams: 12_288,
            streams_per_caller: None,
            requests: 4_096,
            queue: Queue::default(),
            heartbeat: Duration::from_secs(15),
        }
    }
}
