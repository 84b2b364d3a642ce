//! The narrow waist: whatever arrives becomes a [`Call`], whatever leaves is a [`Reply`].
//!
//! - `event_stream`: a reply of many events, and what happens when its reader leaves.
//! - `recorder`: counts and traces one call until its reply is complete.

mod event_stream;
mod recorder;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use switchboard_types::operation::{Operation, Response};
use switchboard_types::{Dialect, Error};

use crate::access_log::AccessDetails;
use crate::metrics::Meter;
use crate::principal::Principal;
use crate::trace::Trace;

pub use event_stream::EventStream;
pub(crate) use recorder::CallRecorder;

/// One request, with its binding and version forgotten.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is asked for.
    pub operation: Operation,
    /// Which agent, as far as the address tells.
    pub target: Target,
    /// Who asks.
    pub principal: Principal,
    /// What came beside the operation.
    pub params: ServiceParams,
    /// By which way it came.
    pub origin: Origin,
}

/// By which way a call came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Over the network.
    Network,
    /// From this agent, on behalf of one who called it.
    Agent(Arc<str>),
}

/// Which agent is meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The agent named by the path; `None` is the default agent.
    pub agent: Option<Arc<str>>,
    /// The `tenant` of the request, which may also name an agent.
    pub tenant: Option<String>,
}

/// What comes beside an operation; filled by every binding by the same function.
#[derive(Debug, Clone)]
pub struct ServiceParams {
    /// How the caller spells A2A; webhooks are rendered in the dialect they were registered in.
    pub dialect: Dialect,
    /// Extensions the caller asks for.
    pub extensions: Vec<String>,
    /// Repeats of a send under the same key are not run twice.
    pub idempotency_key: Option<String>,
    /// The last event a reconnecting reader has seen.
    pub last_event_id: Option<u64>,
    /// What the call is part of, if it is part of something.
    pub trace: Option<Arc<Trace>>,
    /// Who counts it, until someone does.
    pub meter: Option<Arc<Meter>>,
    /// What is sent answers a question for a secret, and is kept as one, whatever the task has come to meanwhile. Agents
    /// know that of what they pass on; nobody says so over the network.
    pub secret: bool,
    /// The message names its task only because that waits for an answer: if it does not any more, nothing is done.
    /// Nobody says so over the network.
    pub only_if_waiting: bool,
    /// Where the caller reached us: scheme, host and path before `/a2a`. Only calls for a card have it.
    pub base_url: Arc<str>,
    /// Where the access log learns what became of the call; `None` unless that is on.
    pub access: Option<AccessDetails>,
}

impl ServiceParams {
    /// The parameters of a call that did not come over the network.
    #[must_use]
    pub fn internal() -> Self {
        Self {
            dialect: Dialect::V1,
            extensions: Vec::new(),
            idempotency_key: None,
            last_event_id: None,
            trace: None,
            meter: None,
            secret: false,
            only_if_waiting: false,
            base_url: Arc::from(""),
            access: None,
        }
    }
}

/// What is answered.
#[derive(Debug)]
pub struct Reply {
    /// The answer.
    pub body: ReplyBody,
    /// Extensions that were asked for and are active.
    pub extensions: Vec<String>,
    /// What the task is part of that was read, if someone wants to know.
    pub about: Option<Box<Trace>>,
}

/// One answer, or many.
#[derive(Debug)]
pub enum ReplyBody {
    /// One answer.
    Response(Response),
    /// Events, as they are stored.
    Stream(EventStream),
}

/// An answer on its way. It has all it needs: whoever it was asked of may be replaced meanwhile.
pub type Answering = BoxFuture<'static, Result<Reply, Error>>;

/// Answers calls: the router, the guards and each agent's engine are handlers.
pub trait Handler: Send + Sync + fmt::Debug {
    /// Answers one call. Whoever only passes it on passes on the other's future, too.
    fn handle(&self, call: Call) -> Answering;
}
