//! The configuration: from a YAML file, the environment and flags to a checked [`Config`].
//!
//! # Layout
//!
//! - [`Config`], here: what the rest of the gateway sees. Complete, checked, no defaults left to apply.
//! - `raw`: the file as written; its doc comments are the published schema ([`schema`]).
//! - `yaml`: the file as a tree with places; `${NAME}` is filled in there.
//! - [`mod@env`]: variables that set single keys.
//! - `given`: an agent that flags describe, as the same tree.
//! - [`mod@load`]: raw to [`Config`], and all the checks. Every problem is reported at once, with its place
//!   ([`problem`]); a configuration with problems is not applied in part.
//! - `server`, `limits`, `cors`, `agent`, `backend`, `card`, `auth`, `jwt`, `secret`, `access`, `tls`, `signing`,
//!   `admin`, `remote`, `openai`, `openclaw`, `exec`, `langgraph`, `identity`, `route`: the checks of each part.
//! - `question`: what `check --explain` is asked.
//! - [`Written`]: what tells one version of all this from the next.
//! - [`value`]: durations, sizes, addresses, networks.

mod access;
mod admin;
mod agent;
mod auth;
mod backend;
mod card;
mod cors;
pub mod env;
mod exec;
mod flags;
mod given;
mod identity;
mod jwt;
mod langgraph;
mod limits;
pub mod load;
mod openai;
mod openclaw;
pub mod problem;
pub(crate) mod question;
mod raw;
mod remote;
mod route;
pub mod schema;
mod secret;
mod server;
mod signing;
mod timeouts;
mod tls;
pub mod value;
mod written;
mod yaml;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::langgraph as assistants;
use switchboard_agents::openclaw as claw;
use switchboard_agents::profile::Fact;
use switchboard_agents::script::Script;
use switchboard_agents::{exec as command, openai as model, remote as upstream};
use switchboard_server::card::Profile;
use switchboard_server::egress::{Allow, SealingKey};
use switchboard_server::engine::Settings;
use switchboard_server::http::{Cors, Limits};
use switchboard_server::limit::Rate;
use switchboard_server::log::Retention;
use switchboard_server::net::Cidr;
use switchboard_server::store::sqlite::SqliteOptions;
use switchboard_types::VersionHeader;

use crate::route::rules::Route;

pub use self::access::Rights;
pub use self::admin::Admin;
pub use self::auth::{ApiKey, Method, MethodKind, Ways};
pub use self::env::Env;
pub use self::flags::Flags;
pub use self::given::{Given, GivenKey, GivenValue};
pub use self::identity::Identity;
pub use self::jwt::{Jwt, Keys};
pub use self::load::{Source, load, read};
pub use self::problem::{Place, Problem, Problems};
pub use self::raw::LogFormat;
pub(crate) use self::raw::Route as WrittenRoute;
pub(crate) use self::route::WrongRoute;
pub use self::signing::{Signing, SigningKey};
pub use self::tls::{Own, Tls};
pub use self::written::{Print, Written};

/// What `unlimited` means for a timeout: longer than any process lives, short enough to count with.
pub const UNLIMITED: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The directory with a data directory for each agent of `switchboard wrap`, below that of `switchboard up`.
pub const WRAPPED: &str = "wrapped";

/// A checked configuration, in the terms of the crates that use it.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen. Beyond this machine only if the user said that everyone may call.
    pub listen: SocketAddr,
    /// Scheme, host and path under which callers reach us, without a slash at the end. `None`: as the
    /// request says.
    pub public_url: Option<Arc<str>>,
    /// Peers whose `X-Forwarded-*` headers are believed.
    pub trust_forwarded: Vec<Cidr>,
    /// Whether requests must name their version.
    pub version_header: VersionHeader,
    /// Encrypted connections; `None`: they are not.
    pub tls: Option<Tls>,
    /// The agent at the root address: one of `agents`, one that may be found, or one of `discover` for the first that is.
    pub default_agent: Arc<str>,
    /// Where tasks are kept.
    pub store: Store,
    /// What a caller may ask of the machine.
    pub limits: Limits,
    /// How many tasks of all agents are worked on at once; any number if `None`.
    pub tasks: Option<usize>,
    /// Which web pages may call.
    pub cors: Cors,
    /// The ways to show who one is; names unique.
    pub methods: Vec<Method>,
    /// How often an address may fail to.
    pub failed_logins: FailedLogins,
    /// What is signed, and with which keys; `None`: nothing is. There is a `public_url` if something is.
    pub signing: Option<Signing>,
    /// What secrets are sealed with that are stored; `None`: a key in the data directory.
    pub secret_key: Option<Arc<SealingKey>>,
    /// How long things are kept.
    pub retention: Retention,
    /// Webhooks.
    pub push: Push,
    /// Where operators look; `None`: nowhere.
    pub admin: Option<Admin>,
    /// How long requests and turns may go on after a signal to stop.
    pub shutdown_grace: Duration,
    /// Logs.
    pub log: Log,
    /// The agents, in the order of the file; names unique. At least one, unless there are some to be found.
    pub agents: Vec<Agent>,
    /// What agents look like that are found elsewhere. Their names begin with the one that is here.
    pub discover: Vec<Agent>,
    /// What can be done, but may not be meant.
    pub doubts: Vec<Problem>,
    /// What tells it from what is written later.
    pub written: Written,
}

/// How often an address may fail to show who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedLogins {
    /// So often; at least once.
    pub requests: u32,
    /// In this time, and then it is not listened to for as long.
    pub per: Duration,
}

/// Where tasks are kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Store {
    /// In memory; nothing lasts.
    Memory,
    /// In an SQLite database in the data directory.
    Sqlite(SqliteOptions),
}

/// Webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// Targets that may be private or loopback addresses, or speak plain `http`.
    pub allow: Vec<Allow>,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// How long a delivery is tried again before it is set aside.
    pub give_up_after: Duration,
}

/// Logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A level or directives, known to be readable.
    pub level: String,
    /// How a line looks; `None`: text on a terminal, JSON elsewhere.
    pub format: Option<LogFormat>,
    /// One line per request.
    pub access: bool,
}

/// One agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The name in addresses.
    pub name: Arc<str>,
    /// What its cards say, interfaces apart. Streaming, webhooks and extensions are capabilities there. Skills
    /// and modes are never empty.
    pub profile: Profile,
    /// What of it is not said in the file: what stands behind the agent may say it.
    pub gaps: Vec<Fact>,
    /// What it asks callers for; every name is one of the methods.
    pub access: Ways,
    /// What those may do.
    pub rights: Rights,
    /// How often each caller may ask it.
    pub rate: Option<Rate>,
    /// How many of its tasks are worked on at once; any number if `None`.
    pub tasks: Option<usize>,
    /// What stands behind it.
    pub backend: Backend,
    /// Rules by which others take messages that it is asked.
    pub routes: Vec<Arc<Route>>,
    /// How it treats its tasks. `unlimited` is [`UNLIMITED`].
    pub settings: Settings,
    /// Tells it from what is written of it later.
    pub print: Print,
}

impl Agent {
    /// Whether everyone may call it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.access.iter().any(Vec::is_empty)
    }

    /// Whether its extended card is for nobody: it is shown to those who are known, and nobody can be.
    pub(crate) fn hides_extended_card(&self) -> bool {
        self.profile.extended.is_some() && self.access.iter().all(Vec::is_empty)
    }
}

/// What stands behind an agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Backend {
    /// Steps to follow.
    Script(Script),
    /// An A2A agent elsewhere, and who we are there.
    Remote(Box<upstream::Settings>, Identity),
    /// A model behind a chat endpoint, and who we are there.
    OpenAi(Box<model::Settings>, Identity),
    /// A command that is run for each message.
    Exec(Box<command::Settings>),
    /// An assistant of a LangGraph server, and who we are there.
    LangGraph(Box<assistants::Settings>, Identity),
    /// All assistants of a LangGraph server, each as an agent of its own. Only in [`Config::discover`].
    Assistants(Box<assistants::Settings>, Identity),
    /// An agent of an OpenClaw gateway.
    OpenClaw(Box<OpenClaw>),
}

/// An agent of an OpenClaw gateway.
#[derive(Debug, Clone)]
pub struct OpenClaw {
    /// The gateway.
    pub place: claw::Place,
    /// The agent.
    pub settings: claw::Settings,
    /// How long a gateway that is gone in the middle of a run is waited for; as long as `timeouts.upstream`, if nothing is
    /// said.
    pub reconnect: Option<Duration>,
}
