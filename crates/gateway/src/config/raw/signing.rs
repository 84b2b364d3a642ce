//! What is signed, and what stored secrets are sealed with, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::value::SecretText;

/// Signatures of our own: on cards, and on what webhooks are sent. Needs `public_url`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signing {
    /// The keys. All are published in `/.well-known/jwks.json`. The first one that signs also signs for webhooks.
    pub(crate) keys: Option<Vec<SigningKey>>,
    /// Whether what webhooks are sent is signed, too; `true` by default.
    pub(crate) webhooks: Option<bool>,
}

/// One key.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SigningKey {
    /// The file with the private key, as PEM: P-256, P-384, Ed25519 or RSA.
    pub(crate) file: Option<String>,
    /// What it is for; `sign` by default.
    #[serde(rename = "use")]
    pub(crate) purpose: Option<KeyUse>,
    /// Its name; by default its thumbprint (RFC 7638).
    pub(crate) kid: Option<String>,
    /// Whether the file is made at the start, with a new key in it, if it is not there; `false` by default.
    pub(crate) create: Option<bool>,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyUse {
    /// It signs.
    Sign,
    /// It is published only: before it signs, so that others know it, and after, as long as signatures of it are about.
    Publish,
}

/// What the secrets of webhooks are sealed with when they are stored. By default a key that is made in the data
/// directory: `secret.key`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    /// The key: 32 bytes, as base64. Not to be written out here: `${NAME}`.
    pub(crate) key: Option<SecretText>,
    /// A file with the key.
    pub(crate) key_file: Option<String>,
}
