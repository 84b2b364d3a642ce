//! Signatures and encryption at rest, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::SecretText;

/// Signatures of agent cards and webhook deliveries. Requires `public_url`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signing {
    /// Signing keys. All are published in `/.well-known/jwks.json`. The first key with `use: sign` also signs webhook
    /// deliveries.
    pub(crate) keys: Option<Vec<SigningKey>>,
    /// Signs webhook deliveries. Default: `true`.
    pub(crate) webhooks: Option<bool>,
}

/// A signing key.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SigningKey {
    /// File with the private key (PEM): P-256, P-384, Ed25519 or RSA.
    pub(crate) file: Option<String>,
    /// Use of the key. Default: `sign`.
    #[serde(rename = "use")]
    pub(crate) purpose: Option<KeyUse>,
    /// Key id. Default: the thumbprint of the key (RFC 7638).
    pub(crate) kid: Option<String>,
    /// Creates the file with a new key at start if it does not exist. Default: `false`.
    pub(crate) create: Option<bool>,
}

/// Use of a signing key.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyUse {
    /// The key signs, and is published.
    Sign,
    /// The key is only published: before it starts to sign, so that verifiers know it, and afterwards, as long as its
    /// signatures are in use (key rotation).
    Publish,
}

/// Encryption key for webhook credentials at rest. Default: a key generated in the data directory, `secret.key`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    /// The key: 32 bytes in base64. Use `${NAME}`; a literal secret is rejected.
    pub(crate) key: Option<SecretText>,
    /// File that contains the key.
    pub(crate) key_file: Option<String>,
}
