//! How an operation reaches an agent and an answer comes back: one trait, one file per binding.
//!
//! A transport knows one interface of one agent. It encodes, sends once, decodes; it repeats nothing, resumes
//! nothing and knows no credentials: that is done above ([`crate::retry`], [`crate::stream`]) and below
//! ([`http::Link`]).

pub(crate) mod headers;
pub(crate) mod http;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::Stream;
use switchboard_types::model::Event;
use switchboard_types::operation::{Operation, Response};

use crate::error::Error;
use crate::options::CallOptions;

/// One interface of an agent, in one binding and version.
#[async_trait]
pub(crate) trait Transport: fmt::Debug + Send + Sync {
    /// Sends `operation` once and reads the answer; of a stream, its beginning.
    async fn call(&self, operation: &Operation, options: &CallOptions) -> Result<Reply, Error>;
}

/// What came back.
pub(crate) enum Reply {
    /// One answer.
    Response(Response),
    /// A stream. An agent may answer a call that should stream with one answer: then it is a stream of one.
    Events(Arriving),
}

/// A stream as it arrives over one connection; it ends when the connection does.
pub(crate) type Arriving = Pin<Box<dyn Stream<Item = Result<Arrival, Error>> + Send>>;

/// One item of a stream.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The event.
    pub(crate) event: Event,
    /// The id to resume from, if the binding has such.
    pub(crate) id: Option<Arc<str>>,
    /// The agent says that nothing follows (0.x: `final`).
    pub(crate) last: bool,
    /// How long the agent wants us to wait before reconnecting.
    pub(crate) retry: Option<Duration>,
}

impl Arrival {
    /// An event and nothing else.
    pub(crate) fn bare(event: Event) -> Self {
        Self {
            event,
            id: None,
            last: false,
            retry: None,
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(response) => f.debug_tuple("Response").field(response).finish(),
            Self::Events(_) => f.write_str("Events"),
        }
    }
}
