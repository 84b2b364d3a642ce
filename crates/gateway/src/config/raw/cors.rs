//! Web pages that may call, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::cors::WebOrigin;
use crate::config::value::Time;

/// Web pages that may call (CORS).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cors {
    /// Their origins.
    #[schemars(extend("default" = []))]
    pub(crate) origins: Option<Vec<WebOrigin>>,
    /// Lets browsers add the cookies they have for us.
    #[schemars(extend("default" = false))]
    pub(crate) credentials: Option<bool>,
    /// How long a browser may remember that a page may call.
    #[schemars(extend("default" = "10m"))]
    pub(crate) max_age: Option<Time>,
}
