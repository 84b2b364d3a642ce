//! An agent of an OpenClaw gateway, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{SecretText, Size, Time};

/// An agent of an OpenClaw gateway. Agents with the same `url` and token share one connection. What the gateway says of
/// the agent is on our card where nothing is said here; its skills are there beside those that are said here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenClaw {
    /// Where the gateway is, such as `http://127.0.0.1:18789`; `https`, `ws` and `wss` will do, too.
    pub(crate) url: String,
    /// The agent's id there.
    #[schemars(extend("default" = "main"))]
    pub(crate) agent: Option<String>,
    /// The gateway's token (`gateway.auth.token` there). Not to be written out here: `${NAME}`.
    pub(crate) token: Option<SecretText>,
    /// A file with the token.
    pub(crate) token_file: Option<String>,
    /// How it is reached.
    #[schemars(extend("default" = "auto"))]
    pub(crate) transport: Option<Transport>,
    /// What becomes of data parts.
    #[schemars(extend("default" = "refuse"))]
    pub(crate) data: Option<DataParts>,
    /// What callers are told of the tools that it uses.
    #[schemars(extend("default" = "names"))]
    pub(crate) tools: Option<Tools>,
    /// The largest file that it is sent.
    #[schemars(extend("default" = "5MiB"))]
    pub(crate) max_file: Option<Size>,
    /// A file with certificates to trust beside the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// How long a gateway that is gone in the middle of a run is waited for; then the task fails. By default as long as
    /// `timeouts.upstream` of the agent.
    pub(crate) reconnect: Option<Time>,
    /// How often its card is read again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}

/// How an OpenClaw gateway is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    /// Over its WebSocket if it lets us, otherwise over HTTP.
    Auto,
    /// Over its WebSocket only.
    Websocket,
    /// Over HTTP only: no tools and no progress are told, and a run ends with the connection.
    Http,
}

/// What becomes of data parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DataParts {
    /// A message with them is refused.
    Refuse,
    /// The agent is told their JSON, as text.
    Text,
}

/// What callers are told of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tools {
    /// Nothing.
    None,
    /// Which are used, and whether they failed.
    Names,
    /// What they are given and give, too. That may be anything that the agent can see.
    Full,
}
