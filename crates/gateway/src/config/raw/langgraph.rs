//! A LangGraph backend, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{Bound, Time, Url};

/// An assistant of a LangGraph server (`assistant`), or every assistant as an agent of its own (`discover`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LangGraph {
    /// URL of the LangGraph server.
    #[schemars(extend("default" = "http://localhost:2024"))]
    pub(crate) url: Option<Url>,
    /// The assistant: its id, the name of its graph, or its own name.
    pub(crate) assistant: Option<String>,
    /// Makes every assistant of the server an agent with these settings. Its name is the name of this agent, `-`, and
    /// the name of the assistant.
    #[schemars(extend("default" = false))]
    pub(crate) discover: Option<bool>,
    /// Maximum duration of a turn; then the run is canceled and the task fails.
    #[schemars(extend("default" = "300s"))]
    pub(crate) timeout: Option<Bound>,
    /// How long to wait for a server that becomes unreachable during a turn.
    #[schemars(extend("default" = "30s"))]
    pub(crate) reconnect: Option<Time>,
    /// Requests answers as a stream. With `false`, an answer arrives in one piece.
    #[schemars(extend("default" = true))]
    pub(crate) streaming: Option<bool>,
    /// Keys of the graph's state that data parts of callers may set. Default: all but `messages`, which would replace
    /// the text, and `resume`.
    pub(crate) data_keys: Option<Vec<String>>,
    /// Shows error messages of the graph to callers. They may contain internal details.
    #[schemars(extend("default" = false))]
    pub(crate) show_errors: Option<bool>,
    /// Interval at which the list of assistants is read again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}
