//! An OpenClaw backend, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{SecretText, Size, Time};

/// An agent of an OpenClaw gateway. Agents with the same `url` and token share one connection. The gateway provides
/// what this file does not set on the card; its skills are added to those of this file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenClaw {
    /// URL of the gateway, such as `http://127.0.0.1:18789`. Also accepts `https`, `ws` and `wss`.
    pub(crate) url: String,
    /// Id of the agent in the gateway.
    #[schemars(extend("default" = "main"))]
    pub(crate) agent: Option<String>,
    /// Token of the gateway (its `gateway.auth.token`). Use `${NAME}`; a literal secret is rejected.
    pub(crate) token: Option<SecretText>,
    /// File that contains the token.
    pub(crate) token_file: Option<String>,
    /// Transport to the gateway.
    #[schemars(extend("default" = "auto"))]
    pub(crate) transport: Option<Transport>,
    /// What happens to data parts of messages.
    #[schemars(extend("default" = "refuse"))]
    pub(crate) data: Option<DataParts>,
    /// What callers see of tool calls.
    #[schemars(extend("default" = "names"))]
    pub(crate) tools: Option<Tools>,
    /// Maximum size of a file that is sent to the agent.
    #[schemars(extend("default" = "5MiB"))]
    pub(crate) max_file: Option<Size>,
    /// CA certificates (PEM) to trust in addition to the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// How long to wait for a gateway that becomes unreachable during a run; then the task fails. Default:
    /// `timeouts.upstream` of the agent.
    pub(crate) reconnect: Option<Time>,
    /// Interval at which the agent's profile and skills are read again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}

/// Transport to an OpenClaw gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    /// WebSocket if the gateway permits it, otherwise HTTP.
    Auto,
    /// WebSocket only.
    Websocket,
    /// HTTP only: without tool calls and progress, and a run ends with its connection.
    Http,
}

/// What happens to data parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DataParts {
    /// A message with data parts is rejected.
    Refuse,
    /// The agent receives their JSON as text.
    Text,
}

/// What callers see of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tools {
    /// Nothing.
    None,
    /// The names of the tools, and whether a call failed.
    Names,
    /// Arguments and results as well. They may contain anything that the agent can read.
    Full,
}
