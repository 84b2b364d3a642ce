//! TLS, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

/// TLS 1.2 and 1.3. Paths are relative to this file; changed files are reloaded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// Certificate (PEM), followed by its intermediate certificates.
    pub(crate) cert_file: Option<String>,
    /// Private key of the certificate (PEM).
    pub(crate) key_file: Option<String>,
    /// CA certificates (PEM) that client certificates are verified with (mTLS).
    pub(crate) client_ca_file: Option<String>,
    /// Whether clients need a certificate. Default: `optional` with a `client_ca_file`, otherwise `off`.
    pub(crate) client_certificates: Option<ClientCertificates>,
}

/// Whether clients need a certificate (mTLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientCertificates {
    /// Client certificates are not requested.
    Off,
    /// A client may present a certificate.
    Optional,
    /// A client without a certificate is not connected.
    Required,
}
