//! The admin listener, as written in the file.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::config::value::{Listen, SecretText, from_text};

/// Admin listener: `/metrics`, and the admin API below `/admin`. It is separate from the listener for callers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admin {
    /// Address of the admin listener, or `off`. Default: 127.0.0.1, one port above `listen`; if that port is in use,
    /// the server starts without an admin listener.
    pub(crate) listen: Option<AdminListen>,
    /// Bearer token for operators. Use `${NAME}`; a literal secret is rejected. Default: a token generated in the data
    /// directory, `admin.token`.
    pub(crate) token: Option<SecretText>,
    /// File that contains the token.
    pub(crate) token_file: Option<String>,
    /// Serves the admin listener without a token. Allowed on loopback addresses only.
    #[schemars(extend("default" = false))]
    pub(crate) open: Option<bool>,
}

/// An address, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdminListen {
    Off,
    At(Listen),
}

impl FromStr for AdminListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => Ok(Self::Off),
            text => text.parse().map(Self::At),
        }
    }
}

impl<'de> Deserialize<'de> for AdminListen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for AdminListen {
    fn schema_name() -> Cow<'static, str> {
        "ListenOrOff".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "An IP address and a port: `127.0.0.1:7421`. A port alone is on 127.0.0.1. `off` disables the listener."
        })
    }
}
