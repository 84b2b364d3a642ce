//! How an operation reaches an agent and an answer comes back: one trait, one file per binding.
//!
//! A transport knows one interface of one agent. It encodes, sends once, decodes; it repeats nothing, resumes
//! nothing and knows no credentials: that is done above ([`crate::retry`], [`crate::stream`]) and below
//! ([`link::Link`]).

pub(crate) mod failure;
#[cfg(feature = "grpc")]
pub(crate) mod grpc;
#[path = "without_grpc.rs"]
#[cfg(not(feature = "grpc"))]
pub(crate) mod grpc;
pub(crate) mod headers;
pub(crate) mod http;
mod jsonrpc;
pub(crate) mod link;
mod plain_card;
pub(crate) mod record;
mod rest;
mod sse;
pub(crate) mod tls;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::Stream;
use switchboard_types::model::{Binding, Event};
use switchboard_types::operation::{Operation, Response};

use self::link::Link;
use crate::error::{Error, Kind};
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

/// The way to speak to an interface.
pub(crate) fn open(binding: &Binding, link: Link) -> Result<Arc<dyn Transport>, Error> {
    match binding {
        Binding::JsonRpc => Ok(Arc::new(jsonrpc::JsonRpc(link))),
        Binding::HttpJson => Ok(Arc::new(rest::Rest(link))),
        Binding::Grpc => grpc::open(link),
        Binding::Other(name) => {
            let message = format!("the binding {name:?} is not spoken here");
            Err(Error::new(Kind::NotOffered, message))
        }
    }
}

/// An answer that came where a stream was asked for: a stream of one.
fn single(response: Response) -> Result<Reply, Error> {
    let event = match response {
        Response::SentTask(view) | Response::Task(view) => Event::Task(view.task),
        Response::SentMessage(message) => Event::Message(message),
        other => {
            let message = format!("a stream was asked for, and answered with {other:?}");
            return Err(Error::unintelligible(message));
        }
    };
    let arrival = Ok(Some(Arrival::bare(event)));
    Ok(Reply::Events(Box::pin(futures_util::stream::iter([
        arrival,
    ]))))
}

/// A stream as it arrives over one connection; it ends when the connection does. Nothing is a sign of life: something
/// came, but no event.
pub(crate) type Arriving = Pin<Box<dyn Stream<Item = Result<Option<Arrival>, Error>> + Send>>;

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
