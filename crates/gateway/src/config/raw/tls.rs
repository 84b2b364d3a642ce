//! Encrypted connections, as they are written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

/// Encrypted connections (TLS 1.2 and 1.3). Files are relative to this one, and read again when they change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// The certificate, in PEM form; those that vouch for it follow.
    pub(crate) cert_file: Option<String>,
    /// Its key, in PEM form.
    pub(crate) key_file: Option<String>,
    /// The authorities whose certificates clients may show, in PEM form.
    pub(crate) client_ca_file: Option<String>,
    /// Whether clients are asked for a certificate: `optional` by default if there is a `client_ca_file`, else `off`.
    pub(crate) client_certificates: Option<ClientCertificates>,
}

/// Whether clients are asked for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientCertificates {
    /// They are not.
    Off,
    /// They may show one.
    Optional,
    /// Who has none is not connected.
    Required,
}
