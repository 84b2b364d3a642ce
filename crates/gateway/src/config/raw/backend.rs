//! What can stand behind an agent elsewhere, and who the agent is there, as they are written in the file.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use switchboard_types::model;

use super::Named;
use crate::config::value::{SecretText, Time, Url};

/// Any A2A agent elsewhere, in any version and binding. Its card says what ours does not.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2a {
    /// Where it is: the URL of the agent or of its card, a host, or an entry of a catalogue (`HOST#NAME`).
    pub(crate) url: String,
    /// The binding to speak if there is a choice; by default the first one of its card.
    pub(crate) binding: Option<Binding>,
    /// The version to speak if there is a choice.
    pub(crate) version: Option<Version>,
    /// Whose host counts if the card names another one than `url`.
    #[schemars(extend("default" = "card"))]
    pub(crate) address: Option<Address>,
    /// Origins (scheme, host and port) that may receive the credentials of `identity`, beside that of `url`. Without
    /// this, an address at another origin that the card names is not used.
    #[schemars(extend("default" = []))]
    pub(crate) credentials_to: Option<Vec<String>>,
    /// Protocol extensions to ask it for.
    #[schemars(extend("default" = []))]
    pub(crate) extensions: Option<Vec<String>>,
    /// A file with certificates to trust beside the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// It knows `Idempotency-Key`, as Switchboard does: a message that may not have arrived is sent again.
    #[schemars(extend("default" = false))]
    pub(crate) idempotent: Option<bool>,
    /// Who gives names to its conversations.
    #[schemars(extend("default" = "ours"))]
    pub(crate) contexts: Option<Contexts>,
    /// What `file_with_bytes` holds in A2A 0.3 over HTTP+JSON and gRPC, where the official SDKs disagree.
    #[schemars(extend("default" = "base64"))]
    pub(crate) file_bytes: Option<AgentFileBytes>,
    /// How often its card is read again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}

/// A protocol binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    Jsonrpc,
    /// HTTP with JSON bodies.
    #[serde(alias = "rest")]
    HttpJson,
    /// gRPC.
    Grpc,
}

impl JsonSchema for Binding {
    fn schema_name() -> Cow<'static, str> {
        "Binding".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A protocol binding: `jsonrpc`, `http_json` (or `rest`), `grpc`.",
            "enum": ["jsonrpc", "http_json", "rest", "grpc"],
        })
    }
}

impl From<Binding> for model::Binding {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Jsonrpc => Self::JsonRpc,
            Binding::HttpJson => Self::HttpJson,
            Binding::Grpc => Self::Grpc,
        }
    }
}

/// A version of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Version(pub(crate) String);

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Editors read `1.0` without quotes as a number.
        json_schema!({
            "description": "A version of A2A.",
            "enum": ["1.0", "0.3", 1.0, 0.3],
        })
    }
}

/// Whose host counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Address {
    /// The one on the card.
    Card,
    /// The one in `url`: for agents behind a proxy they know nothing of.
    Given,
}

/// What `file_with_bytes` of a remote agent holds in A2A 0.3 over HTTP+JSON and gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentFileBytes {
    /// The base64 text of the file, as the SDKs for Python, Java and Go have it.
    Base64,
    /// The file itself, as the .proto file says and the SDK for JavaScript has it.
    Raw,
}

/// Who gives names to conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Contexts {
    /// Switchboard. An agent that gives another one all the same is followed.
    Ours,
    /// The agent, with its first answer.
    Theirs,
}

/// Who an agent is to what stands behind it: one of these. Nobody, by default.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    /// These headers, the same for all callers. Values are not to be written out here: `${NAME}`.
    pub(crate) headers: Option<Named<SecretText>>,
    /// These headers of the caller's request, as they are.
    pub(crate) forward: Option<Vec<String>>,
    /// A token of the agent's own (OAuth client credentials).
    pub(crate) client_credentials: Option<TokenClient>,
    /// A token in exchange for the caller's (RFC 8693).
    pub(crate) token_exchange: Option<TokenExchange>,
}

/// A client that gets tokens.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenClient {
    /// Where tokens are given out.
    pub(crate) token_url: Option<Url>,
    /// Instead: an issuer that tells where.
    pub(crate) issuer: Option<Url>,
    /// The client's name.
    pub(crate) client_id: String,
    /// Its secret. Not to be written out here: `${NAME}`.
    pub(crate) secret: Option<SecretText>,
    /// A file with the secret.
    pub(crate) secret_file: Option<String>,
    /// What to ask for.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
}

/// A client that exchanges tokens.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenExchange {
    /// Where tokens are given out.
    pub(crate) token_url: Option<Url>,
    /// Instead: an issuer that tells where.
    pub(crate) issuer: Option<Url>,
    /// The client's name.
    pub(crate) client_id: String,
    /// Its secret. Not to be written out here: `${NAME}`.
    pub(crate) secret: Option<SecretText>,
    /// A file with the secret.
    pub(crate) secret_file: Option<String>,
    /// What to ask for.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// The name of the service the token is for.
    pub(crate) audience: Option<String>,
    /// The address of the service the token is for.
    pub(crate) resource: Option<Url>,
}
