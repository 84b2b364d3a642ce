//! The configuration as it is written in the file: everything may be left out, nothing is checked beyond
//! its own shape. `load` turns it into [`super::Config`].
//!
//! Doc comments here are the descriptions in the published schema. A `default` in the schema is a
//! promise: a test compares it with what the code does.

mod access;
mod admin;
mod agent;
mod auth;
mod backend;
mod cors;
mod exec;
mod langgraph;
mod limits;
mod openai;
mod openclaw;
mod route;
mod signing;
mod tls;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use access::{Access, Rule, RuleOn};
pub(crate) use admin::{Admin, AdminListen};
pub(crate) use agent::{
    Agent, Agents, Answers, CallerFileBytes, CardShape, ExtendedCard, Extension, GrpcAddress,
    OnDisconnect, OnInputTimeout, ReplyKind, Skill, Timeouts,
};
pub(crate) use auth::{
    AgentAuth, ApiKey, Auth, Basic, Declare, Jwt, KeyPlace, Method, Mtls, Named, Requirement,
};
pub(crate) use backend::{
    A2a, Address, AgentFileBytes, Binding, Contexts, Identity, TokenClient, Version,
};
pub(crate) use cors::Cors;
pub(crate) use exec::{Exec, OnRestart, Talk};
pub(crate) use langgraph::LangGraph;
pub(crate) use limits::{AgentLimits, AgentRate, Limits, Rate};
pub(crate) use openai::{ModelRetry, OpenAi};
pub(crate) use openclaw::{DataParts, OpenClaw, Tools, Transport as OpenClawTransport};
pub(crate) use route::{OneOrMore, Route};
pub(crate) use signing::{KeyUse, Secrets, Signing, SigningKey};
pub(crate) use tls::{ClientCertificates, Tls};

use super::value::{Bound, Listen, Network, PushTarget, Time, Url};

/// Top-level keys that hold one value, and so can be set by a variable without `__`.
pub(super) const TOP_LEVEL_VALUES: [&str; 9] = [
    "listen",
    "public_url",
    "trust_forwarded",
    "interfaces",
    "grpc_address",
    "require_version",
    "auth",
    "default_agent",
    "data",
];

/// Configuration of Switchboard: where to listen, what to keep, and the agents on the line.
///
/// Any value may use `${NAME}` or `${NAME:-default}` to take text from the environment; `$${` writes `${`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Switchboard configuration")]
pub(crate) struct Config {
    /// Where to listen. Anything but this machine's own addresses also needs `auth`.
    #[schemars(extend("default" = "127.0.0.1:7420"))]
    pub(crate) listen: Option<Listen>,
    /// The address callers use, if it is not the one they seem to use: put into agent cards. May have a path.
    pub(crate) public_url: Option<Url>,
    /// Proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` headers are believed. None by default.
    #[schemars(extend("default" = []))]
    pub(crate) trust_forwarded: Option<Vec<Network>>,
    /// The bindings that agent cards offer, best first. All of them are served, whatever cards offer; `grpc` is not
    /// offered by default because some clients refuse a card for it.
    #[schemars(extend("default" = ["jsonrpc", "http_json"]))]
    pub(crate) interfaces: Option<Vec<Binding>>,
    /// How cards that offer gRPC spell its address.
    #[schemars(extend("default" = "url"))]
    pub(crate) grpc_address: Option<GrpcAddress>,
    /// Requires `A2A-Version` in requests of A2A 1.0, by header or in the URL. By default a method or a path that only
    /// 1.0 has is enough.
    #[schemars(extend("default" = false))]
    pub(crate) require_version: Option<bool>,
    /// Who may call. Must be written out to listen beyond this machine.
    pub(crate) auth: Option<Auth>,
    /// What those may do who may call any agent; an agent's own rules come after these.
    pub(crate) access: Option<Access>,
    /// Encrypted connections. Without it, and without a proxy that encrypts, others can read what is sent.
    pub(crate) tls: Option<Tls>,
    /// Signatures of our own: on cards, and on what webhooks are sent. Nothing is signed by default.
    pub(crate) signing: Option<Signing>,
    /// What the secrets of webhooks are sealed with when they are stored.
    pub(crate) secrets: Option<Secrets>,
    /// The agent at the root address; the first one in this file by default.
    pub(crate) default_agent: Option<String>,
    /// The directory for what must last; made if it does not exist. By default `switchboard` in the user's data
    /// directory (`$XDG_DATA_HOME`, or `~/.local/share`).
    pub(crate) data: Option<String>,
    /// Where tasks are kept.
    pub(crate) store: Option<Store>,
    /// What a caller may ask of the machine.
    pub(crate) limits: Option<Limits>,
    /// Web pages that may call. None by default.
    pub(crate) cors: Option<Cors>,
    /// How long things are kept.
    pub(crate) retention: Option<Retention>,
    /// How long things may take, for all agents that do not say it themselves.
    pub(crate) timeouts: Option<Timeouts>,
    /// Webhooks.
    pub(crate) push: Option<Push>,
    /// Where operators look: metrics and traces.
    pub(crate) admin: Option<Admin>,
    /// How the process ends.
    pub(crate) shutdown: Option<Shutdown>,
    /// Logs, on standard error. They never hold what agents and callers say.
    pub(crate) log: Option<Log>,
    /// The agents, by name. A name is part of the agent's address: lower-case letters, digits, `-`, `_` and `.`.
    pub(crate) agents: Option<Agents>,
}

/// Where tasks are kept.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    /// What kind of store.
    #[schemars(extend("default" = "sqlite"))]
    pub(crate) kind: Option<StoreKind>,
    /// What an event must survive before anyone is told of it.
    #[schemars(extend("default" = "power_loss"))]
    pub(crate) durability: Option<Durability>,
}

/// A kind of store.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    /// A file in the data directory.
    Sqlite,
    /// Nothing lasts: for tests.
    Memory,
}

/// What an event must survive before anyone is told of it.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// Power loss: every commit waits for the disk.
    PowerLoss,
    /// The death of the process, `kill -9` included, but not of the machine: faster.
    ProcessDeath,
}

/// How long things are kept. Tasks count from their end; a task that is not over is always kept.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retention {
    /// Completed tasks.
    #[schemars(extend("default" = "30d"))]
    pub(crate) completed: Option<Bound>,
    /// Failed tasks.
    #[schemars(extend("default" = "30d"))]
    pub(crate) failed: Option<Bound>,
    /// Canceled tasks.
    #[schemars(extend("default" = "30d"))]
    pub(crate) canceled: Option<Bound>,
    /// Rejected tasks.
    #[schemars(extend("default" = "30d"))]
    pub(crate) rejected: Option<Bound>,
    /// The single events of a task that is over; after that only its final form is left.
    #[schemars(extend("default" = "24h"))]
    pub(crate) replay_window: Option<Bound>,
    /// Idempotency keys: how long a repeated request is answered like the first.
    #[schemars(extend("default" = "24h"))]
    pub(crate) idempotency_keys: Option<Time>,
}

/// Webhooks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Push {
    /// Hosts and networks that webhooks may reach although they are private or loopback addresses, or speak plain
    /// `http`. All other targets must be public and speak `https`.
    #[schemars(extend("default" = []))]
    pub(crate) allow: Option<Vec<PushTarget>>,
    /// How long one delivery may take.
    #[schemars(extend("default" = "15s"))]
    pub(crate) timeout: Option<Time>,
    /// How long a delivery is tried again before it is set aside; `switchboard deliveries` shows those.
    #[schemars(extend("default" = "24h"))]
    pub(crate) give_up_after: Option<Time>,
}

/// How the process ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shutdown {
    /// How long requests and turns may go on after a signal to stop. What is cut off goes on at the next start.
    #[schemars(extend("default" = "10s"))]
    pub(crate) grace: Option<Time>,
}

/// Logs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    /// `error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,switchboard=debug`.
    /// `SWITCHBOARD_LOG` and `--log-level` win over it.
    #[schemars(extend("default" = "info"))]
    pub(crate) level: Option<String>,
    /// How a line looks. By default `text` on a terminal, `json` elsewhere.
    pub(crate) format: Option<LogFormat>,
    /// The access log: one line per request, with method, path, agent, operation, status, caller, duration, bytes and
    /// client address. `--access-log` turns it on, too.
    #[schemars(extend("default" = false))]
    pub(crate) access: Option<bool>,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}
