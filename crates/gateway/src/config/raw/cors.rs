//! CORS, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::cors::WebOrigin;
use crate::config::value::Time;

/// CORS: web pages that may call from a browser.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cors {
    /// Allowed origins.
    #[schemars(extend("default" = []))]
    pub(crate) origins: Option<Vec<WebOrigin>>,
    /// Allows browsers to send cookies (`Access-Control-Allow-Credentials`).
    #[schemars(extend("default" = false))]
    pub(crate) credentials: Option<bool>,
    /// How long browsers may cache a preflight response.
    #[schemars(extend("default" = "10m"))]
    pub(crate) max_age: Option<Time>,
}
