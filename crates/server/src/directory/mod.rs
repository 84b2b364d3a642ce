//! Which agents there are, and who may know of them.

mod agent_name;

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderName;
use switchboard_types::model::Timestamp;
use switchboard_types::{Error, ErrorKind};

use crate::auth::{Access, Carried, Presented, Refusal};
use crate::call::Target;
use crate::card::Profile;
use crate::metrics::Meter;
use crate::principal::Principal;

pub use agent_name::{AgentNameError, check_agent_name};

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
pub(crate) fn no_such_tenant(name: &str) -> Error {
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
    /// Lets a caller in, or says why not; `None` if the caller may not know that there is this agent.
    pub(crate) fn admit(
        &self,
        presented: &Presented,
        carried: &Carried<'_>,
    ) -> Option<Result<Principal, Refusal>> {
        let admitted = self.access.admit(&self.name, presented, carried);
        let may_use = |caller: &Principal| self.access.shows(&self.name, caller, None);
        let known = self.access.is_visible() || admitted.as_ref().is_ok_and(may_use);
        known.then_some(admitted)
    }
}
