//! An assistant of a LangGraph server, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::{Bound, Time, Url};

/// An assistant of a LangGraph server: `assistant`; or each of them as an agent of its own: `discover`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LangGraph {
    /// Where the server is.
    #[schemars(extend("default" = "http://localhost:2024"))]
    pub(crate) url: Option<Url>,
    /// The assistant: its id, the name of its graph, or its own name.
    pub(crate) assistant: Option<String>,
    /// Every assistant of the server becomes an agent, with all that is said of this one. Its name is the name here, `-`,
    /// and the name of the assistant.
    #[schemars(extend("default" = false))]
    pub(crate) discover: Option<bool>,
    /// One turn; then its run is canceled, and the task fails.
    #[schemars(extend("default" = "300s"))]
    pub(crate) timeout: Option<Bound>,
    /// How long a server that is gone in the middle of a turn is waited for.
    #[schemars(extend("default" = "30s"))]
    pub(crate) reconnect: Option<Time>,
    /// Asks for answers as they are written. Without it they come in one piece.
    #[schemars(extend("default" = true))]
    pub(crate) streaming: Option<bool>,
    /// The keys that data parts of callers may have: they set the state of the graph. By default all but `messages`, which
    /// would take the place of the text, and `resume`.
    pub(crate) data_keys: Option<Vec<String>>,
    /// Tells callers what a graph says when it fails. It may say more than they should know.
    #[schemars(extend("default" = false))]
    pub(crate) show_errors: Option<bool>,
    /// How often the server is asked about its assistants again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}
