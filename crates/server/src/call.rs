//! The narrow waist: whatever arrives becomes a [`Call`], whatever leaves is a [`Reply`].

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hyper::header::HeaderName;
use switchboard_types::model::Timestamp;
use switchboard_types::operation::{Operation, Response};
use switchboard_types::{Dialect, Error, ErrorKind};

use crate::access_log::AccessDetails;
use crate::auth::{Access, Carried, Presented};
use crate::engine::Profile;
use crate::log::Cursor;
use crate::metrics::Meter;
use crate::principal::Principal;
use crate::trace::Trace;

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
    Stream(Cursor),
}

/// An answer on its way. It has all it needs: whoever it was asked of may be replaced meanwhile.
pub type Answering = BoxFuture<'static, Result<Reply, Error>>;

/// Answers calls: the router, the guards and each agent's engine are handlers.
pub trait Handler: Send + Sync + fmt::Debug {
    /// Answers one call. Whoever only passes it on passes on the other's future, too.
    fn handle(&self, call: Call) -> Answering;
}

/// There is no agent of that name, as far as the caller may know.
#[must_use]
pub fn no_such_agent(name: &str) -> Error {
    Error::new(
        ErrorKind::MethodNotFound,
        format!("no agent named {name:?}"),
    )
    .fact("agent", name)
}

/// How many names an error about an unknown agent lists.
pub(crate) const MAX_LISTED_AGENTS: usize = 10;

/// There is no agent of that name, as far as the caller may know; but these, which it may know of. One more than
/// [`MAX_LISTED_AGENTS`] stands for any number more.
pub(crate) fn no_such_agent_but(name: &str, known: &[Arc<str>]) -> Error {
    if known.is_empty() {
        return no_such_agent(name);
    }
    let listed: Vec<&str> = known.iter().take(MAX_LISTED_AGENTS).map(|n| &**n).collect();
    let more = match known.len() > MAX_LISTED_AGENTS {
        true => " and more, see /agents",
        false => "",
    };
    let message = format!(
        "no agent named {name:?}; the agents are {}{more}",
        listed.join(", ")
    );
    Error::new(ErrorKind::MethodNotFound, message).fact("agent", name)
}

/// There is no such tenant: it looks like an unknown task.
#[must_use]
pub fn no_such_tenant(name: &str) -> Error {
    Error::task_not_found("").fact("tenant", name)
}

/// Knows which agents there are.
pub trait Directory: Send + Sync + fmt::Debug {
    /// The agent a path means; `None` means the default one.
    fn find(&self, name: Option<&str>) -> Option<Arc<Listing>>;

    /// The agent that path and tenant mean together: the one that will answer.
    ///
    /// # Errors
    ///
    /// If there is none, or they contradict each other.
    fn resolve(&self, target: &Target) -> Result<Arc<Listing>, Error>;

    /// All agents.
    fn list(&self) -> Vec<Arc<Listing>>;
}

/// An agent in the directory.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Its name in paths.
    pub name: Arc<str>,
    /// What its card says.
    pub profile: Arc<Profile>,
    /// Since when it says so.
    pub since: Timestamp,
    /// Who may ask it.
    pub access: Arc<Access>,
    /// The headers of a request that it is to see, if any.
    pub forwards: Option<Arc<[HeaderName]>>,
    /// Its numbers.
    pub meter: Arc<Meter>,
}

impl Listing {
    /// Whether this caller may know that there is this agent.
    pub(crate) fn is_seen_by(&self, presented: &Presented, carried: &Carried<'_>) -> bool {
        self.access.is_seen_by(&self.name, presented, carried)
    }
}
