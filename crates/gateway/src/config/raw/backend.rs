//! Remote A2A agents and upstream credentials, as written in the file.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use switchboard_types::model;

use super::Named;
use crate::config::value::{SecretText, Time, Url};

/// A remote A2A agent of any version and binding. Its card provides what this file does not set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2a {
    /// URL of the agent or of its card, a host, or an entry of a catalogue (`HOST#NAME`).
    pub(crate) url: String,
    /// Preferred binding. Default: the first one of its card.
    pub(crate) binding: Option<Binding>,
    /// Preferred A2A version.
    pub(crate) version: Option<Version>,
    /// Which host to call if the card names another one than `url`.
    #[schemars(extend("default" = "card"))]
    pub(crate) address: Option<Address>,
    /// Origins (scheme, host and port) that may receive the credentials of `identity`, in addition to that of `url`. An
    /// interface at any other origin is not used.
    #[schemars(extend("default" = []))]
    pub(crate) credentials_to: Option<Vec<String>>,
    /// Protocol extensions to activate.
    #[schemars(extend("default" = []))]
    pub(crate) extensions: Option<Vec<String>>,
    /// CA certificates (PEM) to trust in addition to the system's. The path is relative to this file.
    pub(crate) ca_file: Option<String>,
    /// Set to `true` if the upstream supports `Idempotency-Key`, as Switchboard does: a message that may not have
    /// arrived is then sent again.
    #[schemars(extend("default" = false))]
    pub(crate) idempotent: Option<bool>,
    /// Who creates context ids for the upstream.
    #[schemars(extend("default" = "ours"))]
    pub(crate) contexts: Option<Contexts>,
    /// Encoding of `file_with_bytes` in A2A 0.3 over HTTP+JSON and gRPC, where the official SDKs differ.
    #[schemars(extend("default" = "base64"))]
    pub(crate) file_bytes: Option<AgentFileBytes>,
    /// Interval at which the agent card is read again.
    #[schemars(extend("default" = "5m"))]
    pub(crate) refresh: Option<Time>,
}

/// A protocol binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Binding {
    /// JSON-RPC 2.0 over HTTP.
    Jsonrpc,
    /// HTTP+JSON (REST).
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

/// A version of A2A.
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

/// Which host to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Address {
    /// The host on the card.
    Card,
    /// The host in `url`, for agents behind a proxy that their card does not name.
    Given,
}

/// Encoding of `file_with_bytes` in A2A 0.3 over HTTP+JSON and gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgentFileBytes {
    /// The base64 text of the file, as in the SDKs for Python, Java and Go.
    Base64,
    /// The bytes of the file, as in the .proto file and the SDK for JavaScript.
    Raw,
}

/// Who creates context ids for the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Contexts {
    /// Switchboard. If the upstream replaces the id, its id is used.
    Ours,
    /// The upstream, with its first response.
    Theirs,
}

/// Upstream credentials: one of these. Default: none.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    /// Static headers, the same for all callers. Use `${NAME}` for secrets; literal values are rejected.
    pub(crate) headers: Option<Named<SecretText>>,
    /// Headers of the caller's request to forward unchanged.
    pub(crate) forward: Option<Vec<String>>,
    /// OAuth 2.0 client credentials: a token of the agent's own.
    pub(crate) client_credentials: Option<TokenClient>,
    /// OAuth 2.0 token exchange (RFC 8693): a token in exchange for the caller's.
    pub(crate) token_exchange: Option<TokenExchange>,
}

/// An OAuth 2.0 client.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenClient {
    /// Token endpoint.
    pub(crate) token_url: Option<Url>,
    /// Alternatively, the issuer whose discovery document names the token endpoint.
    pub(crate) issuer: Option<Url>,
    /// Client id.
    pub(crate) client_id: String,
    /// Client secret. Use `${NAME}`; a literal secret is rejected.
    pub(crate) secret: Option<SecretText>,
    /// File that contains the client secret.
    pub(crate) secret_file: Option<String>,
    /// Requested scopes.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
}

/// An OAuth 2.0 client that exchanges tokens.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenExchange {
    /// Token endpoint.
    pub(crate) token_url: Option<Url>,
    /// Alternatively, the issuer whose discovery document names the token endpoint.
    pub(crate) issuer: Option<Url>,
    /// Client id.
    pub(crate) client_id: String,
    /// Client secret. Use `${NAME}`; a literal secret is rejected.
    pub(crate) secret: Option<SecretText>,
    /// File that contains the client secret.
    pub(crate) secret_file: Option<String>,
    /// Requested scopes.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// Audience of the requested token.
    pub(crate) audience: Option<String>,
    /// URL of the service that the token is for (`resource`).
    pub(crate) resource: Option<Url>,
}
