//! The configuration: from a YAML file, the environment and flags to a checked [`Config`].
//!
//! # Layout
//!
//! - [`Config`], here: what the rest of the gateway sees. Complete, checked, no defaults left to apply.
//! - [`raw`]: the file as written; its doc comments are the published schema ([`schema`]).
//! - `yaml`: the file as a tree with places; `${NAME}` is filled in there.
//! - [`env`]: variables that set single keys.
//! - [`load`]: raw to [`Config`], and all the checks. Every problem is reported at once, with its place
//!   ([`problem`]); a configuration with problems is not applied in part.
//! - [`value`], [`net`]: durations, sizes, addresses, networks.

mod agent;
pub mod env;
pub mod load;
pub mod net;
pub mod problem;
pub mod raw;
pub mod schema;
pub mod value;
mod yaml;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::script::Script;
use switchboard_types::model::{Extension, Provider, Skill};

use self::net::{Network, PushTarget};

pub use self::env::Env;
pub use self::load::{Flags, Source, load};
pub use self::problem::{Place, Problem, Problems};
pub use self::raw::{CardShape, Durability, LogFormat, OnDisconnect, OnInputTimeout, ReplyKind};

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Scheme, host and path under which callers reach us, without a slash at the end. `None`: as the
    /// request says.
    pub public_url: Option<String>,
    /// Peers whose `X-Forwarded-*` headers are believed.
    pub trust_forwarded: Vec<Network>,
    /// The agent at the root address. Always one of `agents`.
    pub default_agent: Arc<str>,
    /// The directory for what must last; need not exist yet. `None` only if the store is in memory and there
    /// is no home directory.
    pub data: Option<PathBuf>,
    /// Where tasks are kept.
    pub store: Store,
    /// What a caller may ask of the machine.
    pub limits: Limits,
    /// How long things are kept.
    pub retention: Retention,
    /// Webhooks.
    pub push: Push,
    /// How long requests and turns may go on after a signal to stop.
    pub shutdown_grace: Duration,
    /// Logs.
    pub log: Log,
    /// The agents, in the order of the file; at least one.
    pub agents: Vec<Agent>,
}

/// Where tasks are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Store {
    /// In memory; nothing lasts.
    Memory,
    /// In an SQLite file.
    Sqlite {
        /// The file, in the data directory.
        path: PathBuf,
        /// What an event must survive before anyone is told of it.
        durability: Durability,
    },
}

/// What a caller may ask of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// Connections open at the same time.
    pub connections: usize,
    /// Event streams open at the same time.
    pub streams: usize,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How often an idle stream gets a comment.
    pub heartbeat: Duration,
}

/// How long things are kept, counted from a task's end; `None` is for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Completed tasks.
    pub completed: Option<Duration>,
    /// Failed tasks.
    pub failed: Option<Duration>,
    /// Canceled tasks.
    pub canceled: Option<Duration>,
    /// Rejected tasks.
    pub rejected: Option<Duration>,
    /// The single events of a task that is over.
    pub replay_window: Option<Duration>,
    /// Idempotency keys, counted from the first request.
    pub idempotency_keys: Duration,
}

/// Webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// Targets that may be private or loopback addresses, or speak plain `http`.
    pub allow: Vec<PushTarget>,
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
}

/// One agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The name in addresses; unique.
    pub name: Arc<str>,
    /// What its card says.
    pub profile: Profile,
    /// What stands behind it.
    pub backend: Backend,
    /// How it is served.
    pub settings: Settings,
}

/// What an agent's card says about the agent itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The agent's own version.
    pub version: String,
    /// Who runs it.
    pub provider: Option<Provider>,
    /// Where it is documented.
    pub documentation_url: Option<String>,
    /// A picture.
    pub icon_url: Option<String>,
    /// What it can do; at least one, ids unique.
    pub skills: Vec<Skill>,
    /// Media types it takes; at least one.
    pub input_modes: Vec<String>,
    /// Media types it gives; at least one.
    pub output_modes: Vec<String>,
}

/// What stands behind an agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Backend {
    /// Steps to follow.
    Script(Script),
}

/// How an agent is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What it answers with.
    pub reply: ReplyKind,
    /// Offers streaming and subscriptions.
    pub streaming: bool,
    /// Offers webhooks.
    pub push_notifications: bool,
    /// Offers a second card.
    pub extended_card: Option<ExtendedCard>,
    /// Protocol extensions it knows.
    pub extensions: Vec<Extension>,
    /// The shape of the card.
    pub card: CardShape,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// What becomes of a task whose question was not answered in time.
    pub on_input_timeout: OnInputTimeout,
    /// What becomes of a running task when the caller who waits for it goes away.
    pub on_disconnect: OnDisconnect,
    /// Treats a `messageId` seen before as a repetition.
    pub dedupe_by_message_id: bool,
}

/// What the second card has beyond the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedCard {
    /// Replaces the description.
    pub description: Option<String>,
    /// Skills to add; their ids differ from those of the first card.
    pub skills: Vec<Skill>,
}

/// How long things may take; `None` is for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// One turn of a task; then the task fails.
    pub task: Option<Duration>,
    /// An answer to a question of the agent.
    pub input: Option<Duration>,
    /// A call that waits for the end of the task.
    pub blocking: Option<Duration>,
    /// What an agent may still do after its task was canceled.
    pub cancel_grace: Duration,
}
