//! Where operators look, as it is written in the file.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::config::value::{Listen, SecretText, from_text};

/// Where operators look: `/metrics`, and traces below `/admin`. Apart from where callers come in.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admin {
    /// Where to listen, or `off`. By default on 127.0.0.1, one port above that of `listen`; if that port is taken, the
    /// server goes on without.
    pub(crate) listen: Option<AdminListen>,
    /// What operators show as a bearer token. Not to be written out here: `${NAME}`. By default a token that is made in
    /// the data directory: `admin.token`.
    pub(crate) token: Option<SecretText>,
    /// A file with the token.
    pub(crate) token_file: Option<String>,
    /// Whether everyone on this machine may look, without a token. Not for other addresses than this machine's own.
    #[schemars(extend("default" = false))]
    pub(crate) open: Option<bool>,
}

/// An address, or none.
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
            "description": "An IP address and a port: `127.0.0.1:7421`. A port alone is on 127.0.0.1. `off`: nowhere."
        })
    }
}
