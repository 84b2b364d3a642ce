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

/// Configuration of Switchboard: listeners, storage, security, limits and agents.
///
/// Any value may contain `${NAME}` or `${NAME:-default}`, replaced from the environment; `$${` is a literal `${`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Switchboard configuration")]
pub(crate) struct Config {
    /// Address to listen on. An address that is not loopback also requires `auth`.
    #[schemars(extend("default" = "127.0.0.1:7420"))]
    pub(crate) listen: Option<Listen>,
    /// Base URL on agent cards, if callers reach the server by another URL, such as that of a reverse proxy. May have a
    /// path.
    pub(crate) public_url: Option<Url>,
    /// Reverse proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` headers are trusted. Default: none.
    #[schemars(extend("default" = []))]
    pub(crate) trust_forwarded: Option<Vec<Network>>,
    /// Bindings on agent cards, preferred first. All bindings are always served; `grpc` is not listed by default
    /// because some clients reject a card with it.
    #[schemars(extend("default" = ["jsonrpc", "http_json"]))]
    pub(crate) interfaces: Option<Vec<Binding>>,
    /// Format of the gRPC address on agent cards.
    #[schemars(extend("default" = "url"))]
    pub(crate) grpc_address: Option<GrpcAddress>,
    /// Rejects A2A 1.0 requests without `A2A-Version`, in a header or in the URL. By default a method or path that
    /// exists only in 1.0 is sufficient.
    #[schemars(extend("default" = false))]
    pub(crate) require_version: Option<bool>,
    /// Authentication. Required to listen on an address that is not loopback.
    pub(crate) auth: Option<Auth>,
    /// Authorization rules for all agents. The rules of an agent apply after these.
    pub(crate) access: Option<Access>,
    /// TLS. Without it, and without a TLS-terminating proxy, traffic is not encrypted.
    pub(crate) tls: Option<Tls>,
    /// Signatures of agent cards and webhook deliveries. Default: none.
    pub(crate) signing: Option<Signing>,
    /// Encryption key for webhook credentials at rest.
    pub(crate) secrets: Option<Secrets>,
    /// The agent at the root URL. Default: the first agent in this file.
    pub(crate) default_agent: Option<String>,
    /// Data directory; created if it does not exist. Default: `switchboard` in the user's data directory
    /// (`$XDG_DATA_HOME`, or `~/.local/share`).
    pub(crate) data: Option<String>,
    /// Task storage.
    pub(crate) store: Option<Store>,
    /// Rate limits, concurrency limits and size limits.
    pub(crate) limits: Option<Limits>,
    /// CORS: web pages that may call from a browser. Default: none.
    pub(crate) cors: Option<Cors>,
    /// Retention of tasks, events and idempotency keys.
    pub(crate) retention: Option<Retention>,
    /// Timeouts for all agents that do not set their own.
    pub(crate) timeouts: Option<Timeouts>,
    /// Webhooks (push notifications).
    pub(crate) push: Option<Push>,
    /// Admin listener: metrics and the admin API.
    pub(crate) admin: Option<Admin>,
    /// Shutdown of the process.
    pub(crate) shutdown: Option<Shutdown>,
    /// Logs, on standard error. They contain no message content, except the reason of tasks that did not complete.
    pub(crate) log: Option<Log>,
    /// Agents by name. The name is part of the agent's URL: lower-case letters, digits, `-`, `_` and `.`.
    pub(crate) agents: Option<Agents>,
}

/// Task storage.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    /// Kind of store.
    #[schemars(extend("default" = "sqlite"))]
    pub(crate) kind: Option<StoreKind>,
    /// What a committed event survives. Readers see an event only after its commit.
    #[schemars(extend("default" = "power_loss"))]
    pub(crate) durability: Option<Durability>,
}

/// Kind of store.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    /// A SQLite database in the data directory.
    Sqlite,
    /// In memory, for tests: all tasks are lost when the process ends.
    Memory,
}

/// What a committed event survives.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// Power loss: every commit is synced to disk.
    PowerLoss,
    /// The end of the process, even `kill -9`, but not a crash of the machine. Faster.
    ProcessDeath,
}

/// Retention, counted from the end of a task. Unfinished tasks are never deleted.
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
    /// Events of a finished task, for replays; afterwards only its final state is kept.
    #[schemars(extend("default" = "24h"))]
    pub(crate) replay_window: Option<Bound>,
    /// Idempotency keys: how long a repeated request gets the response of the first.
    #[schemars(extend("default" = "24h"))]
    pub(crate) idempotency_keys: Option<Time>,
}

/// Webhooks (push notifications).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Push {
    /// Hosts and networks that webhooks may target although they are private or loopback addresses or use plain `http`.
    /// All other targets must be public and use `https`.
    #[schemars(extend("default" = []))]
    pub(crate) allow: Option<Vec<PushTarget>>,
    /// Timeout of one delivery attempt.
    #[schemars(extend("default" = "15s"))]
    pub(crate) timeout: Option<Time>,
    /// Maximum age of a delivery: it is retried for this time and then becomes a dead letter (`switchboard
    /// deliveries`).
    #[schemars(extend("default" = "24h"))]
    pub(crate) give_up_after: Option<Time>,
}

/// Shutdown of the process.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shutdown {
    /// Time for running requests and turns to finish after SIGTERM or SIGINT. Interrupted turns are recovered at the
    /// next start.
    #[schemars(extend("default" = "10s"))]
    pub(crate) grace: Option<Time>,
}

/// Logs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,switchboard=debug`. `SWITCHBOARD_LOG` and
    /// `--log-level` take precedence.
    #[schemars(extend("default" = "info"))]
    pub(crate) level: Option<String>,
    /// Log format. Default: `text` on a terminal, `json` otherwise.
    pub(crate) format: Option<LogFormat>,
    /// Access log: one line per request, with method, path, agent, operation, status, caller, duration, bytes and
    /// client address. `--access-log` enables it, too.
    #[schemars(extend("default" = false))]
    pub(crate) access: Option<bool>,
}

/// Log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// JSON: one object per line.
    Json,
}
